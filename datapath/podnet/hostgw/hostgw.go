package hostgw

import (
	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/datapath/podnet"
	"github.com/netlab/netlab/topology"
)

// Mode is the mode host-gw.
func Mode() podnet.Mode {
	return podnet.Mode{Compile: compile, NetworkMode: topology.NetworkMode{
		Name:   "host-gw",
		About:  "each node has a plain route to the pods of every other node",
		Limits: "all nodes on one link",
		Routed: true,
	}}
}

// compile returns the plan of the lab with a route to the pods of every other node on the
// same link.
func compile(lab *topology.Lab) *plan.Plan {
	return podnet.Bridged(lab, lab.Network.PathMTU, func(node *topology.Node, n *plan.Netns) {
		for _, remote := range lab.Nodes {
			if remote != node && lab.Network.SameLink(node, remote) {
				n.Routes = append(n.Routes, podnet.RoutesTo(remote)...)
			}
		}
	})
}
