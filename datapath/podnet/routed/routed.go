package routed

import (
	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/datapath/podnet"
	"github.com/netlab/netlab/topology"
)

// Mode is the mode routed.
func Mode() podnet.Mode {
	return podnet.Mode{Compile: compile, NetworkMode: topology.NetworkMode{
		Name:   "routed",
		About:  "no bridge: a route to each pod, and routes between nodes as BGP would set them",
		Limits: "all nodes on one link, unless routers speak BGP; with virtual servers and IPv6, a node dials its own pods from any service's address",
		Routed: true, PodRoutes: true, LearnsRoutes: true, DiscardsUnused: true, KeepsOutside: true, PodLinks: "cali",
	}}
}

// compile returns the plan of the lab with a route to every other node's block.
func compile(lab *topology.Lab) *plan.Plan {
	return podnet.Routed(lab, lab.Network.PathMTU, func(node *topology.Node, n *plan.Netns) {
		podnet.DiscardUnused(node, n)
		podnet.Exchange(lab, node, n, func(remote *topology.Node) []plan.Route {
			if !lab.Network.SameLink(node, remote) {
				return nil
			}
			return podnet.RoutesTo(remote)
		})
	}, podnet.CalicoMasquerade)
}
