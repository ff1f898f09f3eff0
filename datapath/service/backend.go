package service

import (
	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/topology"
)

// Layout is another layout of a backend's rules.
type Layout struct {
	topology.Layout
	Compile func(v View) plan.Netns
}

// Backend programs services with one of the kernel's mechanisms. Package meaning reads
// what it promises, so that it need not know the backend.
type Backend struct {
	topology.ProxyMode
	// Compile returns what the backend adds to a node's network namespace. In
	// built-in chains its rules come before those of the pod network, and its
	// sysctls replace others. Equal views have equal results.
	Compile func(v View) plan.Netns
	// Others are the layouts that others compile.
	Others []Layout
}

// Rules returns what the backend adds, in the lab's layout.
func (b *Backend) Rules(v View) plan.Netns {
	for _, l := range b.Others {
		if l.Name == v.Lab.Proxy.Layout {
			return l.Compile(v)
		}
	}
	return b.Compile(v)
}
