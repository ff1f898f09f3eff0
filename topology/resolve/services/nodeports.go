package services

import (
	"fmt"

	"github.com/netlab/netlab/topology"
	"github.com/netlab/netlab/topology/ipam"
	"github.com/netlab/netlab/topology/resolve/draft"
)

// nodePorts allocates a node port to every service port that needs one, the written
// one or a free number of the range, and a health check port to the services that need
// one.
func (r *resolver) nodePorts(all []*resolving) {
	lo, hi := r.Lab.Proxy.NodePortMin, r.Lab.Proxy.NodePortMax
	numbers := ipam.NewPool(uint64(hi - lo + 1))
	r.reserveHostPorts(numbers)
	written := r.writtenNodePorts(all, numbers)
	free := func(key string, s *resolving, o []topology.Origin) uint16 {
		slot, ok := numbers.Take(key, numbers.All(), s.who())
		if !ok {
			r.Errorf(o, "No node port left",
				"The node port range %d-%d has no port left for service %q. Use a larger node_port_range.", lo, hi, s.Name)
			return 0
		}
		return uint16(lo + int(slot))
	}
	for _, s := range all {
		if s.hasNodePorts() {
			for _, p := range s.Ports {
				if p.NodePort = written[p]; p.NodePort == 0 {
					p.NodePort = free(fmt.Sprintf("nodeport/%s/%s/%s/%s", s.Namespace, s.Name, p.Name, p.Protocol), s, draft.At(p.Origin, s.Origin))
				}
			}
		}
		if s.needsHealthCheck() && s.HealthCheckNodePort == 0 {
			s.HealthCheckNodePort = free(fmt.Sprintf("healthcheck/%s/%s", s.Namespace, s.Name), s, draft.At(s.Origin))
		}
	}
}

// writtenNodePorts checks the node ports that the scenario gives and takes them out
// of the pool.
func (r *resolver) writtenNodePorts(all []*resolving, numbers *ipam.Pool) map[*topology.ServicePort]uint16 {
	lo, hi := r.Lab.Proxy.NodePortMin, r.Lab.Proxy.NodePortMax
	owners := map[numberKey]string{} // two protocols may share a number
	out := map[*topology.ServicePort]uint16{}
	take := func(o topology.Opt[int], protocol topology.Protocol, owner string) bool {
		k := numberKey{protocol, uint16(o.Value)}
		if first, ok := owners[k]; ok {
			r.Errorf(draft.At(o.Origin), "Node port taken twice",
				"The node port %d already belongs to %s. Use another one, or leave it out.", o.Value, first)
			return false
		}
		owners[k] = owner
		numbers.Reserve(uint64(o.Value-lo), owner)
		return true
	}
	for _, s := range all {
		for _, p := range s.Ports {
			o := portNamed(s.spec, p.Name).NodePort
			if !o.Set || !s.hasNodePorts() {
				continue
			}
			if o.Value < max(lo, 1) || o.Value > min(hi, 65535) {
				r.Errorf(draft.At(o.Origin), "Node port out of range",
					"The node port %d is not in the range %d-%d. Use a number in the range, or change node_port_range of the proxy.", o.Value, lo, hi)
				continue
			}
			if take(o, p.Protocol, fmt.Sprintf("port %q of service %q", p.Name, s.Name)) {
				out[p] = uint16(o.Value)
			}
		}
		if r.healthCheck(s) && take(s.spec.HealthCheckNodePort, topology.TCP, fmt.Sprintf("the health check of service %q", s.Name)) {
			s.HealthCheckNodePort = uint16(s.spec.HealthCheckNodePort.Value)
		}
	}
	return out
}
