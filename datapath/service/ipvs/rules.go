package ipvs

import (
	"cmp"
	"net/netip"
	"slices"

	"github.com/netlab/netlab/datapath/plan/iptables"
	"github.com/netlab/netlab/topology"
)

// The names of the chains.
const (
	services      = "KUBE-SERVICES"
	postrouting   = "KUBE-POSTROUTING"
	nodePorts     = "KUBE-NODE-PORT"
	loadBalancers = "KUBE-LOAD-BALANCER"
	markMasq      = "KUBE-MARK-MASQ"
	forward       = "KUBE-FORWARD"
	proxyFirewall = "KUBE-PROXY-FIREWALL"
	sourceRanges  = "KUBE-SOURCE-RANGES-FIREWALL"
	ipvsFilter    = "KUBE-IPVS-FILTER"
	ipvsOutFilter = "KUBE-IPVS-OUT-FILTER"
	masqueradeBit = 1 << 14 // kube-proxy's --ipvs-masquerade-bit
	loopback4     = "127.0.0.0/8"
	loopback6     = "::1/128"
)

// parts are the parts of a packet that are matched with a set.
type parts = string

// both are the address and the port of a destination.
const both parts = "dst,dst"

var (
	toMarkMasq = iptables.Jump{Chain: markMasq}
	isMarked   = iptables.Mark{Value: masqueradeBit, Mask: masqueradeBit}
	notMarked  = iptables.Mark{Value: masqueradeBit, Mask: masqueradeBit, Not: true}
)

// rules adds all rules, each chain in kube-proxy's order (writeIptablesRules in
// kubernetes pkg/proxy/ipvs/proxier.go).
func (c *compiler) rules() {
	c.hooks()
	c.serviceRules()
	c.setRules()
	c.firewallRules()
	c.static()
}

// hooks leads from the built-in chains to ours, in the order that results from
// kube-proxy inserting each at the head.
func (c *compiler) hooks() {
	for _, h := range []struct {
		table             *iptables.Builder
		from, to, comment string
	}{
		{&c.nat, "PREROUTING", services, "kubernetes service portals"},
		{&c.nat, "OUTPUT", services, "kubernetes service portals"},
		{&c.nat, "POSTROUTING", postrouting, "kubernetes postrouting rules"},
		{&c.filter, "INPUT", ipvsFilter, "kubernetes ipvs access filter"},
		{&c.filter, "INPUT", proxyFirewall, "kube-proxy firewall rules"},
		{&c.filter, "INPUT", nodePorts, "kubernetes health check rules"},
		{&c.filter, "FORWARD", proxyFirewall, "kube-proxy firewall rules"},
		{&c.filter, "FORWARD", forward, "kubernetes forwarding rules"},
		{&c.filter, "OUTPUT", ipvsOutFilter, "kubernetes ipvs access filter"},
	} {
		h.table.Hook(h.from, h.to, c.proxy, iptables.Comment{Text: h.comment})
	}
	for _, name := range []string{nodePorts, loadBalancers, markMasq} {
		c.nat.Ensure(name, "")
	}
	c.filter.Ensure(sourceRanges, "")
}

// inSet matches a set of this family.
func (c *compiler) inSet(set string, p parts) iptables.Match {
	return iptables.MatchSet{Set: nameOfSet(set, c.ipv6), Parts: p}
}

// commented is the same after the comment of the set.
func (c *compiler) commented(set string, p parts, more ...iptables.Match) []iptables.Match {
	return append([]iptables.Match{iptables.Comment{Text: kinds[set].comment}, c.inSet(set, p)}, more...)
}

// serviceRules adds KUBE-SERVICES, which only decides what is masqueraded.
func (c *compiler) serviceRules() {
	add := func(target iptables.Target, matches ...iptables.Match) {
		c.nat.Add(services, c.proxy, target, matches...)
	}
	lo := loopback4
	if c.ipv6 {
		lo = loopback6
	}
	add(iptables.Return{}, iptables.Src{Prefix: netip.MustParsePrefix(lo)})
	about := func(set string, p parts, target iptables.Target, more ...iptables.Match) {
		if c.filled(set) {
			add(target, c.commented(set, p, more...)...)
		}
	}
	about(setLoadBalancer, both, iptables.Jump{Chain: loadBalancers})
	switch {
	case c.view.Lab.Proxy.MasqueradeAll:
		about(setClusterIP, both, toMarkMasq)
	case c.local.IsValid():
		about(setClusterIP, both, toMarkMasq, iptables.Src{Prefix: c.local, Not: true})
	default:
		// What the node itself sends to a service has the service's address as its
		// source, too, so no answer would come back.
		about(setClusterIP, "src,dst", toMarkMasq)
	}
	about(setExternalIP, both, toMarkMasq)
	for _, set := range []string{setExternalIP, setExternalIPLocal} {
		// From outside, or to an address of this very node.
		about(set, both, iptables.Accept{}, iptables.PhysdevIsIn{Not: true}, iptables.AddrType{Src: "LOCAL", NotSrc: true})
		about(set, both, iptables.Accept{}, iptables.AddrType{Dst: "LOCAL"})
	}
	add(iptables.Jump{Chain: nodePorts}, iptables.AddrType{Dst: "LOCAL"})
	// Other rules in PREROUTING for local addresses, such as host ports, do not apply
	// to these.
	for _, set := range []string{setClusterIP, setLoadBalancer} {
		if c.filled(set) {
			add(iptables.Accept{}, c.inSet(set, both))
		}
	}
}

// setRules adds the rules for one set each.
func (c *compiler) setRules() {
	for _, r := range []struct {
		set, chain string
		parts      parts
		proto      string
		target     iptables.Target
	}{
		{setLoopBack, postrouting, "dst,dst,src", "", iptables.Masquerade{}},
		{setLoadBalancerLocal, loadBalancers, both, "", iptables.Return{}},
		{setNodePortLocalTCP, nodePorts, "dst", "tcp", iptables.Return{}},
		{setNodePortTCP, nodePorts, "dst", "tcp", toMarkMasq},
		{setNodePortLocalUDP, nodePorts, "dst", "udp", iptables.Return{}},
		{setNodePortUDP, nodePorts, "dst", "udp", toMarkMasq},
		{setNodePortLocalSCTP, nodePorts, both, "sctp", iptables.Return{}},
		{setNodePortSCTP, nodePorts, both, "sctp", toMarkMasq},
	} {
		if !c.filled(r.set) {
			continue
		}
		matches := c.commented(r.set, r.parts)
		if r.proto != "" {
			matches = append([]iptables.Match{iptables.Proto{Name: r.proto, Plain: true}}, matches...)
		}
		c.nat.Add(r.chain, c.proxy, r.target, matches...)
	}
	c.nat.Add(loadBalancers, c.proxy, toMarkMasq)
}

// firewallRules drops what source ranges exclude: other sources at INPUT, where a packet
// still has the service's address, and the node itself at OUTPUT, after IPVS.
func (c *compiler) firewallRules() {
	add := func(chain, set string, p parts, target iptables.Target) {
		if c.filled(set) {
			c.filter.Add(chain, c.proxy, target, c.commented(set, p)...)
		}
	}
	add(proxyFirewall, setLoadBalancerFW, both, iptables.Jump{Chain: sourceRanges})
	add(sourceRanges, setLoadBalancerSource, "dst,dst,src", iptables.Return{})
	add(sourceRanges, setLoadBalancerSourceIP, "dst,dst,src", iptables.Return{})
	c.filter.Add(sourceRanges, c.proxy, iptables.Drop{})
	slices.SortFunc(c.barred, func(a, b serverKey) int { return cmp.Or(a.addr.Compare(b.addr), cmp.Compare(a.proto, b.proto)) })
	for _, k := range c.barred {
		c.filter.Add(ipvsOutFilter, c.proxy, iptables.Drop{}, iptables.Src{Prefix: topology.Single(k.addr.Addr())},
			iptables.IPVS{Addr: k.addr.Addr(), Proto: k.proto, Port: k.addr.Port()})
	}
}

// static adds the rules that exist without any service.
func (c *compiler) static() {
	o := c.proxy
	c.filter.Add(forward, o, iptables.Accept{}, iptables.Comment{Text: "kubernetes forwarding rules"}, isMarked)
	c.filter.Add(forward, o, iptables.Accept{}, iptables.Comment{Text: "kubernetes forwarding conntrack rule"},
		iptables.CTState{States: []string{"RELATED", "ESTABLISHED"}})
	c.filter.Add(nodePorts, o, iptables.Accept{}, c.commented(setHealthCheck, "dst")...)

	// Service addresses are the node's own, but its sockets do not serve them: kubernetes
	// issue 72236.
	for _, set := range []string{setLoadBalancer, setClusterIP, setExternalIP, setExternalIPLocal} {
		c.filter.Add(ipvsFilter, o, iptables.Return{}, c.inSet(set, both))
	}
	c.filter.Add(ipvsFilter, o, iptables.Return{}, c.inSet(setHealthCheck, "dst"))
	c.filter.Add(ipvsFilter, o, iptables.Refuse(c.ipv6), iptables.CTState{States: []string{"NEW"}}, c.inSet(setIPVSIPs, "dst"))

	c.nat.Add(postrouting, o, iptables.Return{}, notMarked)
	// Without the mark a packet that passes here again, as after a tunnel, is not
	// rewritten twice.
	c.nat.Add(postrouting, o, iptables.XorMark{Bits: masqueradeBit})
	c.nat.Add(postrouting, o, iptables.Masquerade{RandomFully: true}, iptables.Comment{Text: "kubernetes service traffic requiring SNAT"})
	c.nat.Add(markMasq, o, iptables.OrMark{Bits: masqueradeBit})
}
