package kubernetes

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/netlab/netlab/topology"
)

// ingresses adds ingresses, which the controller of a lab serves, whatever their class is.
func (c *converter) ingresses() {
	twice := several(c.ing, func(x *ingressObject) string { return x.Meta.Name.Value })
	for _, x := range c.ing {
		name := x.Meta.Name.Value
		label := c.label("ingress", x.namespace(), name, twice[name])
		c.carried(&x.header, "ingress."+label)
		s := topology.IngressSpec{Name: name, Written: written(label, &x.header), Namespace: unless(x.Meta.Namespace, topology.DefaultNamespace),
			Labels: x.Meta.Labels, Class: x.Spec.Class, Origin: x.at()}
		if class := x.Meta.Annotations[classAnnotation]; !s.Class.Set {
			s.Class = class
		}
		if b := x.Spec.Default; b != nil {
			to := c.backend(b, b.Origin)
			s.Default = &to
		}
		for _, r := range x.Spec.Rules {
			rule := topology.IngressRuleSpec{Host: unless(r.Host, ""), Origin: r.Origin}
			for _, p := range r.HTTP.Paths {
				one := topology.IngressPathSpec{Path: unless(p.Path, "/"), Type: p.Type, Origin: p.Origin}
				if !p.Type.Set {
					c.errorf(p.Origin, "Path without type", "A path of an Ingress says how it is compared. Add pathType: Prefix.")
				}
				one.Type = unless(one.Type, string(topology.PathPrefix))
				if p.Backend != nil {
					one.Backend = c.backend(p.Backend, p.Origin)
				}
				one.Backend.Origin = cmp.Or(one.Backend.Origin, p.Origin)
				rule.Paths = append(rule.Paths, one)
			}
			s.Rules = append(s.Rules, rule)
		}
		for _, t := range x.Spec.TLS {
			s.TLS = append(s.TLS, topology.IngressTLSSpec{Hosts: listed(t.Hosts), SecretName: t.Secret, Origin: t.Origin})
		}
		c.Ingresses = append(c.Ingresses, s)
	}
}

func (c *converter) backend(b *ingressBackend, at topology.Origin) topology.BackendSpec {
	out := topology.BackendSpec{Origin: cmp.Or(b.Origin, at)}
	if b.Service == nil {
		return out
	}
	out.Service = b.Service.Name
	port := b.Service.Port
	switch {
	case port.Number.Set:
		out.Port = str{Value: strconv.Itoa(port.Number.Value), Set: true, Origin: port.Number.Origin}
	case port.Name.Set:
		out.Port = port.Name
	default:
		c.errorf(cmp.Or(b.Service.Name.Origin, out.Origin), "Backend without port", "The backend of an Ingress names a port of its service. Add port: { number: 80 }.")
		out.Port.Origin = out.Origin // reported
	}
	return out
}

// ingress writes an ingress.
func (e *exporter) ingress(x *topology.Ingress, addresses []tree) {
	backend := func(b topology.Backend) tree {
		port := fields("number", int(b.Port.Port))
		if b.ByName {
			port = fields("name", b.Port.Name)
		}
		return fields("service", fields("name", b.Service.Name, "port", port))
	}
	var rules, secure []tree
	for _, r := range x.Rules {
		var paths []tree
		for _, p := range r.Paths {
			paths = append(paths, fields("path", p.Path, "pathType", string(p.Type), "backend", backend(p.Backend)))
		}
		rules = append(rules, fields("host", r.Host, "http", fields("paths", paths)))
	}
	for _, t := range x.TLS {
		secure = append(secure, fields("hosts", t.Hosts, "secretName", t.SecretName))
	}
	var fallback any
	if x.Default != nil {
		fallback = backend(*x.Default)
	}
	var status tree
	if e.serves {
		status = fields("loadBalancer", fields("ingress", addresses))
	}
	e.object("networking.k8s.io/v1", "Ingress", e.inNamespace(x.Name, x.Namespace, x.Labels), "spec",
		fields("ingressClassName", x.Class, "defaultBackend", fallback, "rules", rules, "tls", secure), "status", status)
}

// ingressAddresses are those of the controller, as it would write them into the status of
// ingresses.
func ingressAddresses(lab *topology.Lab) (out []tree) {
	addrs, _ := lab.IngressAddrs()
	for _, a := range addrs {
		out = append(out, fields("ip", a.String()))
	}
	return out
}

// routes adds routes of the Gateway API, which the controller of a lab serves, whatever their
// gateway is.
func (c *converter) routes() {
	twice := several(c.rts, func(x *httpRoute) string { return x.Meta.Name.Value })
	for _, x := range c.rts {
		name := x.Meta.Name.Value
		label := c.label("http_route", x.namespace(), name, twice[name])
		c.carried(&x.header, "http_route."+label)
		s := topology.HTTPRouteSpec{Name: name, Written: written(label, &x.header), Namespace: unless(x.Meta.Namespace, topology.DefaultNamespace),
			Labels: x.Meta.Labels, Hostnames: listed(x.Spec.Hostnames), Origin: x.at()}
		for _, p := range x.Spec.Parents {
			if p.Kind.Set && p.Kind.Value != "Gateway" {
				c.lose("http_route."+label, p.Origin, "parentRefs: a route of a lab is attached to gateways, not to a %s", shorten(p.Kind.Value))
				continue
			}
			s.Parents = append(s.Parents, topology.ParentSpec{Gateway: p.Name, Namespace: unless(p.Namespace, x.namespace()), Listener: p.Section, Port: p.Port, Origin: p.Origin})
		}
		for _, r := range x.Spec.Rules {
			rule := topology.HTTPRouteRuleSpec{Origin: r.Origin}
			for _, m := range r.Matches {
				one := topology.HTTPRouteMatchSpec{Path: unless(m.Path.Value, "/"), Type: unless(m.Path.Type, string(topology.RoutePathPrefix)), Method: m.Method, Origin: m.Origin}
				one.Headers, one.HeaderPatterns = c.values(m.Headers, strings.ToLower)
				one.Query, one.QueryPatterns = c.values(m.Query, func(name string) string { return name })
				rule.Matches = append(rule.Matches, one)
			}
			for i := range r.Filters {
				c.filter(&rule.Filters, &r.Filters[i])
			}
			for _, b := range r.Backends {
				to := topology.BackendSpec{Service: b.Name, Namespace: unless(b.Namespace, x.namespace()), Weight: unless(b.Weight, 1), Origin: b.Origin}
				if b.Port.Set {
					to.Port = str{Value: strconv.Itoa(b.Port.Value), Set: true, Origin: b.Port.Origin}
				}
				rule.Backends = append(rule.Backends, to)
			}
			s.Rules = append(s.Rules, rule)
		}
		if len(s.Rules) == 0 { // as the API server fills it in
			s.Rules = []topology.HTTPRouteRuleSpec{{Origin: x.at()}}
		}
		c.HTTPRoutes = append(c.HTTPRoutes, s)
	}
}

// values are the conditions of a match by name, of equal names the first, as the API has it.
func (c *converter) values(list []valueMatch, key func(string) string) (exact, patterns map[string]string) {
	exact, patterns = map[string]string{}, map[string]string{}
	seen := map[string]bool{}
	for _, v := range list {
		to := exact
		switch {
		case seen[key(v.Name.Value)]:
			continue
		case v.Type.Value == topology.RegularExpression:
			to = patterns
		case v.Type.Set && v.Type.Value != string(topology.PathExact):
			c.errorf(v.Type.Origin, "Unknown type", "A value is matched by type Exact or RegularExpression, not %q. Write one of them.", shorten(v.Type.Value))
			continue
		}
		seen[key(v.Name.Value)] = true
		to[v.Name.Value] = v.Value.Value
	}
	return exact, patterns
}

// valuesOf writes the conditions of a match.
func valuesOf(list []topology.ValueMatch) (out []tree) {
	for _, v := range list {
		var kind any
		if v.Pattern {
			kind = topology.RegularExpression
		}
		out = append(out, fields("type", kind, "name", v.Name, "value", v.Value))
	}
	return out
}

// route writes a route of the Gateway API.
func (e *exporter) route(x *topology.HTTPRoute) {
	var rules []tree
	for _, r := range x.Rules {
		var matches, backends []tree
		for _, m := range r.Matches {
			matches = append(matches, fields("path", fields("type", string(m.Type), "value", m.Path), "method", m.Method, "headers", valuesOf(m.Headers), "queryParams", valuesOf(m.Query)))
		}
		for _, b := range r.Backends {
			var elsewhere any
			if b.Service.Namespace != x.Namespace {
				elsewhere = b.Service.Namespace
			}
			backends = append(backends, fields("name", b.Service.Name, "namespace", elsewhere, "port", int(b.Port.Port), "weight", b.Weight))
		}
		rules = append(rules, fields("matches", matches, "filters", filtersOf(r.Filters), "backendRefs", backends))
	}
	var parents []tree
	for _, p := range x.Parents {
		parents = append(parents, fields("name", p.Gateway, "namespace", p.Namespace, "sectionName", p.Listener, "port", present(p.Port)))
	}
	e.object("gateway.networking.k8s.io/v1", "HTTPRoute", e.inNamespace(x.Name, x.Namespace, x.Labels), "spec",
		fields("parentRefs", parents, "hostnames", x.Hostnames, "rules", rules))
}
