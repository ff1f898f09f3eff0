package ingresses

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/netlab/netlab/topology"
	"github.com/netlab/netlab/topology/resolve/draft"
)

const maxChanges = 16 // of header fields, in each list

// redirects are the statuses that a redirect may have.
var redirects = []int{301, 302, 303, 307, 308}

// ruled are header fields that follow from a connection, or that controllers need themselves.
var ruled = []string{"host", "connection", "content-length", "transfer-encoding", "via", "x-request-id"}

// filters resolves what a rule changes, once its matches are resolved.
func (r *resolver) filters(x *topology.HTTPRoute, out *topology.HTTPRouteRule, s topology.HTTPRouteRuleSpec) {
	f := s.Filters
	out.Filters.RequestHeaders = r.headerChange(f.RequestHeaders, "request_headers")
	out.Filters.ResponseHeaders = r.headerChange(f.ResponseHeaders, "response_headers")
	if w := f.Rewrite; w != nil {
		out.Filters.Rewrite = topology.Rewrite{Hostname: r.otherHost(w.Hostname), Path: r.pathChange(w.Path, s, "rewrite")}
		if out.Filters.Rewrite == (topology.Rewrite{}) {
			r.Warnf(draft.At(w.Origin), "Filter without effect", "This rewrite changes nothing. Add hostname, path or prefix.")
		}
	}
	d := f.Redirect
	if d == nil {
		return
	}
	to := &topology.Redirect{Hostname: r.otherHost(d.Hostname), Path: r.pathChange(d.Path, s, "redirect"), Status: d.Status.Or(302)}
	if d.Scheme.Set {
		to.Scheme = r.Enum(d.Scheme, "scheme", "http", []string{"http", "https"}, nil)
	}
	to.Port = uint16(r.Number(d.Port, "port", 0, 1, 65535))
	if !slices.Contains(redirects, to.Status) {
		var known []string
		for _, n := range redirects {
			known = append(known, strconv.Itoa(n))
		}
		r.Errorf(draft.At(d.Status.Origin), "No such redirect", "The status %d does not redirect. Use %s.", to.Status, topology.OneOf(known))
	}
	if to.Scheme == "" && to.Hostname == "" && to.Port == 0 && to.Path == (topology.PathChange{}) {
		r.Warnf(draft.At(d.Origin), "Redirect in a circle", "This redirect leads to where the request came from. Add scheme, hostname, port, path or prefix.")
	}
	if f.Rewrite != nil {
		r.Errorf(draft.At(f.Rewrite.Origin), "Redirect and rewrite", "A rule either redirects or rewrites: what is redirected is not passed on. Remove one of them from this rule of the http_route %q.", x.Name)
	}
	if len(s.Backends) > 0 {
		r.Errorf(draft.At(s.Backends[0].Origin), "Redirect with backend", "A rule that redirects passes nothing on. Remove the backend, or the redirect, from this rule of the http_route %q.", x.Name)
	}
	out.Filters.Redirect = to
}

// otherHost is the host that a filter puts in the place of that of a request.
func (r *resolver) otherHost(o topology.Opt[string]) string {
	if strings.HasPrefix(o.Value, "*") {
		r.Errorf(draft.At(o.Origin), "Invalid host", "A request is for one host, and %q stands for many. Use one such as \"shop.example\".", draft.Shorten(o.Value))
		return ""
	}
	if o.Set && o.Value == "" {
		r.Errorf(draft.At(o.Origin), "Invalid host", "The hostname is empty. Use one such as \"shop.example\", or leave it out for that of the request.")
	}
	r.host(o)
	return o.Value
}

// pathChange resolves what stands for a path, or for its prefix, of which there must be one.
func (r *resolver) pathChange(s topology.PathChangeSpec, rule topology.HTTPRouteRuleSpec, block string) (out topology.PathChange) {
	check := func(o topology.Opt[string]) {
		r.checkPath(topology.IngressPath{Path: o.Value, Type: topology.RoutePathPrefix}, o.Origin)
	}
	if s.Full.Set {
		out = topology.PathChange{Type: topology.ReplaceFullPath, With: s.Full.Value}
		check(s.Full)
	}
	if !s.Prefix.Set {
		return out
	}
	if s.Prefix.Value != "" { // which removes the prefix
		check(s.Prefix)
	}
	if s.Full.Set {
		r.Errorf(draft.At(s.Prefix.Origin), "Two paths", "This %s has a path already, which stands for all of that of the request. Remove path or prefix.", block)
	}
	prefix := func(m topology.HTTPRouteMatchSpec) bool {
		return m.Type.Or(string(topology.RoutePathPrefix)) == string(topology.RoutePathPrefix)
	}
	if len(rule.Matches) > 1 || len(rule.Matches) == 1 && !prefix(rule.Matches[0]) {
		r.Errorf(draft.At(s.Prefix.Origin), "Which prefix?", "The prefix of a path is that of the only match of a rule, of the path type PathPrefix. Write a rule for each match, or path instead of prefix.")
	}
	return topology.PathChange{Type: topology.ReplacePrefixMatch, With: s.Prefix.Value}
}

// headerChange resolves a change of header fields.
func (r *resolver) headerChange(s *topology.HeaderChangeSpec, block string) (out topology.HeaderChange) {
	if s == nil {
		return out
	}
	out = topology.HeaderChange{Set: maps.Clone(s.Set), Add: maps.Clone(s.Add), Remove: slices.Clone(s.Remove.Value)}
	if len(out.Set)+len(out.Add)+len(out.Remove) == 0 {
		r.Warnf(draft.At(s.Origin), "Filter without effect", "This %s block changes nothing. Add set, add or remove.", block)
	}
	for _, list := range []struct {
		what   string
		names  []string
		values map[string]string
	}{{"set", slices.Sorted(maps.Keys(s.Set)), s.Set}, {"add", slices.Sorted(maps.Keys(s.Add)), s.Add}, {"remove", s.Remove.Value, nil}} {
		at := draft.At(cmp.Or(s.Remove.Origin, s.Origin))
		if list.what != "remove" {
			at = draft.At(s.Origin)
		}
		if len(list.names) > maxChanges {
			r.Errorf(at, "Too many headers", "A filter may %s %d headers at most, and this one has %d. Remove some.", list.what, maxChanges, len(list.names))
		}
		seen := map[string]bool{}
		for _, name := range list.names {
			lower := strings.ToLower(name)
			switch value := list.values[name]; {
			case !isHeader(name, value) || value == "" && list.values != nil:
				r.Errorf(at, "Invalid header", "%q is not a header field that can be changed: a name without spaces and colons, and a value of printable ASCII. Write set = { X-Version = \"2\" }.", draft.Shorten(name))
			case slices.Contains(ruled, lower):
				r.Errorf(at, "Header of the connection", "The header field %q follows from the connection, or is the controller's own. Remove it here; rewrite { hostname = … } changes the host.", draft.Shorten(name))
			case seen[lower]:
				r.Errorf(at, "Header twice", "The header field %q is there already: upper and lower case are the same. Remove one of them.", draft.Shorten(name))
			}
			seen[lower] = true
		}
	}
	return out
}

// isHeader reports whether a header field can be sent (RFC 9110, 5.5 and 5.6.2).
func isHeader(name, value string) bool {
	token := func(c rune) bool { return c > ' ' && c < 0x7f && !strings.ContainsRune("\"(),/:;<=>?@[\\]{}", c) }
	return name != "" && len(name) <= 256 && len(value) <= 4096 && !strings.ContainsFunc(name, func(c rune) bool { return !token(c) }) &&
		!strings.ContainsFunc(value, func(c rune) bool { return c < ' ' || c > '~' }) && strings.TrimSpace(value) == value
}
