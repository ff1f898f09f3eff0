//go:build linux

package routing

import (
	"errors"

	"github.com/netlab/netlab/datapath/kernel/deviations"
	"github.com/netlab/netlab/datapath/kernel/links"
	"github.com/netlab/netlab/datapath/kernel/socket"
	"github.com/netlab/netlab/datapath/plan"
)

// Read adds the addresses and routes of a network namespace, and notes what no plan lists:
// routing rules and nexthop objects, routes that plans cannot have, and what should follow from
// addresses and is not there.
func Read(sock *socket.Socket, devices links.Devices, want, n *plan.Netns) error {
	follow, err := readAddrs(sock, devices, want, n)
	if err != nil {
		return err
	}
	d := deviations.Of(n)
	return errors.Join(readRoutes(sock, devices, follow, want, n), readRules(d, sock), readNextHops(d, sock))
}
