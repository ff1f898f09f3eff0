package topology

import (
	"net/netip"
	"slices"
)

// proxyNone is the proxy mode in which nobody translates.
const proxyNone = "none"

// proxyIPTables is the default.
const proxyIPTables = "iptables"

// proxyIPVS is the proxy mode of which ipvs.go tells.
const proxyIPVS = "ipvs"

// layoutLegacy are the rules of older versions of kube-proxy.
const layoutLegacy = "legacy"

// use is a service port by one of its addresses.
type use struct {
	service *Service
	port    *ServicePort
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
// cluster IP of the family, of aliases, or of services that another proxy has.
func (j *journeys) served(six bool, found func(*Service, *ServicePort) bool) {
	for _, sv := range j.lab.Services {
		if sv.Unmanaged || sv.Type == ExternalName || !ofFamily(sv.ClusterIPs, six).IsValid() {
			continue
		}
		for _, p := range sv.Ports {
			if p.Protocol == j.protocol && found(sv, p) {
				return
			}
		}
	}
}

// serviceFor finds the service that a packet on a node is for: any node translates
// any service address, and each the node ports on its own addresses.
func (j *journeys) serviceFor(n *Node, p packet) *use {
	var out *use
	six := p.dst.Is6()
	j.served(six, func(sv *Service, port *ServicePort) bool {
		if port.Port == p.port {
			if kind, ok := sv.kindOf(p.dst); ok {
				out = &use{sv, port, six, kind}
			}
		}
		return out != nil
	})
	if out == nil && j.lab.takesNodePorts(n, p.dst) {
		j.served(six, func(sv *Service, port *ServicePort) bool {
			if port.NodePort != 0 && port.NodePort == p.port {
				out = &use{sv, port, six, atNodePort}
			}
			return out != nil
		})
	}
	return out
}

func (sv *Service) kindOf(a netip.Addr) (addressKind, bool) {
	vip := func(l LoadBalancerIP) bool { return l.Addr == a && !l.Proxy }
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
// that it has, or on those of node_port_addresses; on 127.0.0.0/8 if the lab wants
// it, and on ::1 never (kubernetes issue 90259 tells why that is delicate).
func (lab *Lab) takesNodePorts(n *Node, a netip.Addr) bool {
	if !lab.owns(n, a) || a.IsLoopback() && (a.Is6() || !lab.Proxy.LocalNodePorts || lab.Proxy.Mode == proxyIPVS) {
		return false
	}
	restricted := false
	for _, cidr := range lab.Proxy.NodePortAddresses {
		if cidr.Addr().Is6() == a.Is6() {
			if cidr.Bits() == 0 || cidr.Contains(a) {
				return true
			}
			restricted = true
		}
	}
	return !restricted
}

// proxied goes on with a packet for a service, and reports false where the node lets
// it go as it is.
func (j *journeys) proxied(n *Node, u *use, p packet) bool {
	if j.lab.Proxy.Mode == proxyIPVS {
		j.balanced(n, u, p)
		return true
	}
	all := u.endpoints(nil)
	if len(all) == 0 {
		// A load balancer or external address is refused to those who come to the
		// node, not to its own processes, whose packets leave for whoever has that
		// address.
		if p.self && (u.kind == atExternalIP || u.kind == atLoadBalancer) && !j.lab.owns(n, p.dst) {
			return false
		}
		j.turnAway(n, u, p, true)
		return true
	}
	if u.kind == atLoadBalancer && !j.lab.admits(n, u, p) {
		if j.barred(n, p) {
			return true
		}
		// Before the node's own packets leave, too.
		j.silence(p.self && j.protocol == UDP)
		return true
	}
	list, masquerade := j.policy(n, u, p)
	if len(list) == 0 {
		j.turnAway(n, u, p, false)
		return true
	}
	for _, e := range list {
		next := p
		next.changes = append(slices.Clone(p.changes), change{node: n, src: p.src, translate: true})
		next.dst, next.port = e.Addr.Addr(), e.Addr.Port()
		// An endpoint that reaches itself would answer itself past the node.
		j.forward(n, next, masquerade || next.dst == p.src)
	}
	return true
}

// turnAway refuses a packet, or drops it where there are endpoints, but not here: a
// load balancer then tries elsewhere. What a process of the node sends to a cluster
// IP does not even leave, which sockets of datagrams hear of at once.
func (j *journeys) turnAway(n *Node, u *use, p packet, refuse bool) {
	if j.barred(n, p) {
		return
	}
	switch {
	case p.self && j.protocol == UDP && u.kind == atClusterIP:
		j.silence(true)
	case refuse:
		j.refuse(n, p)
	default:
		j.silence(false)
	}
}

// silence drops a packet. Whoever sends a datagram on the node itself is told
// (EPERM), a stream tries again until its time is over.
func (j *journeys) silence(told bool) {
	if told {
		j.end(End{Outcome: Unreachable})
		return
	}
	j.end(End{Outcome: Timeout})
}

// admits applies loadBalancerSourceRanges, which are for the addresses of the load
// balancer only, and for pods and nodes as well. Those of the other family mean
// nothing; one that holds everybody lifts all. A node that has the load balancer's
// address itself dials from it, so that is admitted where the node is.
func (lab *Lab) admits(n *Node, u *use, p packet) bool {
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
		nodeIn = nodeIn || r.Contains(ofFamily(n.Addrs, u.six))
	}
	return !restricted || in || nodeIn && slices.ContainsFunc(u.service.LoadBalancers, func(l LoadBalancerIP) bool { return l.Addr == p.src })
}

// policy says of which endpoints one gets a packet, and whether the node puts its
// own address into it. Pods are told by their addresses, where the lab tells them.
func (j *journeys) policy(n *Node, u *use, p packet) (list []*Endpoint, masquerade bool) {
	detects := j.lab.Proxy.DetectLocal != proxyNone
	pod := detects && ofFamilyPrefix(j.lab.Network.PodCIDRs, u.six).Contains(p.src)
	switch {
	case u.kind == atClusterIP:
		masquerade = j.lab.Proxy.MasqueradeAll || detects && !pod
		if u.service.InternalTrafficPolicy == PolicyLocal {
			return u.endpoints(n), masquerade
		}
		return u.clusterEndpoints(n), masquerade
	case u.service.ExternalTrafficPolicy != PolicyLocal:
		return u.clusterEndpoints(n), true
	case pod:
		return u.clusterEndpoints(n), false
	case j.lab.owns(n, p.src):
		return u.clusterEndpoints(n), true
	}
	return u.endpoints(n), false
}

// strayNodePort is a packet to a node port on an address of the node on which node
// ports do not answer. kube-proxy turns away what finds no endpoint on every address
// all the same (older versions only what finds none anywhere); anything else is an
// ordinary packet to the node.
func (j *journeys) strayNodePort(n *Node, p packet) bool {
	if !j.lab.owns(n, p.dst) || j.lab.Proxy.Mode == proxyIPVS {
		return false
	}
	turned := false
	j.served(p.dst.Is6(), func(sv *Service, port *ServicePort) bool {
		if port.NodePort == 0 || port.NodePort != p.port {
			return false
		}
		u := &use{sv, port, p.dst.Is6(), atNodePort}
		none := len(u.endpoints(nil)) == 0
		local := j.lab.Proxy.Layout != layoutLegacy && sv.ExternalTrafficPolicy == PolicyLocal && len(u.endpoints(n)) == 0
		if turned = none || local; turned {
			j.turnAway(n, u, p, none)
		}
		return true
	})
	return turned
}

// healthCheckAt is the answer of a node to a load balancer that asks whether it has
// endpoints.
func (lab *Lab) healthCheckAt(n *Node, protocol Protocol, port uint16) (End, bool) {
	if protocol != TCP || lab.Proxy.Mode == proxyNone {
		return End{}, false
	}
	for _, sv := range lab.Services {
		if sv.HealthCheckNodePort == port && port != 0 && !sv.Unmanaged && len(sv.ClusterIPs) > 0 {
			return End{Answer: "health " + sv.Namespace + "/" + sv.Name, Node: n.Name}, true
		}
	}
	return End{}, false
}
