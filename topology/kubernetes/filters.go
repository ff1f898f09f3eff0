package kubernetes

import (
	"cmp"
	"maps"
	"slices"

	"github.com/netlab/netlab/topology"
)

// The types of filters (HTTPRouteFilterType in sigs.k8s.io/gateway-api/apis/v1).
const (
	filterRequest  = "RequestHeaderModifier"
	filterResponse = "ResponseHeaderModifier"
	filterRedirect = "RequestRedirect"
	filterRewrite  = "URLRewrite"
)

// filter adds a filter to those of a rule. What is lost of it was noted when it was read.
func (c *converter) filter(to *topology.HTTPFiltersSpec, f *httpFilter) {
	there := map[string]bool{filterRequest: to.RequestHeaders != nil, filterResponse: to.ResponseHeaders != nil, filterRedirect: to.Redirect != nil, filterRewrite: to.Rewrite != nil}
	has := map[string]bool{filterRequest: f.Request != nil, filterResponse: f.Response != nil, filterRedirect: f.Redirect != nil, filterRewrite: f.Rewrite != nil}
	for _, kind := range []string{filterRequest, filterResponse, filterRedirect, filterRewrite} {
		switch is := f.Type.Value == kind; {
		case is != has[kind]:
			c.errorf(cmp.Or(f.Type.Origin, f.Origin), "Filter of two types", "The type of this filter is %q, and its field is that of another type or is not there. Write one filter for each type.", shorten(f.Type.Value))
			return
		case is && there[kind]:
			c.errorf(f.Origin, "Filter twice", "A rule has one filter of type %s. Merge them.", kind)
			return
		}
	}
	if x := f.Request; x != nil {
		to.RequestHeaders = c.headerChange(x)
	}
	if x := f.Response; x != nil {
		to.ResponseHeaders = c.headerChange(x)
	}
	if x := f.Redirect; x != nil {
		to.Redirect = &topology.RedirectSpec{Scheme: x.Scheme, Hostname: x.Hostname, Port: x.Port, Path: c.pathChange(x.Path), Status: unless(x.Status, 302), Origin: x.Origin}
	}
	if x := f.Rewrite; x != nil {
		to.Rewrite = &topology.RewriteSpec{Hostname: x.Hostname, Path: c.pathChange(x.Path), Origin: x.Origin}
	}
}

func (c *converter) headerChange(x *headerFilter) *topology.HeaderChangeSpec {
	values := func(list []headerField) map[string]string {
		out := map[string]string{}
		for _, h := range list {
			if _, again := out[h.Name.Value]; again {
				c.errorf(h.Origin, "Header twice", "This filter has the header field %q already. Remove one of them.", shorten(h.Name.Value))
			}
			out[h.Name.Value] = h.Value.Value
		}
		return out
	}
	return &topology.HeaderChangeSpec{Set: values(x.Set), Add: values(x.Add), Remove: listed(x.Remove), Origin: x.Origin}
}

func (c *converter) pathChange(x *pathFilter) (out topology.PathChangeSpec) {
	if x == nil {
		return out
	}
	switch topology.PathChangeType(x.Type.Value) {
	case topology.ReplaceFullPath:
		out.Full = str(x.Full)
	case topology.ReplacePrefixMatch:
		out.Prefix = str(x.Prefix)
	}
	if out.Full.Set == out.Prefix.Set || x.Full.Set && x.Prefix.Set {
		c.errorf(cmp.Or(x.Type.Origin, x.Origin), "Path without type", "A path has the type ReplaceFullPath with the field replaceFullPath, or ReplacePrefixMatch with replacePrefixMatch. Write one of them.")
	}
	return out
}

// filtersOf writes the filters of a rule.
func filtersOf(f topology.HTTPFilters) (out []tree) {
	list := func(values map[string]string) (out []tree) {
		for _, name := range slices.Sorted(maps.Keys(values)) {
			out = append(out, fields("name", name, "value", values[name]))
		}
		return out
	}
	change := func(kind, field string, x topology.HeaderChange) {
		if len(x.Set)+len(x.Add)+len(x.Remove) > 0 {
			out = append(out, fields("type", kind, field, fields("set", list(x.Set), "add", list(x.Add), "remove", x.Remove)))
		}
	}
	path := func(p topology.PathChange) tree {
		switch p.Type {
		case topology.ReplaceFullPath:
			return tree{{"type", string(p.Type)}, {"replaceFullPath", p.With}}
		case topology.ReplacePrefixMatch:
			return tree{{"type", string(p.Type)}, {"replacePrefixMatch", p.With}}
		}
		return nil
	}
	change(filterRequest, "requestHeaderModifier", f.RequestHeaders)
	change(filterResponse, "responseHeaderModifier", f.ResponseHeaders)
	if x := f.Redirect; x != nil {
		out = append(out, fields("type", filterRedirect, "requestRedirect", fields("scheme", x.Scheme, "hostname", x.Hostname, "path", path(x.Path), "port", present(int(x.Port)), "statusCode", x.Status)))
	}
	if x := f.Rewrite; x != (topology.Rewrite{}) {
		out = append(out, fields("type", filterRewrite, "urlRewrite", fields("hostname", x.Hostname, "path", path(x.Path))))
	}
	return out
}
