package language

import (
	"github.com/hashicorp/hcl/v2"

	"github.com/netlab/netlab/scenarios/language/blocks"
	"github.com/netlab/netlab/scenarios/language/source"
	"github.com/netlab/netlab/topology"
)

func (l *loader) evalServices() {
	for b := range l.Objects("service") {
		s := topology.ServiceSpec{Name: b.Name(), Written: b.Written(), Origin: b.Origin()}
		c := l.Read(b, serviceTable(&s))
		l.serviceSelector(&s, c)
		l.OneOfTwo(c.Attr("cluster_ip"), c.Attr("cluster_ips"))
		l.loadBalancer(&s, c)
		if ab := l.Option(c, "session_affinity"); ab != nil {
			l.Read(ab, sessionAffinityTable(&s))
			if c.Attr("session_affinity") == nil {
				s.SessionAffinity = topology.Opt[string]{Value: "ClientIP", Set: true, Origin: ab.Origin()}
			}
		}
		for _, eb := range c.Named("endpoint") {
			e := topology.EndpointSpec{Origin: eb.Origin()}
			if hb := l.Option(l.Read(eb, endpointTable(&e)), "hints"); hb != nil {
				l.Read(hb, hintsTable(&e))
			}
			s.Endpoints = append(s.Endpoints, e)
		}
		for _, pb := range c.Named("port") {
			p := topology.ServicePortSpec{Name: pb.Label, Origin: pb.Origin()}
			l.Read(pb, servicePortTable(&p))
			s.Ports = append(s.Ports, p)
		}
		l.spec.Services = append(l.spec.Services, s)
	}
}

// serviceSelector reads the selector: an attribute, or a block as in Kubernetes.
func (l *loader) serviceSelector(s *topology.ServiceSpec, c *blocks.Content) {
	a := c.Attr("selector")
	if a != nil {
		s.SelectorOrigin = source.OriginOf(a.Expr.Range())
	}
	b := l.Option(c, "selector")
	if b == nil {
		return
	}
	if a != nil {
		l.Errorf(b.KindRange, "Two selectors", "Service %q has a selector attribute and a selector block. Remove one of them.", s.Name)
	}
	s.Selector, s.SelectorOrigin = nil, b.Origin()
	l.Read(b, serviceSelectorTable(s))
}

// loadBalancer reads the load_balancer block, whose address takes the place of
// load_balancer_ip.
func (l *loader) loadBalancer(s *topology.ServiceSpec, c *blocks.Content) {
	b := l.Option(c, "load_balancer")
	if b == nil {
		return
	}
	var ip, ips *hcl.Attribute
	bc := l.Read(b, loadBalancerTable(s, &ip, &ips))
	if cb := l.Option(bc, "check"); cb != nil {
		s.LoadBalancerCheck = &topology.CheckSpec{Origin: cb.Origin()}
		l.Read(cb, checkTable(s.LoadBalancerCheck))
		if bc.Attr("on") != nil && !s.LoadBalancerOn.Set {
			s.LoadBalancerCheck = nil // its host is reported
		}
	}
	l.OneOfTwo(ip, ips)
	if ip == nil {
		ip = ips
	}
	l.OneOfTwo(c.Attr("load_balancer_ip"), ip)
	if ip != nil {
		l.Store(&s.LoadBalancerIPs, ip, bc.Scope)
	}
}
