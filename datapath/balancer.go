package datapath

import (
	"net/netip"

	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/datapath/plan/occupant"
	"github.com/netlab/netlab/topology"
)

// addBalancers makes clients the load balancers of services, as those of cloud providers are:
// each accepts the connections to the ports of its service, and makes others, as its own, to the
// node ports of nodes. Which node has an endpoint it finds out itself, by connecting to it.
func addBalancers(lab *topology.Lab, netns map[string]*plan.Netns) {
	for _, svc := range lab.Services {
		if svc.Balancer == nil {
			continue
		}
		n := netns[svc.Balancer.Client.Netns()]
		for _, p := range svc.Ports {
			for _, lb := range svc.LoadBalancers {
				n.ProxyPorts = append(n.ProxyPorts, balancerPort(svc, p, lb.Addr))
			}
		}
	}
}

func balancerPort(svc *topology.Service, p *topology.ServicePort, addr netip.Addr) occupant.ProxyPort {
	name := svc.Namespace + "/" + svc.Name
	x := occupant.ProxyPort{Service: name, Protocol: string(p.Protocol), At: netip.AddrPortFrom(addr, p.Port), Balancer: true,
		Origin: plan.Origin{Object: "service " + name, File: p.Origin.File, Line: p.Origin.Line}}
	if p.Name != "" {
		x.Service += ":" + p.Name
	}
	for _, node := range svc.Via {
		if a := topology.OfFamily(node.Addrs, addr.Is6()); a.IsValid() && p.NodePort != 0 {
			x.Endpoints = append(x.Endpoints, netip.AddrPortFrom(a, p.NodePort))
		}
	}
	if c := svc.Balancer.Check; c != nil {
		x.Check = occupant.Check(*c)
	}
	return x
}
