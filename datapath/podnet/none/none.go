package none

import (
	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/datapath/podnet"
	"github.com/netlab/netlab/topology"
)

// Mode is the mode none.
func Mode() podnet.Mode {
	return podnet.Mode{Compile: compile, NetworkMode: topology.NetworkMode{
		Name:   "none",
		About:  "bridges and masquerading only, no routes between nodes",
		Limits: "no pod reaches a pod of another node, unless the scenario writes the routes",
	}}
}

// compile returns the plan of the lab without anything that leads to other nodes' pods.
func compile(lab *topology.Lab) *plan.Plan {
	return podnet.Bridged(lab, lab.Network.PathMTU, func(*topology.Node, *plan.Netns) {})
}
