package topology

import (
	"net/netip"
	"slices"
)

// place is a host of the lab: one field is set, or none for nobody.
type place struct {
	node   *Node
	pod    *Pod
	client *Client
	wire   bool
}

// home is the node that everything passes which comes from or goes to a place.
func (at place) home() *Node {
	if at.pod != nil {
		return at.pod.Node
	}
	return at.node
}

func (at place) has(lab *Lab, a netip.Addr) bool {
	switch {
	case at.node != nil:
		return lab.owns(at.node, a)
	case at.pod != nil:
		return slices.Contains(at.pod.Addrs, a)
	case at.client != nil:
		return slices.Contains(at.client.Addrs, a)
	}
	return at.wire && slices.ContainsFunc(lab.Network.NodeCIDRs, func(c netip.Prefix) bool { return c.Addr().Next() == a })
}

// listener finds who listens at a place.
func (at place) listener(lab *Lab, protocol Protocol, port uint16) (End, bool) {
	listens := func(ports []Port) bool {
		return slices.ContainsFunc(ports, func(p Port) bool { return p.Protocol == protocol && p.Number == port })
	}
	switch {
	case at.client != nil:
		return End{Answer: at.client.Name}, listens(at.client.Ports)
	case at.pod != nil:
		return End{Answer: at.pod.AgentName(), Node: at.pod.Node.Name}, len(at.pod.Command) == 0 && listens(at.pod.Ports)
	case at.node != nil:
		for _, p := range at.node.Pods {
			if p.HostNetwork && len(p.Command) == 0 && listens(p.Ports) {
				return End{Answer: p.AgentName(), Node: at.node.Name}, true
			}
		}
		return lab.healthCheckAt(at.node, protocol, port)
	}
	return End{}, false
}

// tunnels reports whether the node's tunnel takes datagrams to an address and port:
// only those from other tunnels mean something to it, and it answers none.
func (lab *Lab) tunnels(n *Node, to netip.Addr, port uint16) bool {
	return lab.Network.Mode == modeVXLAN && int(port) == lab.Network.VXLAN.Port && to.Is6() == n.Addrs[0].Is6()
}

// owns reports whether an address is one of a node's own: on the wire, of its bridge
// or of its tunnel, or a loopback address.
func (lab *Lab) owns(n *Node, a netip.Addr) bool {
	if slices.Contains(n.Addrs, a) || a.IsLoopback() {
		return true
	}
	for _, cidr := range n.PodCIDRs {
		if a == cidr.Addr().Next() || a == cidr.Addr() && lab.Network.Mode == modeVXLAN {
			return true
		}
	}
	return false
}

// placeOf finds who has an address.
func (lab *Lab) placeOf(a netip.Addr) place {
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
	if (place{wire: true}).has(lab, a) {
		return place{wire: true}
	}
	return place{}
}

// modeVXLAN is the pod network in which nodes reach each other's pods by a tunnel.
const modeVXLAN = "vxlan"

// hop is where a node sends a packet.
type hop struct {
	to  place
	own netip.Addr // the node's address on the link that leads there
}

// way is a route of a host: of those to a destination the longest prefix counts, and
// of equal ones the first.
type way struct {
	to  netip.Prefix
	via []netip.Addr // nil: on the link
	pod *Node        // or to the pods of a node
}

func choose(ways []way, dst netip.Addr) (best way, ok bool) {
	for _, w := range ways {
		if w.to.Contains(dst) && (!ok || w.to.Bits() > best.to.Bits()) {
			best, ok = w, true
		}
	}
	return best, ok
}

// nodeHop is where a node sends what is not for itself: to its pods, to the node of
// other pods, to its neighbours, else to the wire's own address, where it is lost.
func (lab *Lab) nodeHop(n *Node, dst netip.Addr) hop {
	var ways []way
	for _, cidr := range lab.Network.NodeCIDRs {
		ways = append(ways, way{to: cidr})
	}
	for _, r := range n.Routes {
		ways = append(ways, way{to: r.To.Masked(), via: []netip.Addr{r.Via}})
	}
	for _, m := range lab.Nodes {
		for _, cidr := range m.PodCIDRs {
			ways = append(ways, way{to: cidr, pod: m})
		}
	}
	w, ok := choose(ways, dst)
	own := ofFamily(n.Addrs, dst.Is6())
	switch {
	case !ok:
		return hop{place{wire: true}, own}
	case w.pod == n:
		return hop{lab.podAt(dst), w.to.Addr().Next()}
	case w.pod != nil && lab.Network.Mode == modeVXLAN && !lab.Network.VXLAN.DirectRouting:
		return hop{place{node: w.pod}, ofFamilyPrefix(n.PodCIDRs, dst.Is6()).Addr()}
	case w.pod != nil:
		return hop{place{node: w.pod}, own}
	case w.via != nil:
		return hop{lab.placeOf(w.via[0]), own}
	}
	return hop{lab.placeOf(dst), own}
}

func (lab *Lab) podAt(a netip.Addr) place {
	if at := lab.placeOf(a); at.pod != nil {
		return at
	}
	return place{}
}

// clientHops are the hosts that a client sends to for a destination. The outside
// knows a way to the external and load balancer addresses of services, by way of one
// or several nodes; to cluster IPs only as far as somebody wrote it.
func (lab *Lab) clientHops(c *Client, dst netip.Addr) []place {
	var ways []way
	for _, cidr := range lab.Network.NodeCIDRs {
		ways = append(ways, way{to: cidr})
	}
	for _, r := range c.Routes {
		ways = append(ways, way{to: r.To.Masked(), via: []netip.Addr{r.Via}})
	}
	for _, sv := range lab.Services {
		if via := sv.announces(dst); via != nil {
			ways = append(ways, way{to: netip.PrefixFrom(dst, dst.BitLen()), via: via})
		}
	}
	w, ok := choose(ways, dst)
	switch {
	case !ok && c.Gateway.Is6() == dst.Is6():
		return []place{lab.placeOf(c.Gateway)}
	case !ok:
		return []place{{wire: true}}
	case w.via == nil:
		return []place{lab.placeOf(dst)}
	}
	var out []place
	for _, a := range w.via {
		out = append(out, lab.placeOf(a))
	}
	return out
}

// announces returns the nodes that the outside sends packets for an address to, by
// their addresses. Load balancers of mode Proxy keep theirs, and an address of one
// of the nodes needs no announcement.
func (sv *Service) announces(a netip.Addr) []netip.Addr {
	vip := slices.ContainsFunc(sv.LoadBalancers, func(l LoadBalancerIP) bool { return l.Addr == a && !l.Proxy })
	if !vip && !slices.Contains(sv.ExternalIPs, a) {
		return nil
	}
	var via []netip.Addr
	for _, n := range sv.Via {
		if own := ofFamily(n.Addrs, a.Is6()); own.IsValid() {
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
func (lab *Lab) sourceOf(n *Node, dst netip.Addr) netip.Addr {
	switch {
	case dst.IsLoopback():
		return loopbackOf(dst)
	case lab.holds(n, dst):
		return dst
	}
	return lab.nodeHop(n, dst).own
}

// egress is what masquerade on a node writes: the address of the link that leads to
// the destination. On the way to itself that is the address of the node.
func (lab *Lab) egress(n *Node, dst netip.Addr) netip.Addr {
	if lab.holds(n, dst) {
		return ofFamily(n.Addrs, dst.Is6())
	}
	return lab.nodeHop(n, dst).own
}

// podNetworkMasquerades reports whether the pod network gives a packet that leaves a
// node that node's address. Packets from pods keep theirs on the way to pods; on
// the way elsewhere they do not, but to nodes where the lab says so. Packets from
// outside keep theirs on the way to pods of this node, and not to pods of others,
// whose reply would not come back here.
func (lab *Lab) podNetworkMasquerades(n *Node, src, dst netip.Addr) bool {
	six := dst.Is6()
	pods, mine := ofFamilyPrefix(lab.Network.PodCIDRs, six), ofFamilyPrefix(n.PodCIDRs, six)
	fromPod, toPod := pods.Contains(src), pods.Contains(dst)
	switch {
	case mine.Contains(dst):
		return false
	case !fromPod:
		return toPod
	case mine.Contains(src) && toPod:
		return false
	case lab.Network.KeepSourceToNodes:
		toNode := slices.ContainsFunc(lab.Nodes, func(n *Node) bool { return slices.Contains(n.Addrs, dst) })
		return !toPod && !toNode
	}
	// flannel does not tell a pod of another node, which sent its packet here to be
	// sent on, from one that leaves the cluster.
	return true
}

func ofFamily(addrs []netip.Addr, six bool) netip.Addr {
	for _, a := range addrs {
		if a.Is6() == six {
			return a
		}
	}
	return netip.Addr{}
}

func ofFamilyPrefix(list []netip.Prefix, six bool) netip.Prefix {
	for _, p := range list {
		if p.Addr().Is6() == six {
			return p
		}
	}
	return netip.Prefix{}
}

func loopbackOf(a netip.Addr) netip.Addr {
	if a.Is6() {
		return netip.IPv6Loopback()
	}
	return netip.AddrFrom4([4]byte{127, 0, 0, 1})
}
