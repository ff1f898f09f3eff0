package meaning

import (
	"iter"
	"net/netip"
	"slices"

	"github.com/netlab/netlab/datapath/flow"
	"github.com/netlab/netlab/topology"
)

// use is a service port by one of its addresses.
type use struct {
	service *topology.Service
	port    *topology.ServicePort
	six     bool
	kind    addressKind
}

// addressKind is how a service is addressed.
type addressKind uint8

const (
	atClusterIP addressKind = iota
	atExternalIP
	atLoadBalancer
	atNodePort
)

// served are the service ports that nodes translate: not those of services without
// cluster IP of the family, of aliases, or of services of another proxy.
func (ps *paths) served(six bool) iter.Seq2[*topology.Service, *topology.ServicePort] {
	return func(yield func(*topology.Service, *topology.ServicePort) bool) {
		for _, sv := range ps.lab.Services {
			if sv.Unmanaged || sv.Type == topology.ExternalName || !topology.OfFamily(sv.ClusterIPs, six).IsValid() {
				continue
			}
			for _, p := range sv.Ports {
				if p.Protocol == ps.protocol && (!ps.lab.Proxy.Mode.UserSpace || p.ProxyPort != 0) && !yield(sv, p) {
					return
				}
			}
		}
	}
}

// serviceFor finds the service that a packet on a node is for: any node translates
// any service address, and each the node ports on its own addresses.
func (ps *paths) serviceFor(n *topology.Node, p packet) *use {
	six := p.dst.Is6()
	for sv, port := range ps.served(six) {
		if kind, ok := ps.lab.kindOf(sv, p.dst); ok && port.Port == p.port {
			return &use{sv, port, six, kind}
		}
	}
	if ps.lab.takesNodePorts(n, p.dst) {
		return ps.nodePort(p)
	}
	return nil
}

// nodePort finds the service whose node port a packet is for.
func (ps *paths) nodePort(p packet) *use {
	for sv, port := range ps.served(p.dst.Is6()) {
		if port.NodePort != 0 && port.NodePort == p.port {
			return &use{sv, port, p.dst.Is6(), atNodePort}
		}
	}
	return nil
}

func (lab network) kindOf(sv *topology.Service, a netip.Addr) (addressKind, bool) {
	vip := func(l topology.LoadBalancerIP) bool { return l.Addr == a && (!l.Proxy || lab.Proxy.Mode.UserSpace) }
	switch {
	case slices.Contains(sv.ClusterIPs, a):
		return atClusterIP, true
	case slices.Contains(sv.ExternalIPs, a):
		return atExternalIP, true
	case slices.ContainsFunc(sv.LoadBalancers, vip):
		return atLoadBalancer, true
	}
	return 0, false
}

// takesNodePorts reports whether node ports answer on an address of a node: on all
// that it has, or on those of node_port_addresses; on 127.0.0.0/8 if the lab enables
// it, and on ::1 never (kubernetes issue 90259 explains why that is delicate).
func (lab network) takesNodePorts(n *topology.Node, a netip.Addr) bool {
	if lab.Proxy.Mode.UserSpace {
		return lab.owns(n, a)
	}
	if !lab.owns(n, a) || a.IsLoopback() && (a.Is6() || !lab.Proxy.LocalNodePorts || !lab.Proxy.Mode.LoopbackNodePorts) {
		return false
	}
	cidrs, all := lab.Proxy.NodePortCIDRs(n, a.Is6())
	return all || slices.ContainsFunc(cidrs, func(c netip.Prefix) bool { return c.Contains(a) })
}

// viaService handles a packet for a service, and reports false where the node leaves it
// unchanged.
func (ps *paths) viaService(n *topology.Node, u *use, p packet) bool {
	if ps.lab.Proxy.Mode.VirtualServers {
		ps.balanced(n, u, p)
		return true
	}
	mode := ps.lab.Proxy.Mode
	if mode.UserSpace {
		return ps.redirected(n, u, p)
	}
	if mode.FirewallFirst && u.balances(p.dst) && !ps.lab.admits(n, u, p) {
		ps.silence()
		return true
	}
	all := u.endpoints(nil)
	if len(all) == 0 {
		// A load balancer or external address is refused to packets that arrive at the
		// node, not to those of its own processes, which leave for the host that has
		// that address.
		if p.self && !mode.RefusesOwn && (u.kind == atExternalIP || u.kind == atLoadBalancer) && !ps.lab.owns(n, p.dst) {
			return false
		}
		ps.turnAway(n, p, true)
		return true
	}
	if u.kind == atLoadBalancer && !ps.lab.admits(n, u, p) {
		if ps.denied(n, p) {
			return true
		}
		ps.silence() // packets of the node's own processes, too, before they leave
		return true
	}
	list, masquerade := ps.policy(n, u, p)
	if len(list) == 0 {
		ps.turnAway(n, p, false)
		return true
	}
	for _, e := range list {
		next := p
		next.changes = append(slices.Clone(p.changes), change{node: n, src: p.src, dst: p.dst, translate: true})
		next.dst, next.port = e.Addr.Addr(), e.Addr.Port()
		// An endpoint that reaches itself would answer itself, bypassing the node.
		ps.forward(n, next, masquerade || next.dst == p.src)
	}
	return true
}

// balances reports whether an address is a load balancer's of the service.
func (u *use) balances(a netip.Addr) bool {
	return u.kind != atNodePort && slices.ContainsFunc(u.service.LoadBalancers, func(l topology.LoadBalancerIP) bool { return l.Addr == a && !l.Proxy })
}

// unserved handles a packet for a cluster IP and a port that it does not have, or for an address
// of the service CIDR that no service has.
func (ps *paths) unserved(n *topology.Node, p packet) bool {
	six := p.dst.Is6()
	cidr := topology.PrefixOfFamily(ps.lab.Network.ServiceCIDRs, six)
	taken := slices.ContainsFunc(ps.lab.Services, func(sv *topology.Service) bool {
		return !sv.Unmanaged && sv.Type != topology.ExternalName && len(sv.Ports) > 0 && slices.Contains(sv.ClusterIPs, p.dst)
	})
	if !ps.lab.Proxy.Mode.OwnsClusterIPs || !taken && !(cidr.IsValid() && cidr.Contains(p.dst)) || ps.lab.owns(n, p.dst) {
		return false
	}
	ps.turnAway(n, p, taken)
	return true
}

// turnAway refuses a packet, or drops it where there are endpoints, but not here: a
// load balancer then tries elsewhere.
func (ps *paths) turnAway(n *topology.Node, p packet, refuse bool) {
	if ps.denied(n, p) {
		return
	}
	if refuse {
		ps.refuse(n, p)
		return
	}
	ps.silence()
}

// silence drops a packet.
func (ps *paths) silence() { ps.end(flow.Result{Outcome: flow.Timeout}) }

// admits applies loadBalancerSourceRanges, which protect the addresses of the load
// balancer only, but from pods and nodes as well. Those of the other family are ignored;
// one that contains all addresses lifts the restriction. A node that has the load
// balancer's address itself dials from it, so that address is admitted where the node is.
func (lab network) admits(n *topology.Node, u *use, p packet) bool {
	restricted, nodeIn, in := false, false, false
	for _, r := range u.service.SourceRanges {
		if r.Addr().Is6() != u.six {
			continue
		}
		if r.Bits() == 0 {
			return true
		}
		restricted = true
		in = in || r.Contains(p.src)
		nodeIn = nodeIn || r.Contains(topology.OfFamily(n.Addrs, u.six))
	}
	return !restricted || in || nodeIn && slices.ContainsFunc(u.service.LoadBalancers, func(l topology.LoadBalancerIP) bool { return l.Addr == p.src })
}

// policy returns the endpoints to choose from for a packet, and whether the node
// masquerades it. Pods are recognised by their addresses, if the lab detects local
// traffic at all.
func (ps *paths) policy(n *topology.Node, u *use, p packet) (list []*topology.Endpoint, masquerade bool) {
	detects := ps.lab.Proxy.DetectLocal != topology.DetectNone
	pod := detects && topology.PrefixOfFamily(ps.lab.Network.PodCIDRs, u.six).Contains(p.src)
	switch {
	case u.kind == atClusterIP:
		masquerade = ps.lab.Proxy.MasqueradeAll || detects && !pod
		if u.service.InternalTrafficPolicy == topology.PolicyLocal {
			return u.endpoints(n), masquerade
		}
		return u.clusterEndpoints(n), masquerade
	case u.service.ExternalTrafficPolicy != topology.PolicyLocal:
		return u.clusterEndpoints(n), true
	case pod:
		return u.clusterEndpoints(n), false
	case ps.lab.owns(n, p.src):
		return u.clusterEndpoints(n), true
	}
	return u.endpoints(n), false
}

// strayNodePort handles a packet to a node port on an address of the node on which node
// ports do not answer. kube-proxy still turns away, on every address, what finds no
// endpoint (older versions only what finds none anywhere); anything else is an ordinary
// packet to the node.
func (ps *paths) strayNodePort(n *topology.Node, p packet) bool {
	if m := ps.lab.Proxy.Mode; !ps.lab.owns(n, p.dst) || m.VirtualServers || m.NodePortSet || m.UserSpace {
		return false
	}
	u := ps.nodePort(p)
	if u == nil {
		return false
	}
	none := len(u.endpoints(nil)) == 0
	local := !ps.lab.Proxy.LayoutOf().MarksDrops && u.service.ExternalTrafficPolicy == topology.PolicyLocal && len(u.endpoints(n)) == 0
	if none || local {
		ps.turnAway(n, p, none)
	}
	return none || local
}

// healthCheckAt is the answer of a node to a load balancer's health check.
func (lab network) healthCheckAt(n *topology.Node, protocol topology.Protocol, port uint16) (flow.Result, bool) {
	if protocol != topology.TCP || !lab.Proxy.Mode.Translates || lab.Proxy.Mode.UserSpace {
		return flow.Result{}, false
	}
	for _, sv := range lab.Services {
		if sv.HealthCheckNodePort == port && port != 0 && !sv.Unmanaged && len(sv.ClusterIPs) > 0 {
			return flow.Result{Answer: "health " + sv.Namespace + "/" + sv.Name, Node: n.Name}, true
		}
	}
	return flow.Result{}, false
}
