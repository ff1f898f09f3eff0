package service

import "github.com/netlab/netlab/datapath/plan"

// Backend programs services by one of the kernel's means.
type Backend interface {
	// Name is the backend's name in scenarios: the proxy's mode.
	Name() string
	// Compile returns what the backend adds to a node's network namespace. In
	// built-in chains its rules come before those of the pod network, and its
	// sysctls replace others. Equal views have equal results.
	Compile(v View) (plan.Netns, error)
}
