//go:build linux

package kernel

import (
	"errors"
	"fmt"
	"net"
	"net/netip"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/netlab/netlab/datapath/plan"
)

// cutConnections deletes the stale connection tracking entries of UDP services (see
// plan.UDPService), and those that policies now deny (see plan.Cut), in the calling
// thread's namespace. It runs after the new rules are loaded, so that the next packet
// of a flow meets them.
func cutConnections(services []plan.UDPService, cuts []plan.Cut) error {
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
func newStaleUDP(services []plan.UDPService, ipv6 bool) *staleUDP {
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
