package services

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/netlab/netlab/topology"
	"github.com/netlab/netlab/topology/ipam"
	"github.com/netlab/netlab/topology/resolve/draft"
)

// skippedClusterIPs are the first addresses of the service CIDR, which are left to
// manual choice: 10.96.0.1 and 10.96.0.10 are taken in every cluster.
const skippedClusterIPs = 10

// none is the cluster IP of a headless service.
const none = "None"

// serviceFamilies decides the IP families of a service, and checks its cluster IPs:
// initIPFamilyFields in kubernetes/pkg/registry/core/service/storage/alloc.go.
func (r *resolver) serviceFamilies(s *resolving) {
	if s.Type == topology.ExternalName {
		return
	}
	given := r.givenClusterIPs(s)
	written := r.writtenFamilies(s)
	policies := []string{"SingleStack", "PreferDualStack", "RequireDualStack"}
	def := "SingleStack"
	if s.headless && s.Selector == nil {
		def = "PreferDualStack"
	}
	policy := r.Enum(s.spec.IPFamilyPolicy, "IP family policy", def, policies, nil)
	if policy == "SingleStack" {
		several := func(o topology.Origin, what string) {
			r.Errorf(draft.At(s.spec.IPFamilyPolicy.Origin, o), "Single stack with two families",
				"ip_family_policy must be \"RequireDualStack\" or \"PreferDualStack\" when multiple %s are specified. Set it, or give one.", what)
		}
		if len(written) == 2 {
			several(s.spec.IPFamilies.Origin, "IP families")
		} else if len(given) == 2 {
			several(s.clusterIPOrigin(), "cluster IPs")
		}
	}
	for i, a := range given {
		if i < len(written) && a.Is6() != written[i] {
			r.Errorf(draft.At(s.clusterIPOrigin()), "Cluster IP of other family",
				"The cluster IP %s is not an %s address, as ip_families says it is. Give the addresses in the order of ip_families.", a, draft.FamilyName(written[i]))
			return
		}
		if i >= len(written) {
			written = append(written, a.Is6())
		}
	}
	if len(written) == 0 {
		written = append(written, r.primary6())
	}
	dual := len(r.Lab.Network.ServiceCIDRs) == 2
	if policy == "RequireDualStack" && !dual {
		r.Errorf(draft.At(s.spec.IPFamilyPolicy.Origin), "Lab has one family",
			"This lab is not configured for dual-stack services. Give pod_cidr, service_cidr and node_cidr a prefix of each family.")
	}
	if policy != "SingleStack" && len(written) == 1 && dual {
		written = append(written, !written[0])
	}
	s.six = written
}

// primary6 reports whether the first family of the lab is IPv6: that of the first
// service CIDR as written.
func (r *resolver) primary6() bool {
	if o := r.Spec.Network.ServiceCIDRs; o.Set && len(o.Value) > 0 && o.Value[0].IsValid() {
		return o.Value[0].Addr().Is6()
	}
	cidrs := r.Lab.Network.ServiceCIDRs
	return len(cidrs) > 0 && cidrs[0].Addr().Is6()
}

// writtenFamilies reads ip_families.
func (r *resolver) writtenFamilies(s *resolving) []bool {
	var out []bool
	o := s.spec.IPFamilies
	for _, f := range o.Value {
		six := f == draft.IPv6
		switch {
		case f != draft.IPv4 && f != draft.IPv6:
			r.Errorf(draft.At(o.Origin), "Unknown IP family", "%q is not an IP family.%s Use IPv4 or IPv6.", draft.Shorten(f), topology.DidYouMean(f, []string{draft.IPv4, draft.IPv6}))
		case slices.Contains(out, six):
			r.Errorf(draft.At(o.Origin), "Family given twice", "ip_families names %s twice. Name each family once.", f)
		case !topology.PrefixOfFamily(r.Lab.Network.ServiceCIDRs, six).IsValid():
			r.Errorf(draft.At(o.Origin), "Family not configured",
				"%s is not configured in this lab. Give pod_cidr, service_cidr and node_cidr a prefix of it, or use another family.", f)
		default:
			out = append(out, six)
		}
	}
	return out
}

func (s *resolving) clusterIPOrigin() topology.Origin {
	if s.spec.ClusterIPs.Set {
		return s.spec.ClusterIPs.Origin
	}
	return s.spec.ClusterIP.Origin
}

// givenClusterIPs reads cluster_ip or cluster_ips and notes a headless service.
func (r *resolver) givenClusterIPs(s *resolving) []netip.Addr {
	list := s.spec.ClusterIPs.Value
	if !s.spec.ClusterIPs.Set && s.spec.ClusterIP.Set {
		list = []string{s.spec.ClusterIP.Value}
	}
	o := s.clusterIPOrigin()
	if slices.Contains(list, none) {
		s.headless = true
		if len(list) > 1 {
			r.Errorf(draft.At(o), "None and cluster IPs", "\"None\" must be the first and only value of cluster_ips. Remove the others.")
		}
		if s.hasNodePorts() {
			r.Errorf(draft.At(o), "Headless "+string(s.Type)+" service",
				"cluster_ip may not be \"None\" when type is %q. Use type = \"ClusterIP\", or remove cluster_ip.", s.Type)
		}
		return nil
	}
	if len(list) > 2 {
		r.Errorf(draft.At(o), "Too many cluster IPs", "cluster_ips may have one address per IP family. Give at most two.")
		return nil
	}
	var out []netip.Addr
	for _, text := range list {
		a, err := netip.ParseAddr(text)
		switch {
		case err != nil || a.Zone() != "" || a.Is4In6():
			r.Errorf(draft.At(o), "Invalid address", "%q is not an IP address. Use an address of service_cidr, or \"None\".", draft.Shorten(text))
		case slices.ContainsFunc(out, func(b netip.Addr) bool { return a.Is4() == b.Is4() }):
			r.Errorf(draft.At(o), "Two addresses of a family", "cluster_ips may have no more than one address for each IP family. Remove %s.", a)
		default:
			before := len(r.Problems)
			r.AddressFamily(topology.Opt[netip.Addr]{Value: a, Set: true, Origin: o}, r.Lab.Network.ServiceCIDRs, "service_cidr")
			if len(r.Problems) == before {
				out = append(out, a)
			}
		}
	}
	s.ClusterIPs = out // completed by clusterIPs
	return out
}

// clusterIPs gives every service that is not headless one address in each of its
// families: the written one, else a free one.
func (r *resolver) clusterIPs(all []*resolving) {
	given := map[*resolving][]netip.Addr{}
	for _, s := range all {
		given[s], s.ClusterIPs = s.ClusterIPs, nil
	}
	pools := map[bool]ipam.AddrPool{}
	for _, prefix := range r.Lab.Network.ServiceCIDRs {
		pool := ipam.NewAddrPool(prefix)
		pools[prefix.Addr().Is6()] = pool
		for _, s := range all {
			for _, a := range given[s] {
				if draft.SameFamily(a, prefix) {
					r.Claim(pool, "service_cidr", topology.Opt[netip.Addr]{Value: a, Set: true, Origin: s.clusterIPOrigin()}, s.who())
				}
			}
		}
	}
	for _, s := range all {
		if s.headless || s.Type == topology.ExternalName {
			continue
		}
		for _, six := range s.six {
			r.clusterIP(s, pools[six], given[s])
		}
	}
}

func (r *resolver) clusterIP(s *resolving, pool ipam.AddrPool, given []netip.Addr) {
	if pool.Pool == nil {
		return // a family that the lab does not have, and reported
	}
	for _, a := range given {
		if draft.SameFamily(a, pool.Prefix) {
			s.ClusterIPs = append(s.ClusterIPs, a)
			return
		}
	}
	w := ipam.Window{Lo: min(skippedClusterIPs+1, pool.Size/2), Hi: pool.Size}
	a, ok := pool.Assign("service/"+s.Namespace+"/"+s.Name, w, fmt.Sprintf("service %q", s.Name))
	if !ok {
		r.Errorf(draft.At(s.Origin), "No cluster IP left",
			"service_cidr %s has no address left for service %q. Use a larger service_cidr.", pool.Prefix, s.Name)
		return
	}
	s.ClusterIPs = append(s.ClusterIPs, a)
}
