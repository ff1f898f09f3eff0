package resolve

import (
	"cmp"
	"net/netip"
	"slices"

	"github.com/netlab/netlab/topology"
	"github.com/netlab/netlab/topology/resolve/draft"
)

// defaultCIDRs are the defaults of each family, those of kubeadm and flannel. The IPv6
// ones are used when another prefix of the lab is IPv6.
var defaultCIDRs = map[string][2]string{
	"pod_cidr":           {"10.244.0.0/16", "fd00:10:244::/56"},
	"load_balancer_cidr": {"203.0.113.0/24", "2001:db8:113::/64"}, // for documentation, RFC 5737 and RFC 3849
	"service_cidr":       {"10.96.0.0/16", "fd00:10:96::/112"},
	"node_cidr":          {"192.168.0.0/24", "fd00:192:168::/64"},
}

const (
	defaultMTU       = 1500
	defaultVNI       = 1
	defaultVXLANPort = 8472 // Linux's and flannel's, not IANA's 4789
	defaultPrefix4   = 24
	defaultPrefix6   = 64
	minMTU           = 576 // RFC 791: what every IPv4 host accepts
	maxMTU           = 65535
	maxVNI           = 1<<24 - 1
	minSecret        = 16 // bytes, as long as the keys
	maxSecret        = 256
)

func (r *resolver) network() {
	s, n := &r.Spec.Network, &r.Lab.Network
	n.Origin = s.Origin
	n.Mode = r.Catalogue.Networks[r.pick(s.Mode, "pod-network mode", r.Catalogue.NetworkNames(), r.Catalogue.PlannedNetworks)]
	n.MTU = r.Number(s.MTU, "MTU", defaultMTU, minMTU, maxMTU)
	n.VXLAN = topology.VXLAN{
		VNI:           r.Number(s.VXLAN.VNI, "VXLAN network identifier", defaultVNI, 1, maxVNI),
		Port:          r.Number(s.VXLAN.Port, "UDP port", defaultVXLANPort, 1, 65535),
		DirectRouting: s.VXLAN.DirectRouting.Value,
	}
	const always, crossSubnet = "Always", "CrossSubnet"
	n.IPIP.CrossSubnet = r.Enum(s.IPIP.Mode, "mode of IPIP", always, []string{always, crossSubnet}, nil) == crossSubnet
	n.Secret = r.secret(s.Secret)
	named := func(name string, o topology.Opt[[]netip.Prefix]) []netip.Prefix {
		defaults := defaultCIDRs[name]
		if name == "pod_cidr" {
			defaults[0] = cmp.Or(n.Mode.DefaultCIDR, defaults[0])
		}
		return r.cidrs(name, o, defaults)
	}
	n.PodCIDRs = named("pod_cidr", s.PodCIDRs)
	n.ServiceCIDRs = named("service_cidr", s.ServiceCIDRs)
	n.NodeCIDRs = named("node_cidr", s.NodeCIDRs)
	n.LoadBalancerCIDRs = named("load_balancer_cidr", s.LoadBalancerCIDRs)
	n.KeepSourceToNodes = !s.MasqueradeNodeTraffic.Or(true)
	n.FlannelLayout = r.Enum(s.FlannelLayout, "layout of flannel's rules", topology.FlannelCurrent, []string{topology.FlannelCurrent, topology.FlannelOld}, nil)
	if n.Docker = s.Docker.Value; n.Docker && n.Mode.SharedCIDR {
		r.Errorf(draft.At(s.Docker.Origin, s.Origin), "Docker is there already", "In mode %s the pod network is Docker's, with its bridge and rules. Remove docker, or use mode vxlan.", n.Mode.Name)
	}
	if o := s.FlannelLayout; o.Set && !n.Mode.FlannelRules() {
		r.Errorf(draft.At(o.Origin, s.Origin), "Flannel's rules in another mode", "In mode %s the rules of nodes are not flannel's. Remove flannel_layout, or use mode vxlan.", n.Mode.Name)
	}
}

// secret is what keys are derived from: what the file says, or the name of the lab, which
// makes labs equal whenever they are built, and hides nothing.
func (r *resolver) secret(o topology.Opt[string]) string {
	switch {
	case !r.Lab.Network.Mode.Encrypts:
		return ""
	case !o.Set:
		return "netlab " + r.Lab.Name
	case len(o.Value) < minSecret || len(o.Value) > maxSecret:
		r.Errorf(draft.At(o.Origin), "Secret of wrong length", "The secret has %d bytes, from which no key is derived. Write one of %d to %d bytes, or leave it out.",
			len(o.Value), minSecret, maxSecret)
	}
	return o.Value
}

// families says which IP families the lab has: those of the first prefixes that
// are written, else IPv4.
func (r *resolver) families() (v4 bool, v6 bool) {
	s := &r.Spec.Network
	if s.Families.Set {
		return s.Families.Value != "ipv6", s.Families.Value != "ipv4"
	}
	for _, o := range []topology.Opt[[]netip.Prefix]{s.PodCIDRs, s.ServiceCIDRs, s.NodeCIDRs} {
		for _, p := range o.Value {
			v4 = v4 || p.IsValid() && p.Addr().Is4()
			v6 = v6 || p.IsValid() && p.Addr().Is6()
		}
		if v4 || v6 {
			return v4, v6
		}
	}
	return true, false
}

// cidrs checks one list of prefixes, at most one per family, and fills it from
// the defaults of the families where it was left out. IPv4 comes first.
func (r *resolver) cidrs(name string, o topology.Opt[[]netip.Prefix], defaults [2]string) []netip.Prefix {
	v4, v6 := r.families()
	var out []netip.Prefix
	if r.Spec.Network.Families.Set {
		o = ofFamilies(o, defaults, v4, v6)
	}
	if !o.Set {
		return defaultsOf(defaults, v4, v6)
	}
	for _, p := range o.Value {
		switch {
		case !p.IsValid():
			r.Errorf(draft.At(o.Origin), "Invalid CIDR", "%s contains no valid CIDR. Write it like \"10.244.0.0/16\".", name)
		case p != p.Masked():
			r.Errorf(draft.At(o.Origin), "CIDR has host bits", "%s %s has bits beyond its prefix length. Use %s.", name, p, p.Masked())
			out = append(out, p.Masked())
		case topology.PrefixOfFamily(out, p.Addr().Is6()).IsValid():
			r.Errorf(draft.At(o.Origin), "Two CIDRs of a family", "%s has two %s prefixes. Give one per IP family.", name, draft.FamilyName(p.Addr().Is6()))
		case p.Addr().BitLen()-p.Bits() < 3:
			r.Errorf(draft.At(o.Origin), "CIDR too small", "%s %s has no room for a lab. Use a shorter prefix, such as a /24.", name, p)
		default:
			out = append(out, p)
		}
	}
	slices.SortFunc(out, func(a, b netip.Prefix) int { return a.Addr().BitLen() - b.Addr().BitLen() })
	has := func(six bool) bool { return topology.PrefixOfFamily(out, six).IsValid() }
	if len(out) == len(o.Value) && (has(false) != v4 || has(true) != v6) {
		r.Errorf(draft.At(o.Origin), "IP families differ",
			"%s does not have the same IP families as the other prefixes of the network. Give pod_cidr, service_cidr and node_cidr the same families.", name)
	}
	return out
}

// defaultsOf returns the default prefixes of some families, IPv4 first.
func defaultsOf(defaults [2]string, v4, v6 bool) []netip.Prefix {
	var out []netip.Prefix
	for i, has := range []bool{v4, v6} {
		if has {
			out = append(out, netip.MustParsePrefix(defaults[i]))
		}
	}
	return out
}

// ofFamilies replaces what is written by its part of the given families, and adds
// the default of a family that has none.
func ofFamilies(o topology.Opt[[]netip.Prefix], defaults [2]string, v4, v6 bool) topology.Opt[[]netip.Prefix] {
	if !o.Set {
		return o
	}
	var kept []netip.Prefix
	for _, p := range o.Value {
		if p.IsValid() && (p.Addr().Is4() && v4 || p.Addr().Is6() && v6) {
			kept = append(kept, p)
		}
	}
	for _, d := range defaultsOf(defaults, v4, v6) {
		if !topology.PrefixOfFamily(kept, d.Addr().Is6()).IsValid() {
			kept = append(kept, d)
		}
	}
	o.Value = kept
	return o
}

// overlaps reports pairs of prefixes that share addresses: a packet for such an
// address would have two routes.
func (r *resolver) overlaps() {
	type named struct {
		name   string
		prefix netip.Prefix
		origin topology.Origin
	}
	var all []named
	add := func(name string, prefixes []netip.Prefix, o topology.Origin) {
		for _, p := range prefixes {
			all = append(all, named{name, p, o})
		}
	}
	n, s := &r.Lab.Network, &r.Spec.Network
	add("node_cidr", n.NodeCIDRs, s.NodeCIDRs.Origin)
	for _, sub := range r.Lab.Subnets[1:] {
		add(cidrOf(sub), sub.CIDRs, sub.Origin)
	}
	add("pod_cidr", n.PodCIDRs, s.PodCIDRs.Origin)
	add("service_cidr", n.ServiceCIDRs, s.ServiceCIDRs.Origin)
	if docker := n.DockerNet(false); docker.IsValid() && !n.Mode.SharedCIDR {
		add("Docker's network", []netip.Prefix{docker}, s.Docker.Origin)
	}
	if r.usesLoadBalancerCIDR() {
		add("load_balancer_cidr", n.LoadBalancerCIDRs, s.LoadBalancerCIDRs.Origin)
	}
	for i, b := range all {
		for _, a := range all[:i] {
			if !a.prefix.Overlaps(b.prefix) {
				continue
			}
			here, other := b, a
			if here.origin == (topology.Origin{}) || other.origin.Line > here.origin.Line {
				here, other = a, b
			}
			r.Errorf(draft.At(here.origin, r.Spec.Network.Origin), "Overlapping CIDRs",
				"%s %s overlaps %s %s, set %s. Use prefixes that share no address.",
				here.name, here.prefix, other.name, other.prefix, other.origin.SeenFrom(here.origin))
		}
	}
}

// usesLoadBalancerCIDR reports whether addresses of load_balancer_cidr matter:
// a default that the lab does not use must not conflict with other prefixes.
func (r *resolver) usesLoadBalancerCIDR() bool {
	return r.Spec.Network.LoadBalancerCIDRs.Set || slices.ContainsFunc(r.Spec.Services, func(s topology.ServiceSpec) bool {
		return s.Type.Value == string(topology.LoadBalancer) && !s.LoadBalancerIPs.Set
	})
}
