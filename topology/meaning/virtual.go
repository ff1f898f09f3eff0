package meaning

import (
	"net/netip"
	"slices"

	"github.com/netlab/netlab/topology"
)

// holds reports whether packets to an address end on a node: its own, and in proxy mode
// ipvs those of all services that it serves.
func (lab network) holds(n *topology.Node, a netip.Addr) bool {
	return lab.owns(n, a) || lab.bound(a)
}

// bound reports whether nodes have an address for services. One that is a node's own is
// bound on the others.
func (lab network) bound(a netip.Addr) bool {
	if !lab.Proxy.Mode.VirtualServers {
		return false
	}
	return slices.ContainsFunc(lab.Services, func(sv *topology.Service) bool {
		if sv.Unmanaged || sv.Type == topology.ExternalName || !topology.OfFamily(sv.ClusterIPs, a.Is6()).IsValid() {
			return false
		}
		_, ok := lab.kindOf(sv, a)
		return ok
	})
}

// fromBound is the address that a process of a node dials an address for services from: that
// address itself, but over IPv6, where only a route makes it the node's, the one of the node
// that shares the longest prefix with it (RFC 6724 rule 8).
func (lab network) fromBound(n *topology.Node, dst netip.Addr) netip.Addr {
	if dst.Is4() || lab.Proxy.IPVS.Addresses != topology.AddressesRoutes {
		return dst
	}
	var own netip.Addr
	longest := -1
	for _, a := range lab.Network.Own(n, true) {
		for bits := 128; bits > longest; bits-- {
			if netip.PrefixFrom(a, bits).Contains(dst) {
				own, longest = a, bits
			}
		}
	}
	return own
}

// captures reports whether a node accepts a packet to another host's address as its own.
func (lab network) captures(n *topology.Node, a netip.Addr) bool {
	return n != nil && !lab.owns(n, a) && lab.bound(a)
}

// balanced handles a packet for a service on a node that has IPVS.
func (ps *paths) balanced(n *topology.Node, u *use, p packet) {
	admitted := ps.lab.admitsVirtual(n, u, p)
	if !admitted && !p.self {
		ps.silence()
		return
	}
	list, refuses := u.scheduled(ps.lab.Proxy.IPVS.Scheduler, u.pool(n))
	if refuses {
		ps.refuse(n, p)
	}
	for _, e := range list {
		if !admitted { // after IPVS
			ps.silence()
			continue
		}
		next := p
		next.changes = append(slices.Clone(p.changes), change{node: n, src: p.src, dst: p.dst, translate: true})
		next.dst, next.port = e.Addr.Addr(), e.Addr.Port()
		if next.past = ps.lab.holds(n, next.dst); next.past && ps.strayed(n, p, next.dst) {
			ps.silence()
			continue
		}
		// What an endpoint of another node sends to itself is not masqueraded here, unless
		// some service has it as one of this node.
		itself := next.dst == p.src && ps.here(n, e)
		ps.forward(n, next, itself || ps.marked(u, p))
	}
}

// here reports whether some service has an endpoint with the same address on a node:
// all services share the ipset that is matched.
func (ps *paths) here(n *topology.Node, e *topology.Endpoint) bool {
	for _, p := range ps.served(e.Addr.Addr().Is6()) {
		if slices.ContainsFunc(p.Endpoints, func(other *topology.Endpoint) bool { return other.Addr == e.Addr && other.Node == n.Name }) {
			return true
		}
	}
	return false
}

// loopsBack reports whether a node masquerades a packet to itself although no service is
// involved: the set by which endpoints reach themselves has its address and port.
func (ps *paths) loopsBack(n *topology.Node, p packet) bool {
	if !ps.lab.Proxy.Mode.VirtualServers || p.src != p.dst {
		return false
	}
	return ps.here(n, &topology.Endpoint{Addr: netip.AddrPortFrom(p.dst, p.port)})
}

// pool are the endpoints to choose from for a packet, whatever its origin: under policy
// Local those of the node, and if there is none, all that nodes know, which they do
// where the service is external (kubernetes pull request 97081).
func (u *use) pool(n *topology.Node) []*topology.Endpoint {
	local := u.service.ExternalTrafficPolicy == topology.PolicyLocal
	if u.kind == atClusterIP {
		local = u.service.InternalTrafficPolicy == topology.PolicyLocal
	}
	if !local {
		return u.clusterEndpoints(n)
	}
	if here := u.endpoints(n); len(here) > 0 {
		return here
	}
	if u.service.InternalTrafficPolicy == topology.PolicyLocal && !u.external() {
		return nil
	}
	return u.clusterEndpoints(n)
}

// external reports whether the service port has an address outside the cluster.
func (u *use) external() bool {
	return u.port.NodePort != 0 || topology.OfFamily(u.service.ExternalIPs, u.six).IsValid() ||
		slices.ContainsFunc(u.service.LoadBalancers, func(l topology.LoadBalancerIP) bool { return !l.Proxy && l.Addr.Is6() == u.six })
}

// scheduled are the endpoints that a scheduler can choose, and whether it refuses some
// connections: all if there is none to choose, and with sh and dh those that hash to
// endpoints of weight 0.
func (u *use) scheduled(scheduler string, list []*topology.Endpoint) (chosen []*topology.Endpoint, refuses bool) {
	highest := 0
	for _, e := range list {
		highest = max(highest, e.Weight)
	}
	for _, e := range list {
		switch {
		case e.Weight == 0:
			refuses = refuses || scheduler == "sh" || scheduler == "dh"
		case scheduler != "fo" || e.Weight == highest:
			chosen = append(chosen, e)
		}
	}
	return chosen, refuses || len(chosen) == 0
}

// marked reports whether a node masquerades what it sends to endpoints:
// under policy Cluster for all traffic to external addresses, under Local for none; to
// cluster IPs for all that does not come from pods. A process of the node that dials from the
// cluster IP itself is no pod even where local traffic is not detected.
func (ps *paths) marked(u *use, p packet) bool {
	if u.kind != atClusterIP {
		return u.service.ExternalTrafficPolicy != topology.PolicyLocal
	}
	detects := ps.lab.Proxy.DetectLocal != topology.DetectNone
	pod := topology.PrefixOfFamily(ps.lab.Network.PodCIDRs, u.six).Contains(p.src)
	return ps.lab.Proxy.MasqueradeAll || detects && !pod || p.src == p.dst
}

// admitsVirtual applies loadBalancerSourceRanges. A process of the node that dials from the load
// balancer's address is admitted where the node is.
func (lab network) admitsVirtual(n *topology.Node, u *use, p packet) bool {
	if !u.balances(p.dst) {
		return true
	}
	if p.src == p.dst {
		p.src = topology.OfFamily(n.Addrs, u.six)
	}
	return lab.admits(n, u, p)
}
