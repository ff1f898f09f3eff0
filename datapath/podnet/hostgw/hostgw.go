package hostgw

import (
	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/datapath/podnet"
	"github.com/netlab/netlab/topology"
)

// Mode is the mode host-gw.
type Mode struct{}

var _ podnet.Mode = Mode{}

// Name is host-gw.
func (Mode) Name() string { return "host-gw" }

// Facts says that nodes route to each other's pods.
func (Mode) Facts() topology.NetworkFacts {
	return topology.NetworkFacts{
		About:  "each node has a plain route to the pods of every other node",
		Limits: "all nodes on one link",
		Routed: true,
	}
}

// Compile returns the plan of the lab with a route to every other node's pods.
func (Mode) Compile(lab *topology.Lab) (*plan.Plan, error) {
	return podnet.Bridged(lab, lab.Network.MTU, func(node *topology.Node, n *plan.Netns) {
		for _, remote := range lab.Nodes {
			if remote != node {
				n.Routes = append(n.Routes, podnet.RoutesTo(remote)...)
			}
		}
	}), nil
}
