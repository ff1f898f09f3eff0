package service

import (
	"net/netip"

	"github.com/netlab/netlab/datapath/plan/occupant"
	"github.com/netlab/netlab/topology"
)

// HealthChecks returns the agents that tell load balancers whether a node has
// endpoints of a service: one per service with traffic policy Local.
func HealthChecks(v View) []occupant.Agent {
	var out []occupant.Agent
	seen := map[*topology.Service]bool{}
	for i := range v.Ports {
		p := &v.Ports[i]
		if svc := p.Service; p.HealthCheckNodePort != 0 && !seen[svc] {
			seen[svc] = true
			out = append(out, occupant.Agent{
				Name: "health " + svc.Namespace + "/" + svc.Name, Node: v.Node.Name,
				Listen: []occupant.Listen{{Protocol: string(topology.TCP), Port: p.HealthCheckNodePort}},
				Health: occupant.Health{Namespace: svc.Namespace, Service: svc.Name, LocalEndpoints: localEndpoints(svc, p.ClusterIP.Is6(), v.Node)},
				Origin: serviceOrigin(svc, svc.Origin),
			})
		}
	}
	return out
}

// localEndpoints counts the addresses of ready endpoints on a node. Terminating
// ones do not count, although they may still get traffic: the load balancer should
// stop using the node before they are gone.
func localEndpoints(svc *topology.Service, ipv6 bool, node *topology.Node) int {
	addrs := map[netip.Addr]bool{}
	for _, p := range svc.Ports {
		for _, e := range p.Endpoints {
			if e.Addr.Addr().Is6() == ipv6 && e.Ready && e.Node == node.Name {
				addrs[e.Addr.Addr()] = true
			}
		}
	}
	return len(addrs)
}
