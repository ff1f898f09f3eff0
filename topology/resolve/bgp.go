package resolve

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/netlab/netlab/topology"
	"github.com/netlab/netlab/topology/resolve/draft"
)

const (
	defaultAS = 64512         // Calico's, the first of those for private use (RFC 6996)
	maxAS     = math.MaxInt32 // the language has no larger whole numbers; RFC 6793 has
)

// resolveBGP resolves who learns routes by BGP, and from whom.
func (r *resolver) resolveBGP() {
	s, n := &r.Spec.Network.BGP, &r.Lab.Network
	if s.Written {
		n.BGP = &topology.BGP{AS: uint32(r.Number(s.AS, "AS number", defaultAS, 1, maxAS)), Origin: s.Origin}
		r.reflectors(s.Reflectors)
	}
	if !n.Mode.LearnsRoutes {
		n.BGP = nil // which is a mistake unless the mode varies
	}
	taken := map[int]owner{}
	if n.BGP != nil {
		taken[int(n.BGP.AS)] = owner{"the nodes", s.AS.Origin}
	}
	for _, rs := range r.Spec.Routers {
		if rs.BGP.Written {
			r.routerBGP(rs, taken)
		}
	}
	if n.BGP != nil && n.BGP.Routers {
		for _, rs := range r.Spec.Routers {
			if !rs.BGP.Written {
				r.Of("router", rs.Written.Block, rs.Written.Key)
				r.Errorf(draft.At(rs.Written.Named, rs.Origin), "Router without BGP", "Router %q has no bgp block, but others have: what they announce would end here. Give all routers one, each with an as of its own, or none.", rs.Name)
			}
		}
	}
	r.Of("", "", "")
}

// reflectors resolves the route reflectors.
func (r *resolver) reflectors(o topology.Opt[[]string]) {
	b := r.Lab.Network.BGP
	for _, name := range o.Value {
		switch n := r.Nodes[name]; {
		case n == nil:
			r.Undeclared("node", name, maps.Keys(r.Nodes), draft.At(o.Origin))
		case b.Reflects(n):
			r.Errorf(draft.At(o.Origin), "Duplicate route reflector", "Node %q is listed twice. Remove one.", name)
		default:
			b.Reflectors = append(b.Reflectors, n)
		}
	}
}

// owner is who has an AS number, and where that is written.
type owner struct {
	name   string
	origin topology.Origin
}

// routerBGP resolves the bgp block of a router.
func (r *resolver) routerBGP(s topology.RouterSpec, taken map[int]owner) {
	r.Of("router", s.Written.Block, s.Written.Key)
	i := slices.IndexFunc(r.Lab.Routers, func(out *topology.Router) bool { return out.Name == s.Name })
	if !s.BGP.AS.Set && s.BGP.AS.Origin == (topology.Origin{}) {
		r.Errorf(draft.At(s.BGP.Origin), "Missing AS number", "The bgp block of router %q has no as. Add as = %d, the number of its autonomous system.", s.Name, freeAS(taken))
	}
	if i < 0 || !s.BGP.AS.Set {
		return
	}
	n, as := &r.Lab.Network, r.Number(s.BGP.AS, "AS number", 0, 1, maxAS)
	switch {
	case n.BGP == nil && !r.Spec.Network.BGP.Written:
		r.Errorf(draft.At(s.BGP.Origin), "Router without peers", "Router %q speaks BGP, but the nodes do not. Add a bgp block to the network block, or remove this one.", s.Name)
		return
	case n.BGP == nil:
		return
	case taken[as].name != "":
		r.Errorf(draft.At(s.BGP.AS.Origin), "AS number taken", "The AS number %d is that of %s, set %s. Each refuses what has been in its own AS before. Choose another one, such as %d.",
			as, taken[as].name, taken[as].origin.SeenFrom(s.BGP.AS.Origin), freeAS(taken))
		return
	}
	taken[as] = owner{fmt.Sprintf("router %q", s.Name), s.BGP.AS.Origin}
	r.Lab.Routers[i].AS, n.BGP.Routers = uint32(as), true
}

// freeAS is the first number for private use that nobody has.
func freeAS(taken map[int]owner) int {
	as := defaultAS + 1
	for taken[as].name != "" {
		as++
	}
	return as
}
