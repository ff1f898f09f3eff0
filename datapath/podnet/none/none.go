package none

import (
	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/datapath/podnet"
	"github.com/netlab/netlab/topology"
)

// Mode is the mode none.
type Mode struct{}

var _ podnet.Mode = Mode{}

// Name is none.
func (Mode) Name() string { return "none" }

// Facts says that no node has routes to the pods of other nodes.
func (Mode) Facts() topology.NetworkFacts {
	return topology.NetworkFacts{
		About:  "bridges and masquerading only, no routes between nodes",
		Limits: "no pod reaches a pod of another node, unless the scenario writes the routes",
	}
}

// Compile returns the plan of the lab without anything that leads to other nodes' pods.
func (Mode) Compile(lab *topology.Lab) (*plan.Plan, error) {
	return podnet.Bridged(lab, lab.Network.MTU, func(*topology.Node, *plan.Netns) {}), nil
}
