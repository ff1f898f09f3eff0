package topology

import (
	"net/netip"
	"slices"
)

// The defaults, those of kubeadm and flannel. The IPv6 ones are used when another
// prefix of the lab is IPv6.
func defaultCIDRs(kind string) (v4, v6 netip.Prefix) {
	switch kind {
	case "pod_cidr":
		return netip.MustParsePrefix("10.244.0.0/16"), netip.MustParsePrefix("fd00:10:244::/56")
	case "load_balancer_cidr": // documentation prefixes, RFC 5737 and RFC 3849
		return netip.MustParsePrefix("203.0.113.0/24"), netip.MustParsePrefix("2001:db8:113::/64")
	case "service_cidr":
		return netip.MustParsePrefix("10.96.0.0/16"), netip.MustParsePrefix("fd00:10:96::/112")
	default:
		return netip.MustParsePrefix("192.168.0.0/24"), netip.MustParsePrefix("fd00:192:168::/64")
	}
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
)

// NetworkModes are the pod-network modes that a lab can have, the default first.
func NetworkModes() []string { return []string{"vxlan", "host-gw"} }

// ProxyModes are the proxy modes that a lab can have, the default first.
func ProxyModes() []string { return []string{"iptables", "ipvs", "none"} }

func (r *resolver) network() {
	s, n := &r.spec.Network, &r.lab.Network
	n.Origin = s.Origin
	n.Mode = r.enum(s.Mode, "pod-network mode", "vxlan", NetworkModes(),
		[]string{"bridge", "udp", "routed", "ipip", "wireguard", "docker", "ipsec", "ebpf"})
	n.MTU = r.number(s.MTU, "MTU", defaultMTU, minMTU, maxMTU)
	n.VXLAN = VXLAN{
		VNI:           r.number(s.VXLAN.VNI, "VXLAN network identifier", defaultVNI, 1, maxVNI),
		Port:          r.number(s.VXLAN.Port, "UDP port", defaultVXLANPort, 1, 65535),
		DirectRouting: s.VXLAN.DirectRouting.Value,
	}
	families := r.families
	n.PodCIDRs = r.cidrs("pod_cidr", s.PodCIDRs, families)
	n.ServiceCIDRs = r.cidrs("service_cidr", s.ServiceCIDRs, families)
	n.NodeCIDRs = r.cidrs("node_cidr", s.NodeCIDRs, families)
	n.LoadBalancerCIDRs = r.cidrs("load_balancer_cidr", s.LoadBalancerCIDRs, families)
	n.KeepSourceToNodes = !s.MasqueradeNodeTraffic.Or(true)
	r.overlaps()
	for _, p := range n.NodeCIDRs {
		gateway := p.Addr().Next()
		n.Gateways = append(n.Gateways, gateway)
		pool := newAddrPool(p)
		pool.claim(gateway, "the wire between the nodes")
		r.wire = append(r.wire, pool)
	}
}

// families says which IP families the lab has: those of the first prefixes that
// are written, else IPv4.
func (r *resolver) families() (v4 bool, v6 bool) {
	s := &r.spec.Network
	if s.Families.Set {
		return s.Families.Value != "ipv6", s.Families.Value != "ipv4"
	}
	for _, o := range []Opt[[]netip.Prefix]{s.PodCIDRs, s.ServiceCIDRs, s.NodeCIDRs} {
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
// the defaults where it was left out. IPv4 comes first.
func (r *resolver) cidrs(name string, o Opt[[]netip.Prefix], families func() (bool, bool)) []netip.Prefix {
	v4, v6 := families()
	var out []netip.Prefix
	if r.spec.Network.Families.Set {
		o = ofFamilies(name, o, v4, v6)
	}
	if !o.Set {
		return defaultsOf(name, v4, v6)
	}
	for _, p := range o.Value {
		switch {
		case !p.IsValid():
			r.errorf(at(o.Origin), "Invalid CIDR", "%s holds no valid CIDR. Write it like \"10.244.0.0/16\".", name)
		case p != p.Masked():
			r.errorf(at(o.Origin), "CIDR has host bits", "%s %s has bits behind its prefix length. Use %s.", name, p, p.Masked())
			out = append(out, p.Masked())
		case slices.ContainsFunc(out, func(q netip.Prefix) bool { return q.Addr().Is4() == p.Addr().Is4() }):
			r.errorf(at(o.Origin), "Two CIDRs of a family", "%s has two %s prefixes. Give one per IP family.", name, familyName(p.Addr()))
		case p.Addr().BitLen()-p.Bits() < 3:
			r.errorf(at(o.Origin), "CIDR too small", "%s %s has no room for a lab. Use a shorter prefix, such as a /24.", name, p)
		default:
			out = append(out, p)
		}
	}
	slices.SortFunc(out, func(a, b netip.Prefix) int { return a.Addr().BitLen() - b.Addr().BitLen() })
	has := func(four bool) bool {
		return slices.ContainsFunc(out, func(p netip.Prefix) bool { return p.Addr().Is4() == four })
	}
	if len(out) == len(o.Value) && (has(true) != v4 || has(false) != v6) {
		r.errorf(at(o.Origin), "IP families differ",
			"%s does not have the same IP families as the other prefixes of the network. Give pod_cidr, service_cidr and node_cidr the same families.", name)
	}
	return out
}

// defaultsOf returns the default prefixes of some families, IPv4 first.
func defaultsOf(name string, v4, v6 bool) []netip.Prefix {
	var out []netip.Prefix
	d4, d6 := defaultCIDRs(name)
	if v4 {
		out = append(out, d4)
	}
	if v6 {
		out = append(out, d6)
	}
	return out
}

// ofFamilies replaces what is written by its part of the given families, and adds
// the default of a family that has none.
func ofFamilies(name string, o Opt[[]netip.Prefix], v4, v6 bool) Opt[[]netip.Prefix] {
	if !o.Set {
		return o
	}
	var kept []netip.Prefix
	for _, p := range o.Value {
		if p.IsValid() && (p.Addr().Is4() && v4 || p.Addr().Is6() && v6) {
			kept = append(kept, p)
		}
	}
	for _, d := range defaultsOf(name, v4, v6) {
		if !slices.ContainsFunc(kept, func(p netip.Prefix) bool { return p.Addr().Is4() == d.Addr().Is4() }) {
			kept = append(kept, d)
		}
	}
	o.Value = kept
	return o
}

// overlaps reports pairs of prefixes that share addresses: a packet for such an
// address would have two ways to go.
func (r *resolver) overlaps() {
	type named struct {
		name   string
		prefix netip.Prefix
		origin Origin
	}
	var all []named
	add := func(name string, prefixes []netip.Prefix, o Origin) {
		for _, p := range prefixes {
			all = append(all, named{name, p, o})
		}
	}
	n, s := &r.lab.Network, &r.spec.Network
	add("node_cidr", n.NodeCIDRs, s.NodeCIDRs.Origin)
	add("pod_cidr", n.PodCIDRs, s.PodCIDRs.Origin)
	add("service_cidr", n.ServiceCIDRs, s.ServiceCIDRs.Origin)
	if r.usesLoadBalancerCIDR() {
		add("load_balancer_cidr", n.LoadBalancerCIDRs, s.LoadBalancerCIDRs.Origin)
	}
	for i, b := range all {
		for _, a := range all[:i] {
			if !a.prefix.Overlaps(b.prefix) {
				continue
			}
			here, other := b, a
			if here.origin == (Origin{}) || other.origin.Line > here.origin.Line {
				here, other = a, b
			}
			r.errorf(at(here.origin, r.spec.Network.Origin), "Overlapping CIDRs",
				"%s %s overlaps %s %s, set %s. Use prefixes that share no address.",
				here.name, here.prefix, other.name, other.prefix, other.origin.seenFrom(here.origin))
		}
	}
}

// usesLoadBalancerCIDR reports whether addresses of load_balancer_cidr matter: nobody
// shall have to move the default out of the way of what a lab does not use.
func (r *resolver) usesLoadBalancerCIDR() bool {
	return r.spec.Network.LoadBalancerCIDRs.Set || slices.ContainsFunc(r.spec.Services, func(s ServiceSpec) bool {
		return s.Type.Value == string(LoadBalancer) && !s.LoadBalancerIPs.Set
	})
}

func (r *resolver) proxy() {
	s := &r.spec.Proxy
	p := &r.lab.Proxy
	p.Origin = s.Origin
	p.Mode = r.enum(s.Mode, "proxy mode", "iptables", ProxyModes(), []string{"nftables", "ebpf"})
	r.ipvs()
	p.MasqueradeAll = s.MasqueradeAll.Value
	p.DetectLocal = r.enum(s.DetectLocal, "way to detect local traffic", "cluster_cidr", []string{"cluster_cidr", "none"}, nil)
	p.LocalNodePorts = s.LocalNodePorts.Or(true)
	p.Layout = r.enum(s.Layout, "rule layout", "current", []string{"current", "legacy"}, nil)
	p.NodePortMin = r.number(s.NodePortMin, "first node port", 30000, 1, 65535)
	p.NodePortMax = r.number(s.NodePortMax, "last node port", 32767, 1, 65535)
	if p.NodePortMin > p.NodePortMax {
		r.errorf(at(s.NodePortMin.Origin, s.NodePortMax.Origin, s.Origin), "Empty node port range",
			"node_port_range begins at %d, after its end %d. Write it like \"30000-32767\".", p.NodePortMin, p.NodePortMax)
		p.NodePortMax = p.NodePortMin
	}
	for _, a := range s.NodePortAddresses.Value {
		if !a.IsValid() {
			r.errorf(at(s.NodePortAddresses.Origin), "Invalid CIDR", "node_port_addresses holds no valid CIDR. Write it like \"192.168.0.0/24\".")
			continue
		}
		p.NodePortAddresses = append(p.NodePortAddresses, a.Masked())
	}
}
