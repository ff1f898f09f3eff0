package service

import (
	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/topology"
)

// Backend programs services with one of the kernel's mechanisms. Package meaning reads
// what it promises, so that it need not know the backend.
type Backend struct {
	topology.ProxyMode
	// Compile returns what the backend adds to a node's network namespace. In
	// built-in chains its rules come before those of the pod network, and its
	// sysctls replace others. Equal views have equal results.
	Compile func(v View) plan.Netns
}
