package draft

import (
	"cmp"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/netlab/netlab/topology"
)

// Node is the node of a name; nil: there is none, which is reported.
func (d *Draft) Node(name string, origins ...topology.Origin) *topology.Node {
	if d.Nodes[name] == nil {
		d.Undeclared("node", name, maps.Keys(d.Nodes), origins)
	}
	return d.Nodes[name]
}

// Undeclared reports a name that no object of a kind has.
func (d *Draft) Undeclared(kind, name string, known iter.Seq[string], origins []topology.Origin) {
	if strings.HasPrefix(name, kind+".") {
		d.Errorf(origins, "Unknown "+kind, "There is no %s %q. Write %s without quotes.", kind, Shorten(name), Shorten(name))
		return
	}
	d.Errorf(origins, "Unknown "+kind, "There is no %s %q.%s Declare it with %s %q {}.",
		kind, Shorten(name), topology.DidYouMean(name, slices.Sorted(known)), kind, Shorten(name))
}

// Namespace is the namespace that an object names, or default.
func (d *Draft) Namespace(o topology.Opt[string]) string {
	name := o.Or(topology.DefaultNamespace)
	if d.Namespaces[name] != nil {
		return name
	}
	d.Undeclared("namespace", name, maps.Keys(d.Namespaces), At(o.Origin))
	return topology.DefaultNamespace
}

// ByNamespace compares namespaces, then names.
func ByNamespace(a, b, nameOfA, nameOfB string) int {
	return cmp.Or(cmp.Compare(a, b), cmp.Compare(nameOfA, nameOfB))
}
