package podnet

import (
	"net/netip"
	"slices"

	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/datapath/plan/bgp"
	"github.com/netlab/netlab/topology"
)

// Exchange gives a node the routes to the blocks of all others, as a routing daemon sets
// them. Without BGP they are written down. With BGP the node gets a speaker, and learns which
// blocks there are and whose they are; what routesTo returns is then only how the node
// reaches each of the others.
func Exchange(lab *topology.Lab, node *topology.Node, n *plan.Netns, routesTo func(remote *topology.Node) []plan.Route) {
	var hops []bgp.Hop
	for _, remote := range lab.Nodes {
		if remote == node {
			continue
		}
		for _, r := range routesTo(remote) {
			if r.Protocol = plan.Bird; lab.Network.BGP == nil {
				n.Routes = append(n.Routes, r)
			}
			hops = append(hops, bgp.Hop{To: r.Via, Via: r.Via, Dev: r.Dev, OnLink: r.OnLink})
		}
		if lab.Network.BGP != nil && lab.Network.BGP.Routers {
			hops = append(hops, behindRouters(n, remote, hops)...)
		}
	}
	if lab.Network.BGP != nil {
		n.Speakers = append(n.Speakers, nodeSpeaker(lab, node, n, hops))
	}
}

// behindRouters are the hops to a node that is not on the link: via the gateways that lead to
// it, which know its pods, too (in bird: gateway recursive).
func behindRouters(n *plan.Netns, remote *topology.Node, known []bgp.Hop) (hops []bgp.Hop) {
	for _, a := range remote.Addrs {
		if slices.ContainsFunc(known, func(h bgp.Hop) bool { return h.To == a }) {
			continue
		}
		best := -1
		for i, r := range n.Routes {
			if r.Via.IsValid() && r.To.Contains(a) && (best < 0 || r.To.Bits() > n.Routes[best].To.Bits()) {
				best = i
			}
		}
		if best >= 0 {
			r := n.Routes[best]
			hops = append(hops, bgp.Hop{To: a, Via: r.Via, More: r.More, Dev: r.Dev})
		}
	}
	return hops
}

// nodeSpeaker is the speaker of a node: it announces the node's block to all its peers.
func nodeSpeaker(lab *topology.Lab, node *topology.Node, n *plan.Netns, hops []bgp.Hop) bgp.Speaker {
	b := lab.Network.BGP
	s := bgp.Speaker{AS: b.AS, ID: topology.RouterID(node.Addrs), Announces: node.PodCIDRs, Hops: hops, Written: writtenTo(lab, n), Origin: origin("network", b.Origin)}
	for _, m := range lab.Nodes {
		if b.Peers(node, m) {
			s.Peers = append(s.Peers, bgp.Peer{Name: m.Name, Addr: m.Addrs[0], Local: node.Addrs[0], AS: b.AS, NextHops: node.Addrs,
				Client: b.Reflects(node) && !b.Reflects(m), Origin: NodeOrigin(m)})
		}
	}
	for _, r := range lab.Routers {
		if l := r.LinkTo(node.Subnet); l != nil && r.AS != 0 {
			s.Peers = append(s.Peers, routerPeer(r, l, node.Addrs))
		}
	}
	return s
}

// routerSpeaker is the speaker of a router: it announces nothing of its own, and passes on
// what it hears.
func routerSpeaker(lab *topology.Lab, r *topology.Router, n *plan.Netns) bgp.Speaker {
	s := bgp.Speaker{AS: r.AS, ID: r.ID(), Transit: true, Written: writtenTo(lab, n), Origin: n.Origin}
	reach := func(addrs []netip.Addr, l *topology.RouterLink) {
		for _, a := range addrs {
			s.Hops = append(s.Hops, bgp.Hop{To: a, Via: a, Dev: l.Name})
		}
	}
	for _, l := range r.Links {
		for _, m := range lab.Nodes {
			if m.Subnet == l.Subnet {
				s.Peers = append(s.Peers, bgp.Peer{Name: m.Name, Addr: m.Addrs[0], Local: l.Addrs[0], AS: lab.Network.BGP.AS, NextHops: l.Addrs, Origin: NodeOrigin(m)})
				reach(m.Addrs, l)
			}
		}
		for _, other := range lab.Routers {
			if x := other.LinkTo(l.Subnet); x != nil && other != r {
				s.Peers = append(s.Peers, routerPeer(other, x, l.Addrs))
				reach(x.Addrs, l)
			}
		}
	}
	return s
}

// routerPeer is a router as a peer of whoever has the given addresses on its link.
func routerPeer(r *topology.Router, l *topology.RouterLink, own []netip.Addr) bgp.Peer {
	return bgp.Peer{Name: r.Name, Addr: l.Addrs[0], Local: own[0], AS: r.AS, NextHops: own, Origin: origin("router "+r.Name, r.Origin)}
}

// writtenTo are the blocks to which the scenario itself gives a host a route.
func writtenTo(lab *topology.Lab, n *plan.Netns) (list []netip.Prefix) {
	for _, node := range lab.Nodes {
		for _, cidr := range node.PodCIDRs {
			if hasRoute(n, cidr) {
				list = append(list, cidr)
			}
		}
	}
	return list
}
