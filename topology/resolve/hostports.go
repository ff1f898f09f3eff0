package resolve

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"

	"github.com/netlab/netlab/topology"
	"github.com/netlab/netlab/topology/ipam"
)

// hostPorts checks the ports of its node that a pod publishes.
func (r *resolver) hostPorts(taken map[listenKey]holder, pod *topology.Pod) {
	for i := range pod.Ports {
		p := &pod.Ports[i]
		if p.HostPort == 0 {
			continue
		}
		where := at(cmp.Or(r.hostPortOrigin(pod, p), p.Origin))
		switch {
		case pod.HostNetwork && p.HostPort == p.Number: // as Kubernetes has it
			p.HostPort = 0
			continue
		case pod.HostNetwork:
			r.errorf(where, "Host port on host network", "%s uses its node's network, so that it answers on port %d of the node. Remove host_port or host_network.", podNamed(pod), p.Number)
			continue
		}
		key := listenKey{pod.Node.Netns(), p.Protocol, p.HostPort}
		if first, ok := taken[key]; ok {
			does := "listens on it"
			if first.published {
				does = "publishes it"
			}
			on := ""
			if first.origin != (topology.Origin{}) {
				on = ", " + first.origin.SeenFrom(p.Origin)
			}
			r.errorf(where, "Host port taken twice", "%s cannot publish %s port %d of node %q: %s %s already%s. Use another host_port or node.",
				podNamed(pod), p.Protocol, p.HostPort, pod.Node.Name, first.who, does, on)
			continue
		}
		taken[key] = holder{podNamed(pod), true, p.Origin}
	}
}

// hostPortOrigin is where a host port is written.
func (r *resolver) hostPortOrigin(pod *topology.Pod, p *topology.Port) topology.Origin {
	for _, s := range r.spec.Pods {
		if s.Block == pod.Block && s.Key == pod.Key {
			return topology.First(s.Ports, func(s topology.PortSpec) bool { return s.Origin == p.Origin }).HostPort.Origin
		}
	}
	return topology.Origin{}
}

// published calls yield for every host port of the lab.
func (r *resolver) published(yield func(*topology.Pod, *topology.Port)) {
	for _, pod := range r.lab.Pods {
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
		if lo := r.lab.Proxy.NodePortMin; int(p.HostPort) >= lo {
			numbers.Reserve(uint64(int(p.HostPort)-lo), podNamed(pod))
		}
	})
}

// hostPortsOfServices reports host ports at which services are reached, too.
func (r *resolver) hostPortsOfServices() {
	r.published(func(pod *topology.Pod, p *topology.Port) {
		for _, s := range r.lab.Services {
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
				where := cmp.Or(r.hostPortOrigin(pod, p), p.Origin)
				r.errorf([]topology.Origin{where}, "Host port taken twice", "%s cannot publish %s port %d of node %q: %s has it already, %s. Use another host_port.",
					podNamed(pod), p.Protocol, p.HostPort, pod.Node.Name, what, at.SeenFrom(where))
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
		return r.lab.Proxy.Mode.VirtualServers || slices.Contains(n.Addrs, a)
	})
}
