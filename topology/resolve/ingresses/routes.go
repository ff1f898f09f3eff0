package ingresses

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/netlab/netlab/topology"
	"github.com/netlab/netlab/topology/resolve/draft"
)

// Bounds of what a route may say (HTTPRouteSpec in sigs.k8s.io/gateway-api/apis/v1).
const (
	maxWeight  = 1_000_000
	maxHeaders = 16
)

// methods are those that a route may want.
var methods = []string{"GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH"}

// routes resolves the routes of the Gateway API.
func (r *resolver) routes() {
	seen := map[string]topology.Origin{}
	for i := range r.Spec.HTTPRoutes {
		s := &r.Spec.HTTPRoutes[i]
		r.Of("http_route", s.Written.Block, s.Written.Key)
		named := cmp.Or(s.Written.Named, s.Origin)
		x := &topology.HTTPRoute{Name: s.Name, Written: s.Written, Namespace: r.Namespace(s.Namespace), Labels: draft.Labels(s.Labels),
			Hostnames: slices.Clone(s.Hostnames.Value), Origin: s.Origin}
		if !draft.IsDNSSubdomain(s.Name) || strings.HasSuffix(s.Name, ".") {
			r.CheckName("http_route", s.Name, named)
		}
		if !r.Unique(seen, "http_route", x.Namespace+"/"+x.Name, named) {
			continue
		}
		for _, h := range x.Hostnames {
			r.host(topology.Opt[string]{Value: h, Set: true, Origin: s.Hostnames.Origin})
		}
		for _, p := range s.Parents {
			x.Parents = append(x.Parents, topology.Parent{Gateway: p.Gateway.Value, Namespace: p.Namespace.Value, Listener: p.Listener.Value, Port: p.Port.Value})
			if !p.Gateway.Set && p.Gateway.Origin == (topology.Origin{}) {
				r.Errorf(draft.At(p.Origin), "Missing gateway", "This parent of the http_route %q names no gateway. Add gateway = \"NAME\".", x.Name)
			}
		}
		r.attach(x, s)
		if len(s.Rules) == 0 {
			r.Errorf(draft.At(s.Origin), "Route without rules", "The http_route %q leads nowhere. Add rule { backend { service = service.NAME } }.", s.Name)
		}
		for _, rule := range s.Rules {
			r.routeRule(x, rule)
		}
		r.Lab.HTTPRoutes = append(r.Lab.HTTPRoutes, x)
	}
	r.Of("http_route", "", "")
}

func (r *resolver) routeRule(x *topology.HTTPRoute, s topology.HTTPRouteRuleSpec) {
	var out topology.HTTPRouteRule
	if len(s.Backends) == 0 && s.Filters.Redirect == nil {
		r.Errorf(draft.At(s.Origin), "Rule without backend", "This rule of the http_route %q leads nowhere. Add backend { service = service.NAME }.", x.Name)
	}
	for i := range s.Backends {
		b := &s.Backends[i]
		to, ok := r.backend(inNamespace{"http_route", x.Name, x.Namespace}, b)
		to.Weight = r.Number(b.Weight, "weight", 1, 0, maxWeight)
		if ok {
			out.Backends = append(out.Backends, to)
		}
	}
	matches := s.Matches
	if len(matches) == 0 {
		matches = []topology.HTTPRouteMatchSpec{{Origin: s.Origin}}
	}
	for _, m := range matches {
		r.match(x, &out, m)
	}
	r.filters(x, &out, s)
	x.Rules = append(x.Rules, out)
}

// match resolves one condition, which no other route may have.
func (r *resolver) match(x *topology.HTTPRoute, out *topology.HTTPRouteRule, s topology.HTTPRouteMatchSpec) {
	one := topology.HTTPRouteMatch{Path: s.Path.Or("/"), Headers: maps.Clone(s.Headers), Origin: s.Origin}
	types := []string{string(topology.RoutePathPrefix), string(topology.PathExact)}
	one.Type = topology.PathType(r.Enum(s.Type, "path type", types[0], types, []string{"RegularExpression"}))
	r.checkPath(topology.IngressPath{Path: one.Path, Type: one.Type}, s.Path.Origin)
	if s.Method.Set {
		one.Method = r.Enum(s.Method, "method", methods[0], methods, nil)
	}
	if len(one.Headers) > maxHeaders {
		r.Errorf(draft.At(s.Origin), "Too many headers", "A match has %d headers at most, and this one has %d. Remove some.", maxHeaders, len(one.Headers))
	}
	others := one.Method
	for _, name := range slices.Sorted(maps.Keys(one.Headers)) {
		if !isHeader(name, one.Headers[name]) {
			r.Errorf(draft.At(s.Origin), "Invalid header", "%q is not a header field to match: a name without spaces and colons, and a value of printable ASCII. Write headers = { X-Version = \"2\" }.", draft.Shorten(name))
		}
		others += "\n" + strings.ToLower(name) + ": " + one.Headers[name]
	}
	whole := true
	for _, a := range x.Attached {
		key := place{host: a.Host, on: a.On, path: one.Path, exact: one.Type == topology.PathExact, deep: strings.HasPrefix(a.Host, "*"), others: others}
		whole = r.takes(key, one.Path, cmp.Or(s.Path.Origin, s.Origin), s.Origin) && whole
	}
	if whole {
		out.Matches = append(out.Matches, one)
	}
}
