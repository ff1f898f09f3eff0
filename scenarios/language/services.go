package language

import (
	"github.com/netlab/netlab/topology"
)

func (l *loader) evalServices() {
	seen := map[string]bool{}
	for _, b := range l.blocksOf("service") {
		l.declareDynamic(b)
		if seen[b.label] {
			continue // reported when it was declared
		}
		seen[b.label] = true
		l.spec.Services = append(l.spec.Services, l.evalService(b))
	}
	l.changed()
}

func (l *loader) evalService(b *block) topology.ServiceSpec {
	sc := b.scope
	c := read[serviceBody](l.reader, b, sc)
	s := topology.ServiceSpec{
		Name: b.label, Origin: b.origin(),
		Namespace: l.name(c.namespace, "namespace", sc), Type: l.text(c.typ, sc),
		Labels:    l.labels(c.labels, sc),
		ClusterIP: l.text(c.clusterIP, sc), ClusterIPs: l.texts(c.clusterIPs, sc),
		IPFamilies: l.texts(c.ipFamilies, sc), IPFamilyPolicy: l.text(c.ipFamilyPolicy, sc),
		ExternalIPs:  l.addresses(c.externalIPs, sc),
		ExternalName: l.text(c.externalName, sc), SourceRanges: l.texts(c.loadBalancerSourceRanges, sc),
		HealthCheckNodePort:      l.number(c.healthCheckNodePort, sc),
		TrafficDistribution:      l.text(c.trafficDistribution, sc),
		PublishNotReadyAddresses: l.boolean(c.publishNotReadyAddresses, sc),

		ExternalTrafficPolicy: l.text(c.externalTrafficPolicy, sc),
		InternalTrafficPolicy: l.text(c.internalTrafficPolicy, sc),
	}
	if a := c.selector; a != nil {
		s.Selector, s.SelectorOrigin = l.labels(a, sc), originOf(a.Expr.Range())
	}
	if sb := l.option(c, "selector"); sb != nil {
		selector := read[serviceSelectorBody](l.reader, sb, sc)
		if c.selector != nil {
			l.errorf(sb.kindRange, "Two selectors", "Service %q has a selector attribute and a selector block. Remove one of them.", b.label)
		}
		s.Selector, s.SelectorOrigin = l.labels(selector.matchLabels, sc), sb.origin()
	}
	l.oneOfTwo(c.clusterIP, c.clusterIPs)
	l.loadBalancer(&s, c, sc)
	l.sessionAffinity(&s, c, sc)
	for _, eb := range c.named("endpoint") {
		s.Endpoints = append(s.Endpoints, l.endpoint(eb, sc))
	}
	for _, pb := range c.named("port") {
		pc := read[servicePortBody](l.reader, pb, sc)
		s.Ports = append(s.Ports, topology.ServicePortSpec{
			Name: pb.label, Origin: pb.origin(), Port: l.number(pc.port, sc), TargetPort: l.targetPort(pc.targetPort, sc),
			NodePort: l.number(pc.nodePort, sc), Protocol: l.text(pc.protocol, sc),
		})
	}
	return s
}

// loadBalancer reads load_balancer_ip and the load_balancer block.
func (l *loader) loadBalancer(s *topology.ServiceSpec, c *serviceBody, sc scope) {
	own := c.loadBalancerIP
	s.LoadBalancerIPs = l.addresses(own, sc)
	b := l.option(c, "load_balancer")
	if b == nil {
		return
	}
	bc := read[loadBalancerBody](l.reader, b, sc)
	ip := bc.ip
	l.oneOfTwo(ip, bc.ips)
	if ip == nil {
		ip = bc.ips
	}
	l.oneOfTwo(own, ip)
	if ip != nil {
		s.LoadBalancerIPs = l.addresses(ip, sc)
	}
	s.LoadBalancerMode = l.text(bc.ipMode, sc)
	s.LoadBalancerVia = l.names(bc.via, "node", sc)
}

// sessionAffinity reads session_affinity: the word, or the block that means ClientIP.
func (l *loader) sessionAffinity(s *topology.ServiceSpec, c *serviceBody, sc scope) {
	a := c.sessionAffinity
	s.SessionAffinity = l.text(a, sc)
	b := l.option(c, "session_affinity")
	if b == nil {
		return
	}
	bc := read[sessionAffinityBody](l.reader, b, sc)
	s.AffinitySeconds = l.seconds(bc.timeout, sc)
	if a == nil {
		s.SessionAffinity = topology.Opt[string]{Value: "ClientIP", Set: true, Origin: b.origin()}
	}
}

// endpoint reads an endpoint block.
func (l *loader) endpoint(b *block, sc scope) topology.EndpointSpec {
	c := read[endpointBody](l.reader, b, sc)
	e := topology.EndpointSpec{
		Origin:  b.origin(),
		Address: l.address(c.address, sc), Pod: l.podName(c.pod, sc), Node: l.name(c.node, "node", sc),
		Port: l.number(c.port, sc), PortName: l.text(c.portName, sc),
		Ready: l.boolean(c.ready, sc), Serving: l.boolean(c.serving, sc), Terminating: l.boolean(c.terminating, sc),
		Weight: l.number(c.weight, sc),
	}
	// Where a value is unusable, only that is reported.
	if a := c.address; a != nil && !e.Address.Set {
		e.Address.Origin = originOf(a.Expr.Range())
	}
	if a := c.pod; a != nil && !e.Pod.Set {
		e.Pod.Origin = originOf(a.Expr.Range())
	}
	if hb := l.option(c, "hints"); hb != nil {
		hc := read[hintsBody](l.reader, hb, sc)
		e.ForZones, e.ForNodes = l.texts(hc.zones, sc), l.names(hc.nodes, "node", sc)
	}
	return e
}
