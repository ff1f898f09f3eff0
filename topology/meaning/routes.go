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
	}
	return at.underlay && slices.ContainsFunc(lab.Network.NodeCIDRs, func(c netip.Prefix) bool { return c.Addr().Next() == a })
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
// it understands only those from other tunnels, and answers none.
func (lab network) tunnels(n *topology.Node, to netip.Addr, port uint16) bool {
	return lab.Network.Mode.Tunnel == topology.VXLANTunnel && int(port) == lab.Network.VXLAN.Port && to.Is6() == n.Addrs[0].Is6()
}

// owns reports whether an address is one of a node's own: on the underlay, of its bridge
// or of its tunnel, or a loopback address.
func (lab network) owns(n *topology.Node, a netip.Addr) bool {
	if slices.Contains(n.Addrs, a) || a.IsLoopback() {
		return true
	}
	for _, cidr := range n.PodCIDRs {
		if a == cidr.Addr().Next() || a == cidr.Addr() && lab.Network.Mode.Tunnel == topology.VXLANTunnel {
			return true
		}
	}
	return false
}

// placeOf finds who has an address.
func (lab network) placeOf(a netip.Addr) place {
	for _, n := range lab.Nodes {
		if !a.IsLoopback() && lab.owns(n, a) {
			return place{node: n}
		}
	}
	for _, p := range lab.Pods {
		if slices.Contains(p.Addrs, a) && !p.HostNetwork {
			return place{pod: p}
		}
	}
	for _, c := range lab.Clients {
		if slices.Contains(c.Addrs, a) {
			return place{client: c}
		}
	}
	if (place{underlay: true}).has(lab, a) {
		return place{underlay: true}
	}
	return place{}
}

// hop is where a node sends a packet.
type hop struct {
	to  place
	own netip.Addr // the node's address on the link that leads there
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

// nodeHop is where a node sends what is not for itself: to its pods, to the node of
// other pods, to its neighbours, else to the underlay's own address, where it is lost.
func (lab network) nodeHop(n *topology.Node, dst netip.Addr) hop {
	var routes []route
	for _, cidr := range lab.Network.NodeCIDRs {
		routes = append(routes, route{to: cidr})
	}
	for _, r := range n.Routes {
		routes = append(routes, route{to: r.To.Masked(), via: []netip.Addr{r.Via}})
	}
	for _, m := range lab.Nodes {
		if m != n && !lab.Network.Mode.Routed {
			continue
		}
		for _, cidr := range m.PodCIDRs {
			routes = append(routes, route{to: cidr, pod: m})
		}
	}
	w, ok := lookup(routes, dst)
	own := topology.OfFamily(n.Addrs, dst.Is6())
	switch {
	case !ok:
		return hop{place{underlay: true}, own}
	case w.pod == n:
		return hop{lab.podAt(dst), w.to.Addr().Next()}
	case w.pod != nil && lab.Network.Mode.Tunnel == topology.VXLANTunnel && !lab.Network.VXLAN.DirectRouting:
		return hop{place{node: w.pod}, topology.PrefixOfFamily(n.PodCIDRs, dst.Is6()).Addr()}
	case w.pod != nil:
		return hop{place{node: w.pod}, own}
	case w.via != nil:
		return hop{lab.placeOf(w.via[0]), own}
	}
	return hop{lab.placeOf(dst), own}
}

// delivers reports whether what a node sends to an address arrives.
func (lab network) delivers(n *topology.Node, dst netip.Addr) bool {
	for range maxHops {
		if lab.owns(n, dst) {
			return true
		}
		next := lab.nodeHop(n, dst).to
		if next.node == nil {
			return next.has(lab, dst)
		}
		n = next.node
	}
	return false
}

func (lab network) podAt(a netip.Addr) place {
	if at := lab.placeOf(a); at.pod != nil {
		return at
	}
	return place{}
}

// clientHops are the hosts that a client sends to for a destination. The outside
// routes to the external and load balancer addresses of services, by way of one
// or several nodes; to cluster IPs only if the scenario has the route.
func (lab network) clientHops(c *topology.Client, dst netip.Addr) []place {
	var routes []route
	for _, cidr := range lab.Network.NodeCIDRs {
		routes = append(routes, route{to: cidr})
	}
	for _, r := range c.Routes {
		routes = append(routes, route{to: r.To.Masked(), via: []netip.Addr{r.Via}})
	}
	for _, sv := range lab.Services {
		if via := announced(sv, dst); via != nil && !c.Routed(dst) {
			routes = append(routes, route{to: topology.Single(dst), via: via})
		}
	}
	w, ok := lookup(routes, dst)
	switch {
	case !ok && c.Gateway.Is6() == dst.Is6():
		return []place{lab.placeOf(c.Gateway)}
	case !ok:
		return []place{{underlay: true}}
	case w.via == nil:
		return []place{lab.placeOf(dst)}
	}
	var out []place
	for _, a := range w.via {
		out = append(out, lab.placeOf(a))
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
	case lab.holds(n, dst):
		return dst
	}
	return lab.nodeHop(n, dst).own
}

// egress is the source that masquerading on a node sets: the address of the link that
// leads to the destination. Towards itself that is the address of the node.
func (lab network) egress(n *topology.Node, dst netip.Addr) netip.Addr {
	if lab.holds(n, dst) {
		return topology.OfFamily(n.Addrs, dst.Is6())
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
	switch {
	case mine.Contains(dst):
		return false
	case !fromPod:
		return toPod
	case mine.Contains(src) && toPod:
		return false
	case lab.Network.KeepSourceToNodes:
		toNode := slices.ContainsFunc(lab.Nodes, func(n *topology.Node) bool { return slices.Contains(n.Addrs, dst) })
		return !toPod && !toNode
	}
	// flannel does not distinguish a packet of another node's pod, forwarded here,
	// from one that leaves the cluster.
	return true
}

func loopbackOf(a netip.Addr) netip.Addr {
	if a.Is6() {
		return netip.IPv6Loopback()
	}
	return netip.AddrFrom4([4]byte{127, 0, 0, 1})
}
