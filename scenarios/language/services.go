package language

import (
	"github.com/netlab/netlab/scenarios/language/blocks"
	"github.com/netlab/netlab/scenarios/language/source"
	"github.com/netlab/netlab/topology"
)

func (l *loader) evalServices() {
	seen := map[string]bool{}
	for _, b := range l.BlocksOf("service") {
		l.DeclareDynamic(b)
		if seen[b.Label] {
			continue // reported when it was declared
		}
		seen[b.Label] = true
		l.spec.Services = append(l.spec.Services, l.evalService(b))
	}
	l.changed()
}

func (l *loader) evalService(b *blocks.Block) topology.ServiceSpec {
	sc := b.Scope
	c := blocks.Read[serviceBody](l.Reader, b, sc)
	s := topology.ServiceSpec{
		Name: b.Label, Origin: b.Origin(),
		Namespace: l.Name(c.namespace, "namespace", sc), Type: l.Text(c.typ, sc),
		Labels:    l.Labels(c.labels, sc),
		ClusterIP: l.Text(c.clusterIP, sc), ClusterIPs: l.Texts(c.clusterIPs, sc),
		IPFamilies: l.Texts(c.ipFamilies, sc), IPFamilyPolicy: l.Text(c.ipFamilyPolicy, sc),
		ExternalIPs:  l.Addresses(c.externalIPs, sc),
		ExternalName: l.Text(c.externalName, sc), SourceRanges: l.Texts(c.loadBalancerSourceRanges, sc),
		HealthCheckNodePort:      l.Number(c.healthCheckNodePort, sc),
		TrafficDistribution:      l.Text(c.trafficDistribution, sc),
		PublishNotReadyAddresses: l.Boolean(c.publishNotReadyAddresses, sc),

		ExternalTrafficPolicy: l.Text(c.externalTrafficPolicy, sc),
		InternalTrafficPolicy: l.Text(c.internalTrafficPolicy, sc),
	}
	if a := c.selector; a != nil {
		s.Selector, s.SelectorOrigin = l.Labels(a, sc), source.OriginOf(a.Expr.Range())
	}
	if sb := l.Option(c, "selector"); sb != nil {
		selector := blocks.Read[serviceSelectorBody](l.Reader, sb, sc)
		if c.selector != nil {
			l.Errorf(sb.KindRange, "Two selectors", "Service %q has a selector attribute and a selector block. Remove one of them.", b.Label)
		}
		s.Selector, s.SelectorOrigin = l.Labels(selector.matchLabels, sc), sb.Origin()
	}
	l.OneOfTwo(c.clusterIP, c.clusterIPs)
	l.loadBalancer(&s, c, sc)
	l.sessionAffinity(&s, c, sc)
	for _, eb := range c.Named("endpoint") {
		s.Endpoints = append(s.Endpoints, l.endpoint(eb, sc))
	}
	for _, pb := range c.Named("port") {
		pc := blocks.Read[servicePortBody](l.Reader, pb, sc)
		s.Ports = append(s.Ports, topology.ServicePortSpec{
			Name: pb.Label, Origin: pb.Origin(), Port: l.Number(pc.port, sc), TargetPort: l.TargetPort(pc.targetPort, sc),
			NodePort: l.Number(pc.nodePort, sc), Protocol: l.Text(pc.protocol, sc),
		})
	}
	return s
}

// loadBalancer reads load_balancer_ip and the load_balancer block.
func (l *loader) loadBalancer(s *topology.ServiceSpec, c *serviceBody, sc blocks.Scope) {
	own := c.loadBalancerIP
	s.LoadBalancerIPs = l.Addresses(own, sc)
	b := l.Option(c, "load_balancer")
	if b == nil {
		return
	}
	bc := blocks.Read[loadBalancerBody](l.Reader, b, sc)
	ip := bc.ip
	l.OneOfTwo(ip, bc.ips)
	if ip == nil {
		ip = bc.ips
	}
	l.OneOfTwo(own, ip)
	if ip != nil {
		s.LoadBalancerIPs = l.Addresses(ip, sc)
	}
	s.LoadBalancerMode = l.Text(bc.ipMode, sc)
	s.LoadBalancerVia = l.Names(bc.via, "node", sc)
}

// sessionAffinity reads session_affinity: the word, or the block that means ClientIP.
func (l *loader) sessionAffinity(s *topology.ServiceSpec, c *serviceBody, sc blocks.Scope) {
	a := c.sessionAffinity
	s.SessionAffinity = l.Text(a, sc)
	b := l.Option(c, "session_affinity")
	if b == nil {
		return
	}
	bc := blocks.Read[sessionAffinityBody](l.Reader, b, sc)
	s.AffinitySeconds = l.Seconds(bc.timeout, sc)
	if a == nil {
		s.SessionAffinity = topology.Opt[string]{Value: "ClientIP", Set: true, Origin: b.Origin()}
	}
}

// endpoint reads an endpoint block.
func (l *loader) endpoint(b *blocks.Block, sc blocks.Scope) topology.EndpointSpec {
	c := blocks.Read[endpointBody](l.Reader, b, sc)
	e := topology.EndpointSpec{
		Origin:  b.Origin(),
		Address: l.Address(c.address, sc), Pod: l.PodName(c.pod, sc), Node: l.Name(c.node, "node", sc),
		Port: l.Number(c.port, sc), PortName: l.Text(c.portName, sc),
		Ready: l.Boolean(c.ready, sc), Serving: l.Boolean(c.serving, sc), Terminating: l.Boolean(c.terminating, sc),
		Weight: l.Number(c.weight, sc),
	}
	// Where a value is unusable, only that is reported.
	if a := c.address; a != nil && !e.Address.Set {
		e.Address.Origin = source.OriginOf(a.Expr.Range())
	}
	if a := c.pod; a != nil && !e.Pod.Set {
		e.Pod.Origin = source.OriginOf(a.Expr.Range())
	}
	if hb := l.Option(c, "hints"); hb != nil {
		hc := blocks.Read[hintsBody](l.Reader, hb, sc)
		e.ForZones, e.ForNodes = l.Texts(hc.zones, sc), l.Names(hc.nodes, "node", sc)
	}
	return e
}
