//go:build linux

package nftables

import (
	"context"
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/netlab/netlab/datapath/kernel/socket"
	"github.com/netlab/netlab/datapath/plan/nft"
)

// Tables of nf_tables are written and read over netlink, as the instructions that the
// kernel runs: what nft prints differs between versions, what it sends is a stable
// kernel interface. So no program is needed, and nothing has to be parsed.

const nftSubsystem = unix.NFNL_SUBSYS_NFTABLES << 8

// family is the number of a family (NFPROTO_*).
func family(name string) (uint8, error) {
	switch name {
	case "inet":
		return unix.NFPROTO_INET, nil
	case "ip":
		return unix.NFPROTO_IPV4, nil
	case "ip6":
		return unix.NFPROTO_IPV6, nil
	}
	if f, ok := others[name]; ok {
		return f, nil
	}
	return 0, fmt.Errorf("nft: unknown family %q", name)
}

// others are the families that no plan has.
var others = map[string]uint8{"arp": unix.NFPROTO_ARP, "bridge": unix.NFPROTO_BRIDGE, "netdev": unix.NFPROTO_NETDEV}

// Apply carries out edits over a socket opened within do, which enters the right
// namespace.
func Apply(ctx context.Context, do func(func() error) error, edits []nft.Edit) error {
	var w work
	for i := range edits {
		if err := w.edit(&edits[i]); err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	var sock *socket.Socket
	err := do(func() (err error) {
		sock, err = socket.Open(unix.NETLINK_NETFILTER, socket.NewMemory())
		return err
	})
	if err != nil {
		return err
	}
	defer sock.Close()
	return sock.Transact(w.msgs)
}
