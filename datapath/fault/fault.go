package fault

import (
	"fmt"
	"slices"

	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/topology"
)

// kind is a kind of fault and what it does to a plan. It returns why there is nothing to
// break.
type kind struct {
	topology.FaultKind
	apply func(d *damage) error
}

func kinds() []kind {
	return slices.Concat(routes(), tunnels(), filters(), sizes())
}

// Kinds are all kinds of faults.
func Kinds() (out []topology.FaultKind) {
	for _, k := range kinds() {
		out = append(out, k.FaultKind)
	}
	return out
}

// Apply returns the plan of a lab with a fault in it. The error says why there is nothing to
// break. The plan itself stays as it is.
func Apply(lab *topology.Lab, p *plan.Plan, f *topology.Fault) (*plan.Plan, error) {
	i := slices.IndexFunc(kinds(), func(k kind) bool { return k.Name == f.Kind.Name })
	if i < 0 {
		return nil, fmt.Errorf("unknown kind of fault %q", f.Kind.Name)
	}
	d := &damage{lab: lab, fault: f, plan: &plan.Plan{Lab: p.Lab, Netns: slices.Clone(p.Netns)}}
	if err := kinds()[i].apply(d); err != nil {
		return nil, err
	}
	d.plan.Sort()
	return d.plan, nil
}

// damage is a fault being applied. Namespaces are copied before they are changed; lists in
// them are replaced, never written to.
type damage struct {
	lab   *topology.Lab
	fault *topology.Fault
	plan  *plan.Plan
}

// node is the namespace of the fault's node.
func (d *damage) node() *plan.Netns { return d.netns(d.fault.Node.Netns()) }

func (d *damage) netns(name string) *plan.Netns {
	i := slices.IndexFunc(d.plan.Netns, func(n plan.Netns) bool { return n.Name == name })
	return &d.plan.Netns[i]
}

// origin is the fault, as the origin of what it adds.
func (d *damage) origin() plan.Origin {
	o := d.fault.Origin
	return plan.Origin{Object: "fault " + d.fault.Name, File: o.File, Line: o.Line}
}

// mode names the network mode, for errors.
func (d *damage) mode() string { return "network mode " + d.lab.Network.Mode.Name }

// without returns a list without some elements, and whether there were any.
func without[T any](list []T, is func(T) bool) ([]T, bool) {
	out := slices.DeleteFunc(slices.Clone(list), is)
	return out, len(out) < len(list)
}
