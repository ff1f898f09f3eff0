//go:build linux

package kernel

import (
	"errors"
	"fmt"
	"net"
	"net/netip"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/netlab/netlab/datapath/netns"
	"github.com/netlab/netlab/datapath/plan"
)

// forget deletes the connection tracking entries of UDP services that lead
// nowhere now (see plan.UDPService). It runs after the new rules are loaded, so that
// the next datagram of a flow meets them.
func (k *Kernel) forget(edits []plan.Edit) error {
	return k.thread.Run(func(h netns.Here) error {
		for _, e := range edits {
			if len(e.Tables) == 0 || len(e.UDP) == 0 {
				continue
			}
			if err := h.Enter(k.spaces[e.Netns].ns); err != nil {
				return err
			}
			if err := forgetHere(e.UDP); err != nil {
				return fmt.Errorf("%s: conntrack -D -p udp: %w", e.Netns, err)
			}
		}
		return nil
	})
}

func forgetHere(services []plan.UDPService) error {
	handle, err := netlink.NewHandle(unix.NETLINK_NETFILTER)
	if err != nil {
		return err
	}
	defer handle.Close()
	var failed error
	for _, ipv6 := range []bool{false, true} {
		stale := newStaleFilter(services, ipv6)
		if stale == nil {
			continue
		}
		family := netlink.InetFamily(unix.AF_INET)
		if ipv6 {
			family = unix.AF_INET6
		}
		_, err := handle.ConntrackDeleteFilters(netlink.ConntrackTable, family, stale)
		if err != nil && !errors.Is(err, unix.ENOENT) { // gone by itself meanwhile
			failed = errors.Join(failed, err)
		}
	}
	return failed
}

// staleFilter picks entries by where they were sent to and who answers.
type staleFilter struct {
	byAddr map[netip.AddrPort]endpoints
	byPort map[uint16]endpoints // node ports
}

type endpoints map[netip.AddrPort]bool

// newStaleFilter returns nil where there is no service of the family.
func newStaleFilter(services []plan.UDPService, ipv6 bool) *staleFilter {
	f := &staleFilter{byAddr: map[netip.AddrPort]endpoints{}, byPort: map[uint16]endpoints{}}
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
func (f *staleFilter) MatchConntrackFlow(flow *netlink.ConntrackFlow) bool {
	if flow.Forward.Protocol != unix.IPPROTO_UDP {
		return false
	}
	serving, ours := f.byAddr[addrPort(flow.Forward.DstIP, flow.Forward.DstPort)]
	if !ours {
		serving, ours = f.byPort[flow.Forward.DstPort]
	}
	return ours && !serving[addrPort(flow.Reverse.SrcIP, flow.Reverse.SrcPort)]
}

func addrPort(ip net.IP, port uint16) netip.AddrPort {
	a, _ := netip.AddrFromSlice(ip)
	return netip.AddrPortFrom(a.Unmap(), port)
}
