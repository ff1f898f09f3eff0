package podnet

import (
	"net/netip"

	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/datapath/plan/occupant"
	"github.com/netlab/netlab/topology"
)

// Userspace is the tunnel of a mode whose packets a program on each node carries in UDP
// datagrams, between the first addresses of the nodes.
type Userspace struct {
	Device string // the TUN device
	Port   int
	Secret string
}

// Overhead is what such a tunnel adds to a packet: some bytes of its own, and the UDP and
// outer IP headers.
func Overhead(own int) [2]int { return [2]int{own + headers4, own + headers6} }

// UDP and outer IP header.
const (
	headers4 = 8 + 20
	headers6 = 8 + 40
)

// Compile returns the plan of the lab with such a tunnel on each node.
func (u Userspace) Compile(lab *topology.Lab) *plan.Plan {
	mtu := lab.Network.PodMTU(lab.Network.PathMTU, false)
	return Bridged(lab, mtu, func(node *topology.Node, n *plan.Netns) {
		o := NodeOrigin(node)
		n.Links = append(n.Links, plan.Link{Name: u.Device, Type: plan.TUN, MTU: mtu, Origin: o})
		for i, cidr := range node.PodCIDRs {
			n.Addrs = append(n.Addrs, plan.Addr{Link: u.Device, Prefix: topology.Single(cidr.Masked().Addr()), Origin: o})
			n.Routes = append(n.Routes, plan.Route{To: lab.Network.PodCIDRs[i], Dev: u.Device, Origin: NetworkOrigin(lab)})
		}
		n.Tunnels = append(n.Tunnels, u.tunnel(lab, node, o))
	})
}

// tunnel is the program of a node: it knows which node has which pods.
func (u Userspace) tunnel(lab *topology.Lab, node *topology.Node, o plan.Origin) occupant.Tunnel {
	at := func(n *topology.Node) netip.AddrPort { return netip.AddrPortFrom(n.Addrs[0], uint16(u.Port)) }
	t := occupant.Tunnel{Link: u.Device, At: at(node), Pods: node.PodCIDRs, Secret: u.Secret, Origin: o}
	for _, remote := range lab.Nodes {
		if remote == node {
			continue
		}
		for _, cidr := range remote.PodCIDRs {
			t.Peers = append(t.Peers, occupant.TunnelPeer{Pods: cidr, Node: at(remote), Origin: NodeOrigin(remote)})
		}
	}
	return t
}
