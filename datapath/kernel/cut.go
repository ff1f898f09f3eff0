//go:build linux

package kernel

import (
	"fmt"
	"net/netip"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/netlab/netlab/datapath/kernel/sets"
	"github.com/netlab/netlab/datapath/plan"
)

// cutFilter selects connection tracking entries that a cut does not allow.
type cutFilter struct {
	to, from map[netip.Addr][]*plan.Cut // by the pod
}

// newCutFilter returns nil if there is no cut of the family.
func newCutFilter(cuts []plan.Cut, ipv6 bool) *cutFilter {
	f := &cutFilter{to: map[netip.Addr][]*plan.Cut{}, from: map[netip.Addr][]*plan.Cut{}}
	for i := range cuts {
		c := &cuts[i]
		switch {
		case c.Pod.Is6() != ipv6:
		case c.Ingress:
			f.to[c.Pod] = append(f.to[c.Pod], c)
		default:
			f.from[c.Pod] = append(f.from[c.Pod], c)
		}
	}
	if len(f.to)+len(f.from) == 0 {
		return nil
	}
	return f
}

// MatchConntrackFlow implements netlink.CustomConntrackFilter. The source of the reply
// direction is the destination after DNAT.
func (f *cutFilter) MatchConntrackFlow(flow *netlink.ConntrackFlow) bool {
	source, target := addrOf(flow.Forward.SrcIP), addrOf(flow.Reverse.SrcIP)
	port, proto := flow.Reverse.SrcPort, flowProtocol(flow.Forward.Protocol)
	for _, c := range f.to[target] {
		if !c.Allows(source, proto, port) {
			return true
		}
	}
	for _, c := range f.from[source] {
		if !c.Allows(target, proto, port) {
			return true
		}
	}
	return false
}

func flowProtocol(number uint8) string {
	switch number {
	case unix.IPPROTO_ICMP, unix.IPPROTO_ICMPV6:
		return "icmp"
	case unix.IPPROTO_TCP, unix.IPPROTO_UDP, unix.IPPROTO_SCTP:
		return sets.ProtocolName(number)
	}
	return fmt.Sprint(number)
}
