package services

import (
	"cmp"
	"net/netip"
	"slices"
	"strings"

	"github.com/netlab/netlab/topology"
	"github.com/netlab/netlab/topology/ipam"
	"github.com/netlab/netlab/topology/resolve/draft"
)

// nonSpecial says why an address cannot be a host's, or "": ValidateNonSpecialIP in
// kubernetes/pkg/apis/core/validation.
func nonSpecial(a netip.Addr) string {
	switch {
	case a.IsUnspecified():
		return "may not be unspecified (0.0.0.0 or ::)"
	case a.IsLoopback():
		return "may not be in the loopback range (127.0.0.0/8, ::1/128)"
	case a.IsLinkLocalUnicast():
		return "may not be in the link-local range (169.254.0.0/16, fe80::/10)"
	case a.IsMulticast():
		return "may not be in the multicast range (224.0.0.0/4, ff00::/8)"
	}
	return ""
}

// usableAddress reports an address that no host can have, or of a family that the lab
// does not have.
func (r *resolver) usableAddress(a netip.Addr, what string, o topology.Origin) bool {
	if why := nonSpecial(a); why != "" {
		r.Errorf(draft.At(o), "Unusable address", "The %s %s %s. Use the address of a host.", what, a, why)
		return false
	}
	if !topology.PrefixOfFamily(r.Lab.Network.ServiceCIDRs, a.Is6()).IsValid() {
		r.Errorf(draft.At(o), "Family not configured", "The %s %s is %s, which is not configured in this lab. Use an address of another family.", what, a, draft.FamilyName(a.Is6()))
		return false
	}
	return true
}

// externalIPs resolves external_ips.
func (r *resolver) externalIPs(s *resolving) {
	o := s.spec.ExternalIPs
	for _, a := range o.Value {
		if r.usableAddress(a, "external IP", o.Origin) && !slices.Contains(s.ExternalIPs, a) {
			s.ExternalIPs = append(s.ExternalIPs, a)
		}
	}
}

// sourceRanges resolves load_balancer_source_ranges. A range of all addresses, anywhere
// in the list, lifts the restriction.
func (r *resolver) sourceRanges(s *resolving) {
	o := s.spec.SourceRanges
	if o.Set && s.Type != topology.LoadBalancer && !s.broken {
		r.Errorf(draft.At(o.Origin), "Source ranges without load balancer",
			"load_balancer_source_ranges may only be used when type is \"LoadBalancer\". Use that type, or remove it.")
		return
	}
	everybody := false
	for _, text := range o.Value {
		p, err := netip.ParsePrefix(strings.TrimSpace(text))
		if err != nil || p.Addr().Is4In6() {
			r.Errorf(draft.At(o.Origin), "Invalid source range",
				"%q is not a range of addresses. Use a list of CIDRs such as [\"10.240.0.0/24\", \"10.250.0.0/24\"].", draft.Shorten(text))
			continue
		}
		everybody = everybody || p.Bits() == 0
		if p = p.Masked(); !slices.Contains(s.SourceRanges, p) {
			s.SourceRanges = append(s.SourceRanges, p)
		}
	}
	if everybody {
		s.SourceRanges = nil
	}
}

// loadBalancers gives every service of type LoadBalancer its addresses: the written
// ones, else one per family out of load_balancer_cidr.
func (r *resolver) loadBalancers(all []*resolving) {
	pools := map[bool]ipam.AddrPool{}
	for _, p := range r.Lab.Network.LoadBalancerCIDRs {
		pools[p.Addr().Is6()] = ipam.NewAddrPool(p)
	}
	for _, s := range all {
		for _, a := range s.spec.LoadBalancerIPs.Value {
			if pool, ok := pools[a.Is6()]; ok && s.Type == topology.LoadBalancer && pool.Prefix.Contains(a) {
				pool.Claim(a, s.who())
			}
		}
	}
	for _, s := range all {
		proxy := r.Enum(s.spec.LoadBalancerMode, "load balancer IP mode", "VIP", []string{"VIP", "Proxy"}, nil) == "Proxy"
		if s.Type != topology.LoadBalancer {
			r.refuseLoadBalancer(s)
			continue
		}
		if r.balancer(s) {
			continue
		}
		written := s.spec.LoadBalancerIPs
		for _, a := range written.Value {
			if !r.usableAddress(a, "load balancer IP", written.Origin) {
				continue
			}
			if !slices.ContainsFunc(s.LoadBalancers, func(l topology.LoadBalancerIP) bool { return l.Addr == a }) {
				s.LoadBalancers = append(s.LoadBalancers, topology.LoadBalancerIP{Addr: a, Proxy: proxy})
			}
		}
		if written.Set {
			continue
		}
		for _, six := range s.six {
			pool, ok := pools[six]
			if !ok {
				continue
			}
			a, ok := pool.Assign("loadbalancer/"+s.Namespace+"/"+s.Name, pool.All(), s.who())
			if !ok {
				r.Errorf(draft.At(s.Origin), "No load balancer IP left",
					"load_balancer_cidr %s has no address left for service %q. Use a larger load_balancer_cidr.", pool.Prefix, s.Name)
				continue
			}
			s.LoadBalancers = append(s.LoadBalancers, topology.LoadBalancerIP{Addr: a, Proxy: proxy})
		}
	}
}

// refuseLoadBalancer reports what only a load balancer can have.
func (r *resolver) refuseLoadBalancer(s *resolving) {
	if s.broken {
		return
	}
	refuse := func(o topology.Origin, set bool, attribute string) {
		if set {
			r.Errorf(draft.At(o), "Not a load balancer",
				"%s may only be used when type is \"LoadBalancer\". Use that type, or remove it.", attribute)
		}
	}
	refuse(s.spec.LoadBalancerIPs.Origin, s.spec.LoadBalancerIPs.Set, "A load balancer IP")
	refuse(s.spec.LoadBalancerMode.Origin, s.spec.LoadBalancerMode.Set, "ip_mode")
	refuse(s.spec.LoadBalancerOn.Origin, s.spec.LoadBalancerOn.Set, "on")
	if c := s.spec.LoadBalancerCheck; c != nil {
		refuse(c.Origin, true, "A check")
	}
	if len(s.spec.ExternalIPs.Value) == 0 {
		refuse(s.spec.LoadBalancerVia.Origin, s.spec.LoadBalancerVia.Set, "via")
	}
}

// via decides to which nodes the outside routes the service's addresses: the written
// ones; else all, also where a balancer has checks of its own, or under external traffic
// policy Local those where a load balancer's health check would succeed.
func (r *resolver) via(s *resolving) {
	if len(s.LoadBalancers) == 0 && len(s.ExternalIPs) == 0 || s.Type == topology.ExternalName {
		return
	}
	o := s.spec.LoadBalancerVia
	for _, name := range sortedNames(o.Value) {
		if n := r.Node(name, o.Origin); n != nil {
			s.Via = append(s.Via, n)
		}
	}
	if o.Set && len(o.Value) == 0 {
		r.Errorf(draft.At(o.Origin), "No node takes the traffic", "via is an empty list, so no packet from outside would arrive. Name a node, or leave it out for all.")
	}
	if o.Set {
		return
	}
	for _, n := range r.Declared {
		if s.ExternalTrafficPolicy != topology.PolicyLocal || s.Balancer != nil || readyOn(s.Service, n) {
			s.Via = append(s.Via, n)
		}
	}
	if len(s.Via) == 0 {
		s.Via = slices.Clone(r.Declared)
	}
	slices.SortFunc(s.Via, func(a, b *topology.Node) int { return cmp.Compare(a.Name, b.Name) })
}

// readyOn reports whether the service has a ready endpoint on the node.
func readyOn(sv *topology.Service, n *topology.Node) bool {
	return slices.ContainsFunc(sv.Ports, func(p *topology.ServicePort) bool {
		return slices.ContainsFunc(p.Endpoints, func(e *topology.Endpoint) bool { return e.Ready && e.Node == n.Name })
	})
}

// needsHealthCheck reports whether the service has a health check node port.
func (s *resolving) needsHealthCheck() bool {
	return s.Type == topology.LoadBalancer && s.ExternalTrafficPolicy == topology.PolicyLocal
}

// healthCheck checks a written health check node port.
func (r *resolver) healthCheck(s *resolving) bool {
	o := s.spec.HealthCheckNodePort
	switch lo, hi := r.Lab.Proxy.NodePortMin, r.Lab.Proxy.NodePortMax; {
	case !o.Set || s.broken:
		return false
	case !s.needsHealthCheck():
		r.Errorf(draft.At(o.Origin), "Health check without Local policy",
			"health_check_node_port may only be set when type is \"LoadBalancer\" and external_traffic_policy is \"Local\". Set both, or remove it.")
		return false
	case o.Value < max(lo, 1) || o.Value > min(hi, 65535):
		r.Errorf(draft.At(o.Origin), "Node port out of range",
			"The health check node port %d is not in the range %d-%d. Use a number in the range, or change node_port_range of the proxy.", o.Value, lo, hi)
		return false
	}
	return true
}
