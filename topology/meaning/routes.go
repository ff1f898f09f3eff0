package meaning

import (
	"net/netip"
	"slices"

	"github.com/netlab/netlab/datapath/flow"
	"github.com/netlab/netlab/topology"
)

// network is a lab as its packets see it: who has which address, and where every host
// sends a packet.
type network struct{ *topology.Lab }

// place is a host of the lab: one field is set, or none if no host has the address.
type place struct {
	node     *topology.Node
	pod      *topology.Pod
	client   *topology.Client
	router   *topology.Router
	underlay bool
}

// home is the node that all traffic from and to a place passes.
func (at place) home() *topology.Node {
	if at.pod != nil {
		return at.pod.Node
	}
	return at.node
}

func (at place) has(lab network, a netip.Addr) bool {
	switch {
	case at.node != nil:
		return lab.owns(at.node, a)
	case at.pod != nil:
		return slices.Contains(at.pod.Addrs, a)
	case at.client != nil:
		return slices.Contains(at.client.Addrs, a)
	case at.router != nil:
		return slices.Contains(at.router.Addrs(), a)
	}
	return at.underlay && slices.ContainsFunc(lab.Subnets, func(s *topology.Subnet) bool { return slices.Contains(s.Gateways, a) })
}

// listener finds what listens at a place.
func (at place) listener(lab network, protocol topology.Protocol, port uint16) (flow.Result, bool) {
	listens := func(ports []topology.Port) bool {
		return slices.ContainsFunc(ports, func(p topology.Port) bool { return p.Protocol == protocol && p.Number == port })
	}
	switch {
	case at.client != nil:
		return flow.Result{Answer: at.client.Name}, listens(at.client.Ports)
	case at.pod != nil:
		return flow.Result{Answer: at.pod.AgentName(), Node: at.pod.Node.Name}, listens(at.pod.Ports)
	case at.node != nil:
		for _, p := range at.node.Pods {
			if p.HostNetwork && listens(p.Ports) {
				return flow.Result{Answer: p.AgentName(), Node: at.node.Name}, true
			}
		}
		return lab.healthCheckAt(at.node, protocol, port)
	}
	return flow.Result{}, false
}

// tunnels reports whether the node's tunnel receives datagrams to an address and port:
// it understands only those from other tunnels, and answers none. VXLAN receives at all
// addresses of the node.
func (lab network) tunnels(n *topology.Node, to netip.Addr, port uint16) bool {
	if port == 0 || int(port) != lab.Network.TunnelPort() {
		return false
	}
	return to == n.Addrs[0] || lab.Network.Mode.Tunnel == topology.VXLANTunnel && to.Is6() == n.Addrs[0].Is6()
}

// speaks reports whether a BGP speaker listens at a place. It talks to its peers only.
func (lab network) speaks(at place) bool {
	return at.node != nil && lab.Network.BGP != nil || at.router != nil && at.router.AS != 0
}

// owns reports whether an address is one of a node's own: on the underlay, of its bridge
// or of its tunnel, or a loopback address.
func (lab network) owns(n *topology.Node, a netip.Addr) bool {
	return slices.Contains(n.Addrs, a) || a.IsLoopback() || slices.Contains(lab.Network.Own(n, a.Is6()), a)
}

// means reports whether an address of a node, or of its pods, means these as seen from
// another node (nil: from outside): on every node, the pod CIDR may be that of its own pods,
// and the address of Docker's bridge is its own.
func (lab network) means(a netip.Addr, from, of *topology.Node) bool {
	if a == lab.Network.DockerAddr(a.Is6()) {
		return from == of
	}
	return from == of || !lab.Network.Mode.SharedCIDR || !topology.PrefixOfFamily(of.PodCIDRs, a.Is6()).Contains(a)
}

// placeOf finds who has an address, as seen from a node; nil: from outside.
func (lab network) placeOf(from *topology.Node, a netip.Addr) place {
	for _, n := range lab.Nodes {
		if !a.IsLoopback() && lab.owns(n, a) && lab.means(a, from, n) {
			return place{node: n}
		}
	}
	for _, p := range lab.Pods {
		if slices.Contains(p.Addrs, a) && !p.HostNetwork && lab.means(a, from, p.Node) {
			return place{pod: p}
		}
	}
	for _, c := range lab.Clients {
		if slices.Contains(c.Addrs, a) {
			return place{client: c}
		}
	}
	for _, r := range lab.Routers {
		if slices.Contains(r.Addrs(), a) {
			return place{router: r}
		}
	}
	if (place{underlay: true}).has(lab, a) {
		return place{underlay: true}
	}
	return place{}
}

// hop is where a host sends a packet.
type hop struct {
	to     []place              // several where it has several next hops
	own    netip.Addr           // the node's address on the link that leads there
	by     *topology.RouterLink // the router's link that leads there
	tunnel bool                 // to the node at the other end
}

// route is a route of a host: the longest prefix wins, and of equal ones the first.
type route struct {
	to  netip.Prefix
	via []netip.Addr   // nil: on the link
	pod *topology.Node // or to the pods of a node
}

func lookup(routes []route, dst netip.Addr) (best route, ok bool) {
	for _, w := range routes {
		if w.to.Contains(dst) && (!ok || w.to.Bits() > best.to.Bits()) {
			best, ok = w, true
		}
	}
	return best, ok
}

// onSubnets are the routes of a host to the subnets that it is on, those that the lab gives
// it, and those to all other subnets.
func (lab network) onSubnets(own []*topology.Subnet, written []topology.Route) []route {
	var routes []route
	for _, s := range own {
		for _, cidr := range s.CIDRs {
			routes = append(routes, route{to: cidr})
		}
	}
	for _, r := range written {
		routes = append(routes, route{to: r.To.Masked(), via: []netip.Addr{r.Via}})
	}
	for _, s := range lab.Subnets {
		for _, cidr := range s.CIDRs {
			var via []netip.Addr
			for _, l := range lab.Next(own, s) {
				via = append(via, topology.OfFamily(l.Addrs, cidr.Addr().Is6()))
			}
			if via != nil {
				routes = append(routes, route{to: cidr, via: via})
			}
		}
	}
	return routes
}

// next are the hosts that a route leads to; it is a node's, or nil.
func (lab network) next(from *topology.Node, w route, dst netip.Addr) (out []place) {
	if w.via == nil {
		return []place{lab.placeOf(from, dst)}
	}
	for _, a := range w.via {
		out = append(out, lab.placeOf(from, a))
	}
	return out
}

// nodeHop is where a node sends what is not for itself: to its pods, to the node of
// other pods, to its neighbours, to routers, else to the underlay's own address, where it is
// lost.
func (lab network) nodeHop(n *topology.Node, dst netip.Addr) hop {
	routes := lab.onSubnets([]*topology.Subnet{n.Subnet}, n.Routes)
	for _, m := range lab.Nodes {
		if m != n && !lab.Network.RoutesPods(n, m, dst.Is6()) {
			continue
		}
		for _, cidr := range m.PodCIDRs {
			if m != n && lab.Network.Mode.Tunnel == topology.ESPTunnel && cidr.Contains(dst) {
				return lab.podsOf(n, m, dst) // by its policies, whatever the routes say
			}
			routes = append(routes, route{to: cidr, pod: m})
		}
	}
	w, ok := lookup(routes, dst)
	own := topology.OfFamily(n.Addrs, dst.Is6())
	switch {
	case !ok:
		return hop{to: []place{{underlay: true}}, own: own}
	case w.pod == n:
		return hop{to: []place{lab.podAt(n, dst)}, own: lab.Network.Towards(n, n, dst.Is6())}
	case w.pod != nil && !lab.Network.SameLink(n, w.pod) && !lab.Network.Encapsulates(n, w.pod, dst.Is6()):
		return lab.nodeHop(n, topology.OfFamily(w.pod.Addrs, dst.Is6()))
	case w.pod != nil:
		return lab.podsOf(n, w.pod, dst)
	}
	return hop{to: lab.next(n, w, dst), own: own}
}

// shares is the node to which another has a policy of IPsec for what its pods send: to it as
// well as to its pods.
func (lab network) shares(n *topology.Node, src, dst netip.Addr) *topology.Node {
	if lab.Network.Mode.Tunnel != topology.ESPTunnel || !slices.ContainsFunc(n.PodCIDRs, func(c netip.Prefix) bool { return c.Contains(src) }) {
		return nil
	}
	return topology.First(lab.Nodes, func(m *topology.Node) bool { return m != n && topology.OfFamily(m.Addrs, dst.Is6()) == dst })
}

// podsOf is where a node sends what is for the pods of another.
func (lab network) podsOf(n, other *topology.Node, dst netip.Addr) hop {
	six := dst.Is6()
	return hop{to: []place{{node: other}}, own: lab.Network.Towards(n, other, six), tunnel: lab.Network.Encapsulates(n, other, six)}
}

// discards reports whether a node has a route that discards what is for an address: its
// own processes learn that at once.
func (lab network) discards(n *topology.Node, dst netip.Addr) bool {
	return lab.Network.Mode.DiscardsUnused && topology.PrefixOfFamily(n.PodCIDRs, dst.Is6()).Contains(dst) &&
		!lab.owns(n, dst) && lab.podAt(n, dst) == place{}
}

func (lab network) podAt(n *topology.Node, a netip.Addr) place {
	if at := lab.placeOf(n, a); at.pod != nil {
		return at
	}
	return place{}
}

// clientHops are the hosts that a client sends to for a destination. The outside
// routes to the external and load balancer addresses of services, by way of one
// or several nodes; to cluster IPs only if the scenario has the route.
func (lab network) clientHops(c *topology.Client, dst netip.Addr) []place {
	own := []*topology.Subnet{c.Subnet}
	w, ok := lookup(append(lab.onSubnets(own, c.Routes), lab.announcements(own, dst, c.Routed(dst))...), dst)
	switch {
	case !ok && c.Gateway.Is6() == dst.Is6():
		return []place{lab.placeOf(nil, c.Gateway)}
	case !ok:
		return []place{{underlay: true}}
	}
	return lab.next(nil, w, dst)
}

// announcements are the routes of a host outside the cluster to an address of a service,
// unless it has another one.
func (lab network) announcements(own []*topology.Subnet, dst netip.Addr, routed bool) (routes []route) {
	for _, sv := range lab.Services {
		if via := announced(sv, dst); via != nil && !routed {
			if next := lab.Via(own, sv.Via, dst.Is6()); next != nil {
				routes = append(routes, route{to: topology.Single(dst), via: next})
			}
		}
	}
	return routes
}

// routerHops are the hosts that a router sends to for a destination, and by which of its links.
func (lab network) routerHops(r *topology.Router, dst netip.Addr) (out []place, by *topology.RouterLink) {
	routes := append(lab.onSubnets(r.Subnets(), r.Routes), lab.learned(r, dst.Is6())...)
	w, ok := lookup(append(routes, lab.announcements(r.Subnets(), dst, r.Routed(dst) || lab.Owned(dst))...), dst)
	if !ok {
		return []place{{underlay: true}}, r.Links[0]
	}
	towards := dst
	if w.via != nil {
		towards = w.via[0]
	}
	return lab.next(nil, w, dst), topology.First(r.Links, func(l *topology.RouterLink) bool { return l.Subnet.Has(towards) })
}

// learned are the routes of a router to pods.
func (lab network) learned(r *topology.Router, six bool) (routes []route) {
	if r.AS == 0 {
		return nil
	}
	for _, n := range lab.Nodes {
		for _, cidr := range n.PodCIDRs {
			if via := topology.OfFamily(lab.Learned(r, n), six); cidr.Addr().Is6() == six && via.IsValid() {
				routes = append(routes, route{to: cidr, via: []netip.Addr{via}})
			}
		}
	}
	return routes
}

// hop is where a host sends a packet.
func (lab network) hop(at place, src, dst netip.Addr) (out hop) {
	switch {
	case at.node != nil:
		if other := lab.shares(at.node, src, dst); other != nil {
			return lab.podsOf(at.node, other, dst)
		}
		return lab.nodeHop(at.node, dst)
	case at.pod != nil:
		out.to = []place{{node: at.pod.Node}}
	case at.client != nil:
		out.to = lab.clientHops(at.client, dst)
	case at.router != nil:
		out.to, out.by = lab.routerHops(at.router, dst)
	case at.underlay && slices.ContainsFunc(lab.Subnets, func(s *topology.Subnet) bool { return s.Has(dst) }):
		out.to = []place{lab.placeOf(nil, dst)}
	}
	return out
}

// announced returns the nodes that the outside sends packets for an address to, by
// their addresses. Load balancers of mode Proxy keep theirs, and an address of one
// of the nodes needs no announcement.
func announced(sv *topology.Service, a netip.Addr) []netip.Addr {
	vip := slices.ContainsFunc(sv.LoadBalancers, func(l topology.LoadBalancerIP) bool { return l.Addr == a && !l.Proxy })
	if !vip && !slices.Contains(sv.ExternalIPs, a) {
		return nil
	}
	var via []netip.Addr
	for _, n := range sv.Via {
		if own := topology.OfFamily(n.Addrs, a.Is6()); own.IsValid() {
			via = append(via, own)
		}
	}
	if slices.Contains(via, a) {
		return nil
	}
	return via
}

// sourceOf is the address that a process of a node dials from: of the link that
// leads to the destination, before anything is translated.
func (lab network) sourceOf(n *topology.Node, dst netip.Addr) netip.Addr {
	switch {
	case dst.IsLoopback():
		return loopbackOf(dst)
	case lab.owns(n, dst):
		return dst
	case lab.bound(dst):
		return lab.fromBound(n, dst)
	}
	return lab.nodeHop(n, dst).own
}

// egress is the source that masquerading on a node sets: the address of the link that
// leads to the destination. Towards itself that is the node's first address.
func (lab network) egress(n *topology.Node, dst netip.Addr) netip.Addr {
	if lab.holds(n, dst) {
		return lab.Network.FirstAddr(n, dst.Is6())
	}
	return lab.nodeHop(n, dst).own
}

// podNetworkMasquerades reports whether the pod network gives a packet that leaves a
// node that node's address. Packets from pods keep their source towards pods, and
// towards nodes if the lab says so, and lose it towards anything else. Packets from
// outside keep it towards pods of this node, but not towards pods of others, whose
// replies would not come back through this node.
func (lab network) podNetworkMasquerades(n *topology.Node, src, dst netip.Addr) bool {
	six := dst.Is6()
	pods, mine := topology.PrefixOfFamily(lab.Network.PodCIDRs, six), topology.PrefixOfFamily(n.PodCIDRs, six)
	fromPod, toPod := pods.Contains(src), pods.Contains(dst)
	if docker := lab.Network.DockerNet(six); docker.Contains(src) && (!docker.Contains(dst) || lab.owns(n, dst)) {
		return true // what leaves by another link than its bridge, the loopback device included
	}
	switch {
	case lab.Network.Mode.SharedCIDR:
		return fromPod && (!toPod || lab.owns(n, dst)) // even where the bridge's address is for itself
	case mine.Contains(dst):
		return false
	case !fromPod:
		return toPod && !lab.Network.Mode.KeepsOutside
	case toPod && lab.Network.Mode.KeepsOutside:
		return false
	case fromPod && toPod && lab.Network.FlannelLayout == topology.FlannelOld:
		return false
	case mine.Contains(src) && toPod:
		return false
	case lab.Network.KeepSourceToNodes:
		toNode := slices.ContainsFunc(lab.Nodes, func(n *topology.Node) bool { return slices.Contains(n.Addrs, dst) })
		return !toPod && !toNode
	}
	// By default flannel does not distinguish a packet of another node's pod, forwarded here,
	// from one that leaves the cluster.
	return true
}

func loopbackOf(a netip.Addr) netip.Addr {
	if a.Is6() {
		return netip.IPv6Loopback()
	}
	return netip.AddrFrom4([4]byte{127, 0, 0, 1})
}
