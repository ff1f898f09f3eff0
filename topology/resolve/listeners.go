package resolve

import (
	"fmt"
	"strconv"

	"github.com/netlab/netlab/topology"
	"github.com/netlab/netlab/topology/resolve/draft"
)

// listenKey is a port of a network namespace.
type listenKey struct {
	netns    string
	protocol topology.Protocol
	port     uint16
}

// holder is what has a port: it listens there, or publishes it.
type holder struct {
	who       string
	published bool
	origin    topology.Origin
}

// podListeners reports agents that bind the same socket, or that of a node's tunnel, and
// host ports that would hide one of those or another host port.
func (r *resolver) podListeners() {
	taken := map[listenKey]holder{}
	if n := &r.Lab.Network; n.TunnelPort() != 0 {
		for _, node := range r.Lab.Nodes {
			taken[listenKey{node.Netns(), topology.UDP, uint16(n.TunnelPort())}] = holder{who: "the " + string(n.Mode.Tunnel) + " tunnel of node " + strconv.Quote(node.Name)}
		}
	}
	for _, p := range r.Lab.Pods {
		r.listeners(taken, podNamed(p), p.Netns(), p.Ports)
	}
	for _, p := range r.Lab.Pods {
		r.Of("pod", p.Block, p.Key)
		r.hostPorts(taken, p)
	}
	r.Of("pod", "", "")
}

func podNamed(p *topology.Pod) string { return fmt.Sprintf("pod %q", p.AgentName()) }

// listeners reports two ports of one network namespace with the same number.
func (r *resolver) listeners(taken map[listenKey]holder, who, netns string, ports []topology.Port) {
	for _, p := range ports {
		key := listenKey{netns, p.Protocol, p.Number}
		if first, ok := taken[key]; ok {
			r.Errorf(draft.At(p.Origin), "Port taken twice",
				"%s cannot listen on %s port %d: %s listens there already, in the same network namespace. Use another port or node.",
				who, p.Protocol, p.Number, first.who)
			continue
		}
		taken[key] = holder{who: who, origin: p.Origin}
	}
}
