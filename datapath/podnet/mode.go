package podnet

import (
	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/topology"
)

// Mode carries packets between the pods of different nodes. Package meaning reads what
// it promises, so that it need not know the mode.
type Mode struct {
	topology.NetworkMode
	// Compile returns the plan of the lab without services and agents, in
	// canonical order. Equal labs have equal plans.
	Compile func(lab *topology.Lab) *plan.Plan
}

// origin is a place in the scenario, as the plan records it.
func origin(object string, o topology.Origin) plan.Origin {
	return plan.Origin{Object: object, File: o.File, Line: o.Line}
}

// NodeOrigin is the origin of what serves a node.
func NodeOrigin(n *topology.Node) plan.Origin { return origin("node "+n.Name, n.Origin) }

// NetworkOrigin is the origin of what serves the network as a whole.
func NetworkOrigin(lab *topology.Lab) plan.Origin { return origin("network", lab.Network.Origin) }
