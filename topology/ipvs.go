package topology

import (
	"net/netip"
	"slices"
)

// What holds the addresses of services on a node in proxy mode ipvs.
const (
	AddressesDummy  = "dummy"        // the device kube-ipvs0
	AddressesRoutes = "local_routes" // routes of the table local
)

// Schedulers are the IPVS schedulers that a lab can have, the default first: those
// that kube-proxy names, then the others of the kernel.
func Schedulers() []string {
	return []string{"rr", "wrr", "lc", "wlc", "sh", "dh", "sed", "nq", "mh", "lblc", "lblcr", "fo", "ovf", "twos"}
}

// maxWeight is the largest weight of a real server: ipvsadm takes no more.
const maxWeight = 65535

func (r *resolver) ipvs() {
	s, p := &r.spec.Proxy.IPVS, &r.lab.Proxy.IPVS
	p.Scheduler = r.enum(s.Scheduler, "IPVS scheduler", "rr", Schedulers(), nil)
	p.StrictARP = s.StrictARP.Value
	p.Addresses = r.enum(s.Addresses, "place for service addresses", AddressesDummy, []string{AddressesDummy, AddressesRoutes}, nil)
}

// weight checks the weight of an endpoint, which means something in proxy mode ipvs
// only.
func (r *resolver) weight(e EndpointSpec) {
	if !e.Weight.Set {
		return
	}
	if r.number(e.Weight, "weight", 1, 0, maxWeight) == e.Weight.Value && r.lab.Proxy.Mode != proxyIPVS {
		r.warnf(at(e.Weight.Origin), "Weight without IPVS",
			"Only proxy mode ipvs knows weights, and this lab has mode %s, so every endpoint gets the same. Remove weight, or write proxy { mode = \"ipvs\" }.", r.lab.Proxy.Mode)
	}
}

// holds reports whether packets to an address end on a node: its own, and in proxy mode
// ipvs those of all services that it serves.
func (lab *Lab) holds(n *Node, a netip.Addr) bool {
	return lab.owns(n, a) || lab.bound(a)
}

// bound reports whether nodes have an address for services. One that is a node's own is
// bound on the others.
func (lab *Lab) bound(a netip.Addr) bool {
	if lab.Proxy.Mode != proxyIPVS {
		return false
	}
	return slices.ContainsFunc(lab.Services, func(sv *Service) bool {
		if sv.Unmanaged || sv.Type == ExternalName || !ofFamily(sv.ClusterIPs, a.Is6()).IsValid() {
			return false
		}
		_, ok := sv.kindOf(a)
		return ok
	})
}

// captures reports whether a node takes for its own what is for somebody else.
func (lab *Lab) captures(n *Node, a netip.Addr) bool {
	return n != nil && !lab.owns(n, a) && lab.bound(a)
}

// balanced goes on with a packet for a service on a node that has IPVS.
func (j *journeys) balanced(n *Node, u *use, p packet) {
	admitted := j.lab.lets(n, u, p)
	if !admitted && !p.self {
		j.silence(false)
		return
	}
	list, refuses := u.scheduled(j.lab.Proxy.IPVS.Scheduler, u.pool(n))
	switch {
	case refuses && p.self && j.protocol == UDP:
		j.silence(true) // at OUTPUT: the process is told at once that it may not send
	case refuses:
		j.refuse(n, p)
	}
	for _, e := range list {
		if !admitted { // after IPVS, and a process hears only of what stays on the node
			j.silence(j.protocol == UDP && j.lab.holds(n, e.Addr.Addr()))
			continue
		}
		next := p
		next.changes = append(slices.Clone(p.changes), change{node: n, src: p.src, translate: true})
		next.dst, next.port = e.Addr.Addr(), e.Addr.Port()
		next.past = j.lab.holds(n, next.dst)
		// What an endpoint of another node sends to itself is left alone, unless some
		// service has it as one of this node.
		itself := next.dst == p.src && j.here(n, e)
		j.forward(n, next, itself || j.marked(u, p))
	}
}

// here reports whether some service has an endpoint with the same address on a node:
// all share the set that tells.
func (j *journeys) here(n *Node, e *Endpoint) bool {
	found := false
	j.served(e.Addr.Addr().Is6(), func(_ *Service, p *ServicePort) bool {
		found = slices.ContainsFunc(p.Endpoints, func(other *Endpoint) bool { return other.Addr == e.Addr && other.Node == n.Name })
		return found
	})
	return found
}

// pool are the endpoints of which one gets a packet, whoever sent it: under policy Local
// those of the node, and if there is none all, as far as nodes know them, which is where
// the service is external (kubernetes pull request 97081).
func (u *use) pool(n *Node) []*Endpoint {
	local := u.service.ExternalTrafficPolicy == PolicyLocal
	if u.kind == atClusterIP {
		local = u.service.InternalTrafficPolicy == PolicyLocal
	}
	if !local {
		return u.clusterEndpoints(n)
	}
	if here := u.endpoints(n); len(here) > 0 {
		return here
	}
	if u.service.InternalTrafficPolicy == PolicyLocal && !u.external() {
		return nil
	}
	return u.clusterEndpoints(n)
}

// external reports whether the service port has an address outside the cluster.
func (u *use) external() bool {
	return u.port.NodePort != 0 || ofFamily(u.service.ExternalIPs, u.six).IsValid() ||
		slices.ContainsFunc(u.service.LoadBalancers, func(l LoadBalancerIP) bool { return !l.Proxy && l.Addr.Is6() == u.six })
}

// scheduled are the endpoints that a scheduler can choose, and whether it refuses some
// connections: all where there is nobody to choose, and with sh and dh those that it
// keeps for endpoints of weight 0.
func (u *use) scheduled(scheduler string, list []*Endpoint) (chosen []*Endpoint, refuses bool) {
	highest := 0
	for _, e := range list {
		highest = max(highest, e.Weight)
	}
	for _, e := range list {
		switch {
		case e.Weight == 0:
			refuses = refuses || scheduler == "sh" || scheduler == "dh"
		case scheduler != "fo" || e.Weight == highest:
			chosen = append(chosen, e)
		}
	}
	return chosen, refuses || len(chosen) == 0
}

// marked reports whether a node puts its own address into what it sends to endpoints:
// under policy Cluster of everybody to external addresses, under Local of nobody; to
// cluster IPs of all that are not pods. A process of the node dials from the cluster IP
// itself, which is known for no pod's even where pods are not told apart.
func (j *journeys) marked(u *use, p packet) bool {
	if u.kind != atClusterIP {
		return u.service.ExternalTrafficPolicy != PolicyLocal
	}
	detects := j.lab.Proxy.DetectLocal != proxyNone
	pod := ofFamilyPrefix(j.lab.Network.PodCIDRs, u.six).Contains(p.src)
	return j.lab.Proxy.MasqueradeAll || detects && !pod || p.self
}

// lets applies loadBalancerSourceRanges. A process of the node dials from the load
// balancer's address and is let in where the node is.
func (lab *Lab) lets(n *Node, u *use, p packet) bool {
	if !slices.ContainsFunc(u.service.LoadBalancers, func(l LoadBalancerIP) bool { return l.Addr == p.dst && !l.Proxy }) || u.kind == atNodePort {
		return true
	}
	if p.self {
		p.src = ofFamily(n.Addrs, u.six)
	}
	return lab.admits(n, u, p)
}
