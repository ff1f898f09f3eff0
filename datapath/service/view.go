package service

import (
	"cmp"
	"net/netip"
	"slices"

	"github.com/netlab/netlab/topology"
)

// View is what one node sees of the lab's services.
type View struct {
	Lab  *topology.Lab
	Node *topology.Node
	// Addrs are the addresses of the node on all its links, loopback included.
	Addrs []netip.Addr
	// Ports are the service ports by namespace, service and port name, in each
	// family of which their service has a cluster IP. Headless services have none.
	Ports []Port
}

// Port is one service port of one IP family, with the endpoints that one node uses
// for it.
type Port struct {
	Service   *topology.Service
	Port      *topology.ServicePort
	ClusterIP netip.Addr
	// Cluster are the endpoints under traffic policy Cluster, Local those under
	// policy Local. Each is empty where neither policy asks for it. They are
	// ordered as kube-proxy orders them: by the text of address and port.
	Cluster, Local []*topology.Endpoint
	// All are the endpoints of either list, in the same order.
	All []*topology.Endpoint
	// Any says that some endpoint is usable somewhere, on this node or not: without
	// it packets are refused, with it but none here under policy Local, dropped.
	Any bool
}

// NewView chooses the endpoints of every service port for one node.
func NewView(lab *topology.Lab, node *topology.Node, addrs []netip.Addr) View {
	v := View{Lab: lab, Node: node, Addrs: addrs}
	for _, svc := range lab.Services {
		for _, ip := range svc.ClusterIPs {
			for _, p := range svc.Ports {
				v.Ports = append(v.Ports, newPort(svc, p, ip, node.Name))
			}
		}
	}
	slices.SortStableFunc(v.Ports, func(a, b Port) int {
		return cmp.Or(cmp.Compare(a.Service.Namespace, b.Service.Namespace),
			cmp.Compare(a.Service.Name, b.Service.Name), cmp.Compare(a.Port.Name, b.Port.Name))
	})
	return v
}

// InternalLocal reports whether the internal traffic policy is Local.
func (p *Port) InternalLocal() bool {
	return p.Service.InternalTrafficPolicy == topology.PolicyLocal
}

// ExternalLocal reports whether the external traffic policy is Local.
func (p *Port) ExternalLocal() bool {
	return p.Service.ExternalTrafficPolicy == topology.PolicyLocal
}

// External reports whether the port can be reached from outside the cluster. The
// external traffic policy of others means nothing.
func (p *Port) External() bool { return p.Port.NodePort != 0 }

// UsesCluster reports whether the node needs the endpoints of the whole cluster.
// An external port does under either policy: under Local, pods and the node itself
// take a short cut past it.
func (p *Port) UsesCluster() bool { return !p.InternalLocal() || p.External() }

// UsesLocal reports whether the node needs its own endpoints.
func (p *Port) UsesLocal() bool {
	return p.InternalLocal() || p.ExternalLocal() && p.External()
}

// newPort chooses endpoints as kube-proxy does (CategorizeEndpoints in
// kubernetes/pkg/proxy/topology.go). In each list, endpoints that terminate but
// still serve step in when no ready one is left there.
func newPort(svc *topology.Service, p *topology.ServicePort, ip netip.Addr, node string) Port {
	out := Port{Service: svc, Port: p, ClusterIP: ip}
	family := endpointsOf(p, ip.Is6())
	out.Any = slices.ContainsFunc(family, usable)
	if out.UsesCluster() {
		out.Cluster = readyOrServing(family)
	}
	if out.UsesLocal() {
		out.Local = readyOrServing(filter(family, func(e *topology.Endpoint) bool { return e.Node == node }))
	}
	out.All = union(out.Cluster, out.Local)
	return out
}

func endpointsOf(p *topology.ServicePort, ipv6 bool) []*topology.Endpoint {
	list := filter(p.Endpoints, func(e *topology.Endpoint) bool { return e.Addr.Addr().Is6() == ipv6 })
	if len(list) > 1 {
		byText(list)
	}
	return list
}

// byText sorts endpoints by the text of address and port: 10.0.0.10:80 before
// 10.0.0.2:80.
func byText(list []*topology.Endpoint) {
	text := make(map[*topology.Endpoint]string, len(list))
	for _, e := range list {
		text[e] = e.Addr.String()
	}
	slices.SortStableFunc(list, func(a, b *topology.Endpoint) int { return cmp.Compare(text[a], text[b]) })
}

func usable(e *topology.Endpoint) bool { return ready(e) || servingTerminating(e) }

func ready(e *topology.Endpoint) bool { return e.Ready }

func servingTerminating(e *topology.Endpoint) bool { return !e.Ready && e.Serving && e.Terminating }

func readyOrServing(list []*topology.Endpoint) []*topology.Endpoint {
	if r := filter(list, ready); len(r) > 0 {
		return r
	}
	return filter(list, servingTerminating)
}

func filter(list []*topology.Endpoint, keep func(*topology.Endpoint) bool) []*topology.Endpoint {
	var out []*topology.Endpoint
	for _, e := range list {
		if keep(e) {
			out = append(out, e)
		}
	}
	return out
}

func union(a, b []*topology.Endpoint) []*topology.Endpoint {
	if len(b) == 0 {
		return a
	}
	out := slices.Clone(a)
	for _, e := range b {
		if !slices.Contains(a, e) {
			out = append(out, e)
		}
	}
	byText(out)
	return out
}
