package resolve

import (
	"cmp"
	"slices"

	"github.com/netlab/netlab/topology"
	"github.com/netlab/netlab/topology/ipam"
)

// Lab turns a lab as written into a lab as resolved: names looked up, defaults
// filled, and every address, MAC and port decided, from the Spec alone. The catalogue
// has the modes and styles that a lab can have.
//
// The Lab is never nil and is as complete as the Spec allows; where a problem is
// an error its parts may be missing, so compile it only when none Failed. The
// problems are in the order of the file.
func Lab(spec *topology.Spec, catalogue topology.Catalogue) (*topology.Lab, topology.Problems) {
	if spec == nil {
		spec = &topology.Spec{}
	}
	r := &resolver{
		spec:       spec,
		catalogue:  catalogue,
		lab:        &topology.Lab{Name: spec.Name},
		nodes:      map[string]*topology.Node{},
		namespaces: map[string]*topology.Namespace{},
		subnets:    map[string]*topology.Subnet{},
		underlay:   map[*topology.Subnet][]ipam.AddrPool{},
	}
	r.network()
	r.resolveSubnets()
	r.proxy()
	r.addDNS()
	r.resolveRouters()
	r.resolveNodes()
	r.resolveClients()
	r.resolveNamespaces()
	r.resolvePods()
	r.resolveServices()
	r.sort()
	r.resolveBGP()
	r.checkUnderlay()
	r.checkSharedCIDR()
	r.checkOnlyIPv4()
	r.resolvePolicies()
	r.Sort()
	return r.lab, r.Problems
}

type resolver struct {
	topology.Problems
	spec      *topology.Spec
	catalogue topology.Catalogue
	lab       *topology.Lab
	instance  string // the address of the object at hand, if its block made several

	nodes      map[string]*topology.Node
	declared   []*topology.Node // in the order of the scenario
	namespaces map[string]*topology.Namespace
	subnets    map[string]*topology.Subnet
	underlay   map[*topology.Subnet][]ipam.AddrPool // one per family
	podPools   map[*topology.Node][]ipam.AddrPool
}

// sort brings every list of the lab into the order of names.
func (r *resolver) sort() {
	slices.SortFunc(r.lab.Subnets[1:], func(a, b *topology.Subnet) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortFunc(r.lab.Routers, func(a, b *topology.Router) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortFunc(r.lab.Nodes, func(a, b *topology.Node) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortFunc(r.lab.Clients, func(a, b *topology.Client) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortFunc(r.lab.Namespaces, func(a, b *topology.Namespace) int { return cmp.Compare(a.Name, b.Name) })
	byName := func(a, b *topology.Pod) int { return inNamespace(a.Namespace, b.Namespace, a.Name, b.Name) }
	slices.SortFunc(r.lab.Pods, byName)
	for _, n := range r.lab.Nodes {
		slices.SortFunc(n.Pods, byName)
	}
	slices.SortFunc(r.lab.Services, func(a, b *topology.Service) int { return inNamespace(a.Namespace, b.Namespace, a.Name, b.Name) })
}

// inNamespace compares namespaces, then names.
func inNamespace(a, b, nameOfA, nameOfB string) int {
	return cmp.Or(cmp.Compare(a, b), cmp.Compare(nameOfA, nameOfB))
}

// enum checks a word against those that are known and those that are planned, and
// returns it, or def where it is absent or unusable.
func (r *resolver) enum(o topology.Opt[string], what, def string, known, planned []string) string {
	word := topology.Word(o.Value, known)
	switch {
	case !o.Set:
		return def
	case word != "" || slices.Contains(known, o.Value):
		return word
	case slices.Contains(planned, o.Value):
		r.errorf(at(o.Origin), "Not supported yet",
			"The %s %q is planned, but this version does not have it. Use %s.", what, o.Value, topology.OneOf(known))
	default:
		r.errorf(at(o.Origin), "Unknown "+what,
			"%q is not a valid %s.%s Use %s.", shorten(o.Value), what, topology.DidYouMean(o.Value, known), topology.OneOf(known))
	}
	return def
}

// pick is enum for the names of a catalogue, the default first: it returns which one.
func (r *resolver) pick(o topology.Opt[string], what string, names, planned []string) int {
	return slices.Index(names, r.enum(o, what, names[0], names, planned))
}

// number checks that a number is between lo and hi, and returns it or def.
func (r *resolver) number(o topology.Opt[int], what string, def, lo, hi int) int {
	if !o.Set {
		return def
	}
	if o.Value < lo || o.Value > hi {
		r.errorf(at(o.Origin), "Number out of range", "The %s %d is out of range. Use a number from %d to %d.", what, o.Value, lo, hi)
		return def
	}
	return o.Value
}

// protocols that ports can have.
func (r *resolver) protocol(o topology.Opt[string]) topology.Protocol {
	return topology.Protocol(r.enum(o, "protocol", string(topology.TCP), []string{string(topology.TCP), string(topology.UDP), string(topology.SCTP)}, nil))
}
