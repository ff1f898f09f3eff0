package service

import (
	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/topology"
)

// Backend programs services with one of the kernel's mechanisms.
type Backend interface {
	// Name is the backend's name in scenarios: the proxy's mode.
	Name() string
	// Facts is what the backend promises. Package meaning reads them, so that it need
	// not know the backend.
	Facts() topology.ProxyFacts
	// Compile returns what the backend adds to a node's network namespace. In
	// built-in chains its rules come before those of the pod network, and its
	// sysctls replace others. Equal views have equal results.
	Compile(v View) (plan.Netns, error)
}
