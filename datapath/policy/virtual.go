package policy

import (
	"net/netip"
	"slices"

	"github.com/netlab/netlab/topology"
)

// Served is what IPVS takes of the packets that arrive at the node. It does so after the
// rules of INPUT, and sends them through OUTPUT, where policies judge the endpoint. Only
// what it delivers to a process of the node itself passes no policy.
type Served struct {
	// Addrs are addresses that the node has for services only, sorted.
	Addrs []netip.Addr
	// Ports are those of services at the node's own addresses, sorted: node ports.
	Ports []Member
}

// Served returns the addresses of the node's virtual servers in one IP family, none
// where policies do not apply towards the node.
func (v *View) Served(ipv6 bool) Served {
	var out Served
	if !v.Options.HostEgress {
		return out
	}
	for i := range v.Virtual {
		s := &v.Virtual[i]
		a := s.Addr.Addr()
		switch {
		case a.Is6() != ipv6:
		case v.isNode(a):
			out.Ports = append(out.Ports, Member{a, topology.Protocol(s.Proto), s.Addr.Port()})
		default:
			out.Addrs = append(out.Addrs, a)
		}
	}
	slices.SortFunc(out.Addrs, netip.Addr.Compare)
	out.Addrs = slices.Compact(out.Addrs)
	slices.SortFunc(out.Ports, Member.compare)
	out.Ports = slices.Compact(out.Ports)
	return out
}

// isNode reports whether an address is the node's own: on the underlay, of a bridge or of its
// tunnel.
func (v *View) isNode(a netip.Addr) bool {
	return slices.Contains(v.Node.Addrs, a) || slices.Contains(v.Lab.Network.Own(v.Node, a.Is6()), a) || slices.ContainsFunc(v.Node.PodCIDRs, func(p netip.Prefix) bool { return p.Contains(a) })
}
