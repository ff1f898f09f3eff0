package resolve

import (
	"cmp"

	"github.com/netlab/netlab/topology"
	"github.com/netlab/netlab/topology/resolve/draft"
)

// hostPorts checks the ports of its node that a pod publishes.
func (r *resolver) hostPorts(taken map[listenKey]holder, pod *topology.Pod) {
	for i := range pod.Ports {
		p := &pod.Ports[i]
		if p.HostPort == 0 {
			continue
		}
		where := draft.At(cmp.Or(r.HostPortOrigin(pod, p), p.Origin))
		switch {
		case pod.HostNetwork && p.HostPort == p.Number: // as Kubernetes has it
			p.HostPort = 0
			continue
		case pod.HostNetwork:
			r.Errorf(where, "Host port on host network", "%s uses its node's network, so that it answers on port %d of the node. Remove host_port or host_network.", podNamed(pod), p.Number)
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
			r.Errorf(where, "Host port taken twice", "%s cannot publish %s port %d of node %q: %s %s already%s. Use another host_port or node.",
				podNamed(pod), p.Protocol, p.HostPort, pod.Node.Name, first.who, does, on)
			continue
		}
		taken[key] = holder{podNamed(pod), true, p.Origin}
	}
}
