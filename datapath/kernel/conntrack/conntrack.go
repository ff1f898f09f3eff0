//go:build linux

package conntrack

import (
	"errors"
	"fmt"
	"net"
	"net/netip"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/netlab/netlab/datapath/kernel/sets"
	"github.com/netlab/netlab/datapath/plan/conntrack"
)

// Cut deletes the stale connection tracking entries of UDP services (see
// conntrack.UDPService), and those that policies now deny (see conntrack.Cut), in the calling
// thread's namespace. It runs after the new rules are loaded, so that the next packet
// of a flow meets them.
func Cut(services []conntrack.UDPService, cuts []conntrack.Cut) error {
	if len(services)+len(cuts) == 0 {
		return nil
	}
	handle, err := netlink.NewHandle(unix.NETLINK_NETFILTER)
	if err != nil {
		return err
	}
	defer handle.Close()
	var failed error
	for _, ipv6 := range []bool{false, true} {
		var filters []netlink.CustomConntrackFilter
		if f := newStaleUDP(services, ipv6); f != nil {
			filters = append(filters, f)
		}
		if f := newCutFilter(cuts, ipv6); f != nil {
			filters = append(filters, f)
		}
		if len(filters) == 0 {
			continue
		}
		family := netlink.InetFamily(unix.AF_INET)
		if ipv6 {
			family = unix.AF_INET6
		}
		_, err := handle.ConntrackDeleteFilters(netlink.ConntrackTable, family, filters...)
		if err != nil && !errors.Is(err, unix.ENOENT) { // expired meanwhile
			failed = errors.Join(failed, fmt.Errorf("conntrack -D: %w", err))
		}
	}
	return failed
}

// staleUDP selects entries by original destination and reply source.
type staleUDP struct {
	byAddr map[netip.AddrPort]endpoints
	byPort map[uint16]endpoints // node ports
}

type endpoints map[netip.AddrPort]bool

// newStaleUDP returns nil if there is no service of the family.
func newStaleUDP(services []conntrack.UDPService, ipv6 bool) *staleUDP {
	f := &staleUDP{byAddr: map[netip.AddrPort]endpoints{}, byPort: map[uint16]endpoints{}}
	for _, s := range services {
		if s.IPv6 != ipv6 {
			continue
		}
		serving := make(endpoints, len(s.Endpoints))
		for _, e := range s.Endpoints {
			serving[e] = true
		}
		for _, to := range s.To {
			f.byAddr[to] = serving
		}
		if s.NodePort != 0 {
			f.byPort[s.NodePort] = serving
		}
	}
	if len(f.byAddr)+len(f.byPort) == 0 {
		return nil
	}
	return f
}

// MatchConntrackFlow implements netlink.CustomConntrackFilter.
func (f *staleUDP) MatchConntrackFlow(flow *netlink.ConntrackFlow) bool {
	if flow.Forward.Protocol != unix.IPPROTO_UDP {
		return false
	}
	serving, ours := f.byAddr[addrPort(flow.Forward.DstIP, flow.Forward.DstPort)]
	if !ours {
		serving, ours = f.byPort[flow.Forward.DstPort]
	}
	return ours && !serving[addrPort(flow.Reverse.SrcIP, flow.Reverse.SrcPort)]
}

func addrPort(ip net.IP, port uint16) netip.AddrPort { return netip.AddrPortFrom(addrOf(ip), port) }

// addrOf is an address of the library; the zero Addr if it has none.
func addrOf(ip net.IP) netip.Addr {
	a, _ := netip.AddrFromSlice(ip)
	return a.Unmap()
}

// cutFilter selects connection tracking entries that a cut does not allow.
type cutFilter struct {
	to, from map[netip.Addr][]*conntrack.Cut // by the pod
}

// newCutFilter returns nil if there is no cut of the family.
func newCutFilter(cuts []conntrack.Cut, ipv6 bool) *cutFilter {
	f := &cutFilter{to: map[netip.Addr][]*conntrack.Cut{}, from: map[netip.Addr][]*conntrack.Cut{}}
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
