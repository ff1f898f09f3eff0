package resolve

import (
	"cmp"
	"slices"

	"github.com/netlab/netlab/topology"
	"github.com/netlab/netlab/topology/ipam"
	"github.com/netlab/netlab/topology/resolve/draft"
	"github.com/netlab/netlab/topology/resolve/ingresses"
	"github.com/netlab/netlab/topology/resolve/policies"
	"github.com/netlab/netlab/topology/resolve/services"
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
		Draft:    draft.New(spec, catalogue),
		subnets:  map[string]*topology.Subnet{},
		underlay: map[*topology.Subnet][]ipam.AddrPool{},
	}
	r.network()
	r.resolveSubnets()
	r.proxy()
	r.addDNS()
	r.addController()
	r.resolveRouters()
	r.resolveNodes()
	r.resolveClients()
	r.resolveNamespaces()
	r.resolvePods()
	services.Resolve(r.Draft)
	ingresses.Resolve(r.Draft)
	r.sort()
	r.resolveBGP()
	r.checkUnderlay()
	r.checkSharedCIDR()
	r.checkOnlyIPv4()
	policies.Resolve(r.Draft)
	r.agents()
	r.Sort()
	return r.Lab, r.Problems
}

// resolver resolves all but services and policies.
type resolver struct {
	*draft.Draft

	subnets  map[string]*topology.Subnet
	underlay map[*topology.Subnet][]ipam.AddrPool // one per family
	podPools map[*topology.Node][]ipam.AddrPool
}

// sort brings every list of the lab into the order of names.
func (r *resolver) sort() {
	slices.SortFunc(r.Lab.Subnets[1:], func(a, b *topology.Subnet) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortFunc(r.Lab.Routers, func(a, b *topology.Router) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortFunc(r.Lab.Nodes, func(a, b *topology.Node) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortFunc(r.Lab.Clients, func(a, b *topology.Client) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortFunc(r.Lab.Namespaces, func(a, b *topology.Namespace) int { return cmp.Compare(a.Name, b.Name) })
	byName := func(a, b *topology.Pod) int { return draft.ByNamespace(a.Namespace, b.Namespace, a.Name, b.Name) }
	slices.SortFunc(r.Lab.Pods, byName)
	for _, n := range r.Lab.Nodes {
		slices.SortFunc(n.Pods, byName)
	}
	slices.SortFunc(r.Lab.Services, func(a, b *topology.Service) int { return draft.ByNamespace(a.Namespace, b.Namespace, a.Name, b.Name) })
	slices.SortFunc(r.Lab.Gateways, func(a, b *topology.Gateway) int { return draft.ByNamespace(a.Namespace, b.Namespace, a.Name, b.Name) })
	slices.SortFunc(r.Lab.Grants, func(a, b *topology.ReferenceGrant) int {
		return draft.ByNamespace(a.Namespace, b.Namespace, a.Name, b.Name)
	})
	slices.SortFunc(r.Lab.HTTPRoutes, func(a, b *topology.HTTPRoute) int { return draft.ByNamespace(a.Namespace, b.Namespace, a.Name, b.Name) })
	slices.SortFunc(r.Lab.Ingresses, func(a, b *topology.Ingress) int { return draft.ByNamespace(a.Namespace, b.Namespace, a.Name, b.Name) })
}

// pick is Enum for the names of a catalogue, the default first: it returns which one.
func (r *resolver) pick(o topology.Opt[string], what string, names, planned []string) int {
	return slices.Index(names, r.Enum(o, what, names[0], names, planned))
}
