package policy

import (
	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/topology"
)

// Style enforces network policies by chains and sets of one layout.
type Style struct {
	topology.PolicyStyle
	// Compile returns what the style adds to the network namespace of a node with pods that
	// policies select. In built-in chains its rules come before those for services and of the
	// pod network, and what it lets pass goes on to them: a service without endpoints
	// refuses those that may reach it. Its sysctls replace others. Equal views have equal
	// results.
	Compile func(v View) (plan.Netns, error)
}
