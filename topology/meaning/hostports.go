package meaning

import (
	"slices"

	"github.com/netlab/netlab/topology"
)

// A pod can publish a port as one of its node: whatever address of the node is dialed, the
// node sends it on to the pod. Services come first.

// published finds the pod, and its port, that publish what a packet on a node is for.
func (ps *paths) published(n *topology.Node, p packet) (*topology.Pod, topology.Port) {
	if !ps.lab.holds(n, p.dst) {
		return nil, topology.Port{}
	}
	for _, pod := range n.Pods {
		for _, port := range pod.Ports {
			if port.HostPort == p.port && p.port != 0 && port.Protocol == ps.protocol && topology.OfFamily(pod.Addrs, p.dst.Is6()).IsValid() {
				return pod, port
			}
		}
	}
	return nil, topology.Port{}
}

// viaHostPort sends a packet on to the pod that publishes the port it is for, if one does.
// Masqueraded is what the pod would otherwise answer directly, or could not: from itself, from
// pods on its bridge where bridged packets are not known to be translated back, from loopback
// addresses.
func (ps *paths) viaHostPort(n *topology.Node, p packet) bool {
	pod, port := ps.published(n, p)
	if pod == nil {
		return false
	}
	to := topology.OfFamily(pod.Addrs, p.dst.Is6())
	if p.dst.IsLoopback() && p.dst.Is6() {
		ps.silence() // ::1 is not accepted from a link
		return true
	}
	masquerade := p.src == to || p.src.IsLoopback()
	switch mode := ps.lab.Network.Mode; {
	case mode.HidesNodes:
		masquerade = masquerade || p.self
	case !mode.PodRoutes:
		masquerade = masquerade || topology.PrefixOfFamily(n.PodCIDRs, p.dst.Is6()).Contains(p.src)
	}
	p.changes = append(slices.Clone(p.changes), change{node: n, src: p.src, dst: p.dst, translate: true})
	p.dst, p.port = to, port.Number
	ps.forward(n, p, masquerade)
	return true
}

// unpublished reports whether a node does not forward a packet, because a pod of it neither
// sent it nor publishes what it is for.
func (ps *paths) unpublished(n *topology.Node, p packet) bool {
	if !ps.lab.Network.Mode.PublishedOnly || topology.PrefixOfFamily(n.PodCIDRs, p.src.Is6()).Contains(p.src) {
		return false
	}
	pod := ps.lab.podAt(n, p.dst).pod
	return pod == nil || !slices.ContainsFunc(pod.Ports, func(port topology.Port) bool {
		return port.HostPort != 0 && port.Protocol == ps.protocol && port.Number == p.port
	})
}
