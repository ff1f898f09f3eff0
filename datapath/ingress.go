package datapath

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"

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
	out := httproute.Backend{Service: fmt.Sprintf("%s/%s:%s", b.Service.Namespace, b.Service.Name, port), Weight: 1}
	for _, e := range b.Port.Endpoints {
		if e.Ready {
			out.Endpoints = append(out.Endpoints, e.Addr)
		}
	}
	slices.SortFunc(out.Endpoints, netip.AddrPort.Compare)
	return out
}
