package services

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"

	"github.com/netlab/netlab/topology"
	"github.com/netlab/netlab/topology/ipam"
)

// published calls yield for every host port of the lab.
func (r *resolver) published(yield func(*topology.Pod, *topology.Port)) {
	for _, pod := range r.Lab.Pods {
		for i := range pod.Ports {
			if pod.Ports[i].HostPort != 0 {
				yield(pod, &pod.Ports[i])
			}
		}
	}
}

// reserveHostPorts keeps host ports from being chosen as node ports.
func (r *resolver) reserveHostPorts(numbers *ipam.Pool) {
	r.published(func(pod *topology.Pod, p *topology.Port) {
		if lo := r.Lab.Proxy.NodePortMin; int(p.HostPort) >= lo {
			numbers.Reserve(uint64(int(p.HostPort)-lo), fmt.Sprintf("pod %q", pod.AgentName()))
		}
	})
}

// hostPortsOfServices reports host ports at which services are reached, too.
func (r *resolver) hostPortsOfServices() {
	r.published(func(pod *topology.Pod, p *topology.Port) {
		for _, s := range r.Lab.Services {
			what, at := "", s.Origin
			for _, sp := range s.Ports {
				if sp.Protocol == p.Protocol && (sp.NodePort == p.HostPort || sp.Port == p.HostPort && r.reachedAt(s, pod.Node)) {
					what, at = fmt.Sprintf("port %q of service %q", sp.Name, s.Name), sp.Origin
				}
			}
			if p.Protocol == topology.TCP && s.HealthCheckNodePort == p.HostPort {
				what, at = fmt.Sprintf("the health check of service %q", s.Name), s.Origin
			}
			if what != "" && !s.Unmanaged {
				where := cmp.Or(r.HostPortOrigin(pod, p), p.Origin)
				r.Errorf([]topology.Origin{where}, "Host port taken twice", "pod %q cannot publish %s port %d of node %q: %s has it already, %s. Use another host_port.",
					pod.AgentName(), p.Protocol, p.HostPort, pod.Node.Name, what, at.SeenFrom(where))
			}
		}
	})
}

// reachedAt reports whether a service has an address that is also one of a node: its own, or
// where the proxy has virtual servers, any.
func (r *resolver) reachedAt(s *topology.Service, n *topology.Node) bool {
	if s.Type == topology.ExternalName {
		return false
	}
	addrs := slices.Concat(s.ClusterIPs, s.ExternalIPs)
	for _, b := range s.LoadBalancers {
		if !b.Proxy {
			addrs = append(addrs, b.Addr)
		}
	}
	return slices.ContainsFunc(addrs, func(a netip.Addr) bool {
		return r.Lab.Proxy.Mode.VirtualServers || slices.Contains(n.Addrs, a)
	})
}
