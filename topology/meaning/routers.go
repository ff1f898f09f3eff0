package meaning

import (
	"net/netip"
	"slices"

	"github.com/netlab/netlab/topology"
)

// Between subnets packets pass routers. A router forwards by its routes, drops what the lab
// says, and translates nothing.

// header is what routers see of a packet.
type header struct {
	src, dst netip.Addr
	protocol topology.Protocol
	port     uint16 // destination; 0: one that no rule names
}

// routerSource is the address that a router dials from: that of the link that leads to the
// destination.
func (lab network) routerSource(r *topology.Router, dst netip.Addr) []netip.Addr {
	if slices.Contains(r.Addrs(), dst) {
		return []netip.Addr{dst}
	}
	if _, by := lab.routerHops(r, dst); by != nil {
		return by.Addrs
	}
	return nil
}

// takes reports whether a router accepts a packet from a host as far as its source goes.
func (lab network) takes(r *topology.Router, from place, by *topology.RouterLink, h header) bool {
	if slices.Contains(r.Addrs(), h.src) {
		return false
	}
	if !r.ReversePath || h.src.Is6() {
		return true
	}
	_, back := lab.routerHops(r, h.src)
	var came *topology.Subnet
	switch {
	case from.node != nil:
		came = from.node.Subnet
	case from.client != nil:
		came = from.client.Subnet
	case by != nil:
		came = by.Subnet
	default:
		return true
	}
	return back.Subnet == came
}

// drops reports whether a router drops a packet instead of forwarding it.
func drops(r *topology.Router, h header) bool {
	covers := func(list []netip.Prefix, a netip.Addr) bool {
		return len(list) == 0 || slices.ContainsFunc(list, func(p netip.Prefix) bool { return p.Contains(a) })
	}
	return slices.ContainsFunc(r.Drops, func(d topology.Drop) bool {
		return (d.Protocol == "" || d.Protocol == h.protocol) && (d.Port == 0 || d.Port == h.port) && covers(d.From, h.src) && covers(d.To, h.dst)
	})
}

// outer is what routers see of packets in a tunnel between two nodes.
func (lab network) outer(n, to *topology.Node, ipv6 bool) header {
	h := header{src: topology.OfFamily(n.Addrs, ipv6), dst: topology.OfFamily(to.Addrs, ipv6), protocol: topology.UDP, port: uint16(lab.Network.TunnelPort())}
	if lab.Network.Mode.Tunnel.ByNode() {
		h.src, h.dst = n.Addrs[0], to.Addrs[0]
	}
	if lab.Network.Mode.Tunnel == topology.ESPTunnel {
		h.protocol, h.port = "esp", 0
	}
	return h
}

// way is one of the ways that a packet can take: the first node on it, if any, and whether
// it arrives.
type way struct {
	first   *topology.Node
	arrives bool
}

// ways are the different ways of a packet from a host to an address, as nodes and routers
// forward it.
func (lab network) ways(at place, h header) []way { return lab.waysAfter(0, at, h, false) }

// starts are the ways as far as the first node, which may change what passes there.
func (lab network) starts(at place, h header) []way { return lab.waysAfter(0, at, h, true) }

func (lab network) waysAfter(hops int, at place, h header, start bool) (out []way) {
	add := func(w way) {
		if first := at.home(); first != nil {
			w.first = first
		}
		if !slices.Contains(out, w) {
			out = append(out, w)
		}
	}
	if at.has(lab, h.dst) || start && at.home() != nil {
		return []way{{at.home(), true}}
	}
	there := lab.hop(at, h.src, h.dst)
	if hops > maxHops || len(there.to) == 0 {
		add(way{})
		return out
	}
	if there.tunnel {
		arrives, lost := lab.tunnelled(at.node, there, h.dst)
		if lost {
			add(way{})
		}
		if !arrives {
			return out
		}
	}
	for _, next := range there.to {
		switch {
		case next.router != nil && !lab.takes(next.router, at, there.by, h):
			add(way{})
		case next.has(lab, h.dst):
			add(way{first: next.home(), arrives: true})
		case next.router != nil && drops(next.router, h), next.router == nil && next.node == nil:
			add(way{})
		default:
			for _, w := range lab.waysAfter(hops+1, next, h, start) {
				add(w)
			}
		}
	}
	return out
}

// tunnelled reports whether what a node encapsulates can arrive at the other end of the tunnel,
// and whether it can be lost.
func (lab network) tunnelled(n *topology.Node, there hop, dst netip.Addr) (arrives, lost bool) {
	for _, w := range lab.ways(place{node: n}, lab.outer(n, there.to[0].node, dst.Is6())) {
		arrives, lost = arrives || w.arrives, lost || !w.arrives
	}
	return arrives, lost
}
