package service

import (
	"cmp"
	"slices"

	"github.com/netlab/netlab/topology"
)

// choose fills in the endpoints that a node uses, as kube-proxy chooses them
// (CategorizeEndpoints in kubernetes pkg/proxy/topology.go). In each list,
// endpoints that terminate but still serve step in when no ready one is left
// there: in the cluster before hints are evaluated, on the node whatever there is
// elsewhere.
func (p *Port) choose(node *topology.Node) {
	family := endpointsOf(p.Port, p.ClusterIP.Is6())
	p.Known = len(family)
	p.Any = slices.ContainsFunc(family, usable)
	if p.UsesCluster() {
		if p.Cluster = near(filter(family, ready), node); len(p.Cluster) == 0 {
			p.Cluster = filter(family, servingTerminating)
		}
	}
	if p.UsesLocal() {
		here := filter(family, func(e *topology.Endpoint) bool { return e.Node == node.Name })
		if p.Local = filter(here, ready); len(p.Local) == 0 {
			p.Local = filter(here, servingTerminating)
		}
	}
	p.All = union(p.Cluster, p.Local)
}

// Ready are the endpoints that are ready, on whatever node, in kube-proxy's order.
func (p *Port) Ready() []*topology.Endpoint {
	return filter(endpointsOf(p.Port, p.ClusterIP.Is6()), ready)
}

// near returns the endpoints whose hints say that this node should use them: those
// for the node itself, else those for its zone. Hints apply only when every endpoint
// has some and at least one is for this node; otherwise a node could be left with
// nothing, or an endpoint without a hint get no traffic at all.
func near(list []*topology.Endpoint, node *topology.Node) []*topology.Endpoint {
	if here, ok := hinted(list, node.Name, func(e *topology.Endpoint) []string { return e.ForNodes }); ok {
		return here
	}
	if zone, ok := hinted(list, node.Zone, func(e *topology.Endpoint) []string { return e.ForZones }); ok {
		return zone
	}
	return list
}

func hinted(list []*topology.Endpoint, place string, hints func(*topology.Endpoint) []string) ([]*topology.Endpoint, bool) {
	if place == "" {
		return nil, false
	}
	if slices.ContainsFunc(list, func(e *topology.Endpoint) bool { return len(hints(e)) == 0 }) {
		return nil, false
	}
	here := filter(list, func(e *topology.Endpoint) bool { return slices.Contains(hints(e), place) })
	return here, len(here) > 0
}

// endpointsOf returns the endpoints of one family in kube-proxy's order.
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

// usable reports whether an endpoint can get traffic at all.
func usable(e *topology.Endpoint) bool { return ready(e) || servingTerminating(e) }

func ready(e *topology.Endpoint) bool { return e.Ready }

func servingTerminating(e *topology.Endpoint) bool { return !e.Ready && e.Serving && e.Terminating }

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
