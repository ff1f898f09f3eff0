package services

import (
	"fmt"

	"github.com/netlab/netlab/topology"
	"github.com/netlab/netlab/topology/ipam"
	"github.com/netlab/netlab/topology/resolve/draft"
)

// The ports on which a proxy in user space listens are below node ports, and those that the
// kernel gives to outgoing connections (net.ipv4.ip_local_port_range).
const (
	firstProxyPort = 10000
	lastProxyPort  = 29999
)

// proxyPorts gives every service port that a proxy in user space serves a port of the nodes,
// the same on each, that nothing else in the lab uses.
func (r *resolver) proxyPorts(all []*resolving) {
	if !r.Lab.Proxy.Mode.UserSpace {
		return
	}
	numbers := ipam.NewPool(lastProxyPort - firstProxyPort + 1)
	reserve := func(port uint16) {
		if port >= firstProxyPort && port <= lastProxyPort {
			numbers.Reserve(uint64(port-firstProxyPort), "")
		}
	}
	reserve(uint16(r.Lab.Network.TunnelPort()))
	for _, pod := range r.Lab.Pods {
		for _, p := range pod.Ports {
			reserve(p.Number)
			reserve(p.HostPort)
		}
	}
	for _, s := range all {
		reserve(s.HealthCheckNodePort)
		for _, p := range s.Ports {
			reserve(p.NodePort)
		}
	}
	for _, s := range all {
		if s.Unmanaged || s.Type == topology.ExternalName || len(s.ClusterIPs) == 0 {
			continue
		}
		r.unknownInUserSpace(s)
		for _, p := range s.Ports {
			if p.Protocol == topology.SCTP {
				r.Warnf(draft.At(p.Origin, s.Origin), "Protocol not served",
					"Proxy mode %s serves no SCTP, so nothing answers at this port of service %q. Use proxy mode %s.", r.Lab.Proxy.Mode.Name, s.Name, topology.OneOf(r.Catalogue.KernelProxies()))
				continue
			}
			slot, ok := numbers.Take(fmt.Sprintf("proxyport/%s/%s/%s/%s", s.Namespace, s.Name, p.Name, p.Protocol), numbers.All(), s.who())
			if !ok {
				r.Errorf(draft.At(p.Origin, s.Origin), "No proxy port left",
					"Proxy mode %s listens on a port of every node for each port of a service, and ports %d-%d are all taken. Use proxy mode %s for so many services.",
					r.Lab.Proxy.Mode.Name, firstProxyPort, lastProxyPort, topology.OneOf(r.Catalogue.KernelProxies()))
				return
			}
			p.ProxyPort = firstProxyPort + uint16(slot)
		}
	}
}

// unknownInUserSpace warns of what a service asks for in vain.
func (r *resolver) unknownInUserSpace(s *resolving) {
	for _, o := range []struct {
		name   string
		given  bool
		origin topology.Origin
		does   string
	}{
		{"external_traffic_policy", s.ExternalTrafficPolicy == topology.PolicyLocal, s.spec.ExternalTrafficPolicy.Origin, "uses the endpoints of all nodes, which see the node's address"},
		{"internal_traffic_policy", s.InternalTrafficPolicy == topology.PolicyLocal, s.spec.InternalTrafficPolicy.Origin, "uses the endpoints of all nodes"},
		{"load_balancer_source_ranges", s.spec.SourceRanges.Set, s.spec.SourceRanges.Origin, "admits all clients"},
		{"traffic_distribution", s.spec.TrafficDistribution.Set, s.spec.TrafficDistribution.Origin, "uses the endpoints of all zones"},
	} {
		if o.given {
			r.Warnf(draft.At(o.origin, s.Origin), "Not known in user space",
				"%s has no effect on service %q: proxy mode %s %s. Remove it, or use proxy mode %s.", o.name, s.Name, r.Lab.Proxy.Mode.Name, o.does, topology.OneOf(r.Catalogue.KernelProxies()))
		}
	}
}
