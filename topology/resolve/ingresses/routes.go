package ingresses

import (
	"cmp"
	"fmt"
	"regexp"
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

// routeRule resolves a rule. One that neither passes requests on nor redirects them is answered with
// status 500 (HTTPRouteRule in sigs.k8s.io/gateway-api/apis/v1, and the conformance test
// HTTPRouteNoBackendRefs).
func (r *resolver) routeRule(x *topology.HTTPRoute, s topology.HTTPRouteRuleSpec) {
	var out topology.HTTPRouteRule
	if len(s.Backends)+len(s.Matches) == 0 && s.Filters.Redirect == nil {
		r.Warnf(draft.At(s.Origin), "Rule without backend", "This rule of the http_route %q answers every request with status 500. Add backend { service = service.NAME }, or leave it if that is what you want.", x.Name)
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
	one := topology.HTTPRouteMatch{Path: s.Path.Or("/"), Origin: s.Origin}
	types := []string{string(topology.RoutePathPrefix), string(topology.PathExact), topology.RegularExpression}
	one.Type = topology.PathType(r.Enum(s.Type, "path type", types[0], types, nil))
	if one.Type == topology.RouteRegularPath {
		r.checkPattern(one.Path, draft.At(s.Path.Origin, s.Origin))
	} else {
		r.checkPath(topology.IngressPath{Path: one.Path, Type: one.Type}, s.Path.Origin)
	}
	if s.Method.Set {
		one.Method = r.Enum(s.Method, "method", methods[0], methods, nil)
	}
	one.Headers = r.values("header", "headers", s.Headers, s.HeaderPatterns, s.Origin)
	one.Query = r.values("query parameter", "query", s.Query, s.QueryPatterns, s.Origin)
	others := one.Method
	for _, v := range one.Headers {
		others += fmt.Sprintf("\n%s %v: %s", strings.ToLower(v.Name), v.Pattern, v.Value)
	}
	for _, v := range one.Query {
		others += fmt.Sprintf("\n?%s %v: %s", v.Name, v.Pattern, v.Value)
	}
	whole := true
	for _, a := range x.Attached {
		key := place{host: a.Host, on: a.On, path: one.Path, how: one.Type, deep: strings.HasPrefix(a.Host, "*"), others: others}
		whole = r.takes(key, one.Path, cmp.Or(s.Path.Origin, s.Origin), s.Origin) && whole
	}
	if whole {
		out.Matches = append(out.Matches, one)
	}
}

// values are the conditions of header fields or query parameters, by name.
func (r *resolver) values(what, attribute string, exact, patterns map[string]string, o topology.Origin) (out []topology.ValueMatch) {
	at := draft.At(o)
	if n := len(exact) + len(patterns); n > maxHeaders {
		r.Errorf(at, "Too many values", "A match has up to %d conditions of one kind, and this one has %[3]d for a %[2]s. Remove some.", maxHeaders, what, n)
	}
	for name, value := range exact {
		out = append(out, topology.ValueMatch{Name: name, Value: value})
	}
	for name, value := range patterns {
		out = append(out, topology.ValueMatch{Name: name, Value: value, Pattern: true})
	}
	slices.SortFunc(out, func(a, b topology.ValueMatch) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Value, b.Value))
	})
	seen := map[string]bool{}
	for _, v := range out {
		key := v.Name
		if attribute == "headers" {
			key = strings.ToLower(key)
		}
		switch {
		case !isHeader(v.Name, v.Value) || v.Value == "":
			r.Errorf(at, "Invalid "+what, "%q is not a %s to match: a name without spaces and colons, and a value of printable ASCII. Write %s = { X-Version = \"2\" }.", draft.Shorten(v.Name), what, attribute)
		case seen[key]:
			r.Errorf(at, "Name twice", "The %s %q is matched here already, and only the first would count. Remove one of them.", what, draft.Shorten(v.Name))
		case v.Pattern:
			r.checkPattern(v.Value, at)
		}
		seen[key] = true
	}
	return out
}

// checkPattern checks a regular expression.
func (r *resolver) checkPattern(text string, at []topology.Origin) {
	if _, err := regexp.Compile(text); err != nil || len(text) > maxPath {
		r.Errorf(at, "Invalid pattern", "%q is not a regular expression (RE2) of up to %d characters. Write one such as \"/api/v[0-9]+\", which is for the whole value.", draft.Shorten(text), maxPath)
	}
}
