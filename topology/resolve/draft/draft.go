package draft

import "github.com/netlab/netlab/topology"

// Draft is a lab that is being resolved.
type Draft struct {
	// Problems are the mistakes found so far.
	topology.Problems
	// Spec is the lab as written, and Catalogue what it can choose from.
	Spec      *topology.Spec
	Catalogue topology.Catalogue
	// Lab is the lab as far as it is resolved.
	Lab *topology.Lab

	// Nodes and Namespaces are those of the lab by name; Declared are the nodes in the
	// order of the scenario.
	Nodes      map[string]*topology.Node
	Declared   []*topology.Node
	Namespaces map[string]*topology.Namespace

	instance string // the address of the object at hand, if its block made several
}

// New is a draft of a lab of which nothing is decided but its name.
func New(spec *topology.Spec, catalogue topology.Catalogue) *Draft {
	return &Draft{
		Spec:       spec,
		Catalogue:  catalogue,
		Lab:        &topology.Lab{Name: spec.Name},
		Nodes:      map[string]*topology.Node{},
		Namespaces: map[string]*topology.Namespace{},
	}
}
