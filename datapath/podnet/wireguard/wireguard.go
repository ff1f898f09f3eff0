package wireguard

import (
	"net/netip"

	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/datapath/plan/occupant"
	"github.com/netlab/netlab/datapath/podnet"
	"github.com/netlab/netlab/topology"
)

const (
	device   = "flannel-wg"
	port     = 51820
	overhead = 16 + 16 // the header of a packet: type, receiver and counter; and its tag
)

// Mode is the mode wireguard.
func Mode() podnet.Mode {
	return podnet.Mode{Compile: compile, NetworkMode: topology.NetworkMode{
		Name:   "wireguard",
		About:  "a WireGuard device on each node encrypts packets and carries them in UDP datagrams",
		Limits: "60 bytes less MTU for pods, 80 over IPv6; in user space where the kernel lacks WireGuard",
		Routed: true, Tunnel: topology.WireGuardTunnel, Overhead: podnet.Overhead(overhead), Port: port, NodeKeys: true,
	}}
}

// compile returns the plan of the lab with a WireGuard device on each node, which has every
// other node as a peer.
func compile(lab *topology.Lab) *plan.Plan {
	mtu := lab.Network.PodMTU(lab.Network.PathMTU, false)
	return podnet.Bridged(lab, mtu, func(node *topology.Node, n *plan.Netns) {
		o := podnet.NodeOrigin(node)
		n.Links = append(n.Links, plan.Link{Name: device, Type: plan.WireGuard, MTU: mtu, Origin: o})
		for _, cidr := range node.PodCIDRs {
			n.Addrs = append(n.Addrs, plan.Addr{Link: device, Prefix: topology.Single(cidr.Masked().Addr()), Origin: o})
		}
		t := occupant.Tunnel{Link: device, At: netip.AddrPortFrom(netip.IPv6Unspecified(), port), Key: occupant.Key(node.Key), Origin: o}
		for _, remote := range lab.Nodes {
			if remote == node {
				continue
			}
			allow := func(from netip.Prefix) {
				t.Peers = append(t.Peers, occupant.TunnelPeer{Pods: from, Node: netip.AddrPortFrom(remote.Addrs[0], port),
					Key: occupant.Key(remote.Key).Public(), Origin: podnet.NodeOrigin(remote)})
			}
			for _, cidr := range remote.PodCIDRs {
				allow(cidr)
				n.Routes = append(n.Routes, route(cidr, remote))
			}
			for _, a := range remote.Addrs {
				allow(topology.Single(a)) // what the node itself answers pods with their own address
			}
		}
		n.Tunnels = append(n.Tunnels, t)
	})
}

// route leads to the pods of another node. The kernel takes the first address of an IPv6
// route on a link for an anycast address (ipv6_anycast_destination in include/net/ip6_route.h),
// to which it sends no errors; it is the node's own, which a next hop says.
func route(cidr netip.Prefix, remote *topology.Node) plan.Route {
	r := plan.Route{To: cidr, Dev: device, Origin: podnet.NodeOrigin(remote)}
	if first := cidr.Masked().Addr(); first.Is6() {
		r.Via, r.OnLink = first, true
	}
	return r
}
