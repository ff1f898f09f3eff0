package ipip

import (
	"net/netip"
	"slices"

	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/datapath/podnet"
	"github.com/netlab/netlab/topology"
)

// overhead is the outer IPv4 header.
const overhead = 20

// device is the tunnel of every node.
const device = "tunl0"

// Mode is the mode ipip.
func Mode() podnet.Mode {
	return podnet.Mode{Compile: compile, NetworkMode: topology.NetworkMode{
		Name:   "ipip",
		About:  "as routed, but IPv4 packets between nodes travel inside IPv4 packets",
		Limits: "20 bytes less MTU for pods; IPv6 is routed without a tunnel",
		Routed: true, Tunnel: topology.IPIPTunnel, Overhead: [2]int{overhead, overhead},
		PodRoutes: true, LearnsRoutes: true, DiscardsUnused: true, KeepsOutside: true, PodLinks: "cali",
	}}
}

// compile returns the plan of the lab with the tunnel on each node.
func compile(lab *topology.Lab) *plan.Plan {
	mtu := lab.Network.PodMTU(lab.Network.PathMTU, false)
	return podnet.Routed(lab, mtu, func(node *topology.Node, n *plan.Netns) {
		if end := lab.Network.TunnelAddr(node, false); end.IsValid() {
			addTunnel(n, node, end, mtu)
		}
		podnet.DiscardUnused(node, n)
		podnet.Exchange(lab, node, n, func(remote *topology.Node) []plan.Route { return routes(lab, node, remote) })
	}, podnet.CalicoMasquerade)
}

// addTunnel adds the tunnel as the first device: where the module is loaded, it is in a
// namespace before all others. The order matters, since a packet that leaves by a link
// without an address, as those of pods, gets that of the first device that has one.
func addTunnel(n *plan.Netns, node *topology.Node, end netip.Addr, mtu int) {
	o := podnet.NodeOrigin(node)
	n.Links = slices.Insert(n.Links, 0, plan.Link{Name: device, Type: plan.IPIP, MTU: mtu, Origin: o})
	n.Addrs = append(n.Addrs, plan.Addr{Link: device, Prefix: topology.Single(end), Origin: o})
	n.Sysctls = append(n.Sysctls, plan.Sysctl{Key: "net.ipv4.conf." + device + ".rp_filter", Value: "0"})
}

// routes lead to the blocks of another node, by the tunnel where it applies. Its gateways
// are on no link of the tunnel (onlink): they say where the outer packet goes.
func routes(lab *topology.Lab, node, remote *topology.Node) []plan.Route {
	var list []plan.Route
	for _, r := range podnet.RoutesTo(remote) {
		switch {
		case lab.Network.Encapsulates(node, remote, r.To.Addr().Is6()):
			r.Dev, r.OnLink = device, true
		case !lab.Network.SameLink(node, remote):
			continue // no next hop: IPv6 has no tunnel
		}
		list = append(list, r)
	}
	return list
}
