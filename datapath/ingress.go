package datapath

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/datapath/plan/httproute"
	"github.com/netlab/netlab/datapath/plan/occupant"
	"github.com/netlab/netlab/topology"
)

// controller is where the agent of a pod takes HTTP requests, if it is an ingress controller.
func controller(lab *topology.Lab, pod *topology.Pod) occupant.Ingress {
	if !pod.Ingress || lab.Controller == nil {
		return occupant.Ingress{}
	}
	return occupant.Ingress{HTTP: topology.IngressHTTP, HTTPS: topology.IngressHTTPS, ProxyProtocol: lab.Controller.ProxyProtocol}
}

// routes is the table of every ingress controller of a lab.
func routes(lab *topology.Lab) []httproute.Route {
	var out []httproute.Route
	for _, x := range lab.Ingresses {
		name := x.Name
		if x.Namespace != topology.DefaultNamespace {
			name = x.Namespace + "/" + name
		}
		for _, rule := range x.Rules {
			secure := slices.ContainsFunc(x.TLS, func(t topology.IngressTLS) bool {
				return rule.Host != "" && slices.ContainsFunc(t.Hosts, func(h string) bool { return topology.CertificateCovers(h, rule.Host) })
			})
			for _, p := range rule.Paths {
				r := httproute.Route{Host: rule.Host, Path: p.Path, Match: httproute.Prefix, TLS: secure, Backends: []httproute.Backend{backend(p.Backend)},
					Object: "ingress " + name, Origin: plan.Origin{Object: "ingress " + name, File: p.Origin.File, Line: p.Origin.Line}}
				if p.Type == topology.PathExact {
					r.Match = httproute.Exact
				}
				out = append(out, r)
			}
		}
		if x.Default != nil {
			out = append(out, httproute.Route{Default: true, Backends: []httproute.Backend{backend(*x.Default)},
				Object: "ingress " + name, Origin: plan.Origin{Object: "ingress " + name, File: x.Origin.File, Line: x.Origin.Line}})
		}
	}
	return append(out, gatewayRoutes(lab)...)
}

// gatewayRoutes are those of the Gateway API: one for each condition, and each host and protocol of
// the listeners that they are attached to.
func gatewayRoutes(lab *topology.Lab) (out []httproute.Route) {
	for _, x := range lab.HTTPRoutes {
		name := x.Name
		if x.Namespace != topology.DefaultNamespace {
			name = x.Namespace + "/" + name
		}
		order := 0
		for _, rule := range x.Rules {
			var backends []httproute.Backend
			for _, b := range rule.Backends {
				backends = append(backends, backend(b))
			}
			for _, m := range rule.Matches {
				r := httproute.Route{Path: m.Path, Match: httproute.Prefix, Method: m.Method, Backends: backends, Filters: filters(rule.Filters),
					Object: "http_route " + name, Origin: plan.Origin{Object: "http_route " + name, File: m.Origin.File, Line: m.Origin.Line}}
				switch m.Type {
				case topology.PathExact:
					r.Match = httproute.Exact
				case topology.RouteRegularPath:
					r.Match = httproute.Regular
				}
				r.Headers, r.Query, r.Order = conditions(m.Headers), conditions(m.Query), order
				order++
				for _, a := range x.Attached {
					r.Host, r.Deep, r.TLS = a.Host, strings.HasPrefix(a.Host, "*"), a.On == topology.ListenerHTTPS
					r.Only = map[topology.ListenerProtocol]httproute.Scheme{topology.ListenerHTTP: httproute.HTTP, topology.ListenerHTTPS: httproute.HTTPS}[a.On]
					out = append(out, r)
				}
			}
		}
	}
	return out
}

// conditions are the values that a request must have.
func conditions(values []topology.ValueMatch) (out []httproute.Condition) {
	for _, v := range values {
		out = append(out, httproute.Condition(v))
	}
	return out
}

// filters are those of a rule.
func filters(f topology.HTTPFilters) (out httproute.Filters) {
	list := func(fields map[string]string) (out []httproute.Header) {
		for _, name := range slices.Sorted(maps.Keys(fields)) {
			out = append(out, httproute.Header{Name: name, Value: fields[name]})
		}
		return out
	}
	change := func(c topology.HeaderChange) httproute.Change {
		return httproute.Change{Set: list(c.Set), Add: list(c.Add), Remove: c.Remove}
	}
	path := func(p topology.PathChange) httproute.Replace {
		return httproute.Replace{Match: map[topology.PathChangeType]httproute.Match{topology.ReplaceFullPath: httproute.Exact, topology.ReplacePrefixMatch: httproute.Prefix}[p.Type], With: p.With}
	}
	out.Request, out.Response = change(f.RequestHeaders), change(f.ResponseHeaders)
	out.Rewrite = httproute.Rewrite{Host: f.Rewrite.Hostname, Path: path(f.Rewrite.Path)}
	if d := f.Redirect; d != nil {
		out.Redirect = &httproute.Redirect{Scheme: d.Scheme, Host: d.Hostname, Port: d.Port, Path: path(d.Path), Status: d.Status}
	}
	return out
}

// backend is a port of a service with the endpoints that are ready. A controller takes them
// from EndpointSlices, and no address of the service: session affinity and traffic policies do
// not concern it.
func backend(b topology.Backend) httproute.Backend {
	port := b.Port.Name
	if port == "" {
		port = strconv.Itoa(int(b.Port.Port))
	}
	out := httproute.Backend{Service: fmt.Sprintf("%s/%s:%s", b.Service.Namespace, b.Service.Name, port), Weight: b.Weight, Refused: b.Refused}
	if b.Refused {
		return out
	}
	for _, e := range b.Port.Endpoints {
		if e.Ready {
			out.Endpoints = append(out.Endpoints, e.Addr)
		}
	}
	slices.SortFunc(out.Endpoints, netip.AddrPort.Compare)
	return out
}
