package datapath

import (
	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/datapath/podnet"
	"github.com/netlab/netlab/topology"
)

// addLinks makes links as slow, lossy and narrow as the lab says: what an object sends
// meets the queueing discipline of its uplink, or of a router's link.
func addLinks(lab *topology.Lab, netns map[string]*plan.Netns) {
	for _, n := range lab.Nodes {
		impair(netns[n.Netns()], podnet.Uplink, n.Link, "node "+n.Name)
		if mtu := n.Link.MTU; mtu != 0 {
			narrowNode(lab, n, netns)
		}
	}
	for _, r := range lab.Routers {
		for _, l := range r.Links {
			impair(netns[r.Netns()], l.Name, l.Link, "router "+r.Name)
			narrow(netns, r.Netns(), l.Name, l.Link.MTU)
		}
	}
	for _, c := range lab.Clients {
		impair(netns[c.Netns()], podnet.Uplink, c.Link, "client "+c.Name)
		narrow(netns, c.Netns(), podnet.Uplink, c.Link.MTU)
	}
	for _, p := range lab.Pods {
		if !p.HostNetwork {
			impair(netns[p.Netns()], podnet.Uplink, p.Link, "pod "+p.AgentName())
			narrow(netns, p.Netns(), podnet.Uplink, p.Link.MTU)
		}
	}
}

func impair(n *plan.Netns, dev string, l topology.Link, object string) {
	if l.Delay == 0 && l.Jitter == 0 && l.Loss == 0 && l.Rate == 0 {
		return
	}
	n.Qdiscs = append(n.Qdiscs, plan.Qdisc{Link: dev, Delay: l.Delay, Jitter: l.Jitter, Loss: l.Loss, Rate: l.Rate,
		Origin: plan.Origin{Object: object, File: l.Origin.File, Line: l.Origin.Line}})
}

// narrowNode gives a node a smaller MTU. The MTU of its tunnels and pods shrinks by as
// much, as with a network plugin that derives it from the node's link.
func narrowNode(lab *topology.Lab, node *topology.Node, netns map[string]*plan.Netns) {
	n := netns[node.Netns()]
	less := max(0, lab.Network.PathMTU-node.Link.MTU)
	for i := range n.Links {
		switch l := &n.Links[i]; {
		case l.Name == podnet.Uplink:
			narrow(netns, n.Name, l.Name, node.Link.MTU)
		case l.Type != plan.Veth && l.Type != plan.Dummy: // tunnels, and the pods' bridge
			l.MTU -= less
		}
	}
	for _, p := range node.Pods {
		if !p.HostNetwork {
			narrow(netns, p.Netns(), podnet.Uplink, mtuOf(netns[p.Netns()], podnet.Uplink)-less)
		}
	}
}

// narrow gives both ends of a veth pair an MTU; 0 changes nothing.
func narrow(netns map[string]*plan.Netns, name, link string, mtu int) {
	if mtu == 0 {
		return
	}
	if l := linkOf(netns[name], link); l != nil {
		l.MTU = mtu
		if far := linkOf(netns[l.Peer.Netns], l.Peer.Link); far != nil {
			far.MTU = mtu
		}
	}
}

func mtuOf(n *plan.Netns, link string) int {
	if l := linkOf(n, link); l != nil {
		return l.MTU
	}
	return 0
}

func linkOf(n *plan.Netns, name string) *plan.Link {
	if n == nil {
		return nil
	}
	for i := range n.Links {
		if n.Links[i].Name == name {
			return &n.Links[i]
		}
	}
	return nil
}
