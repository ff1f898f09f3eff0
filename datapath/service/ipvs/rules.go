package ipvs

import (
	"cmp"
	"net/netip"
	"slices"

	"github.com/netlab/netlab/datapath/plan"
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

// parts are the parts of a packet that a set is asked for.
type parts = string

// both are the address and the port of a destination.
const both parts = "dst,dst"

// comments of the rules that ask a set.
func comments() map[string]string {
	return map[string]string{
		setLoopBack:             "Kubernetes endpoints dst ip:port, source ip for solving hairpin purpose",
		setClusterIP:            "Kubernetes service cluster ip + port for masquerade purpose",
		setExternalIP:           "Kubernetes service external ip + port for masquerade and filter purpose",
		setExternalIPLocal:      "Kubernetes service external ip + port with externalTrafficPolicy=local",
		setLoadBalancer:         "Kubernetes service lb portal",
		setLoadBalancerLocal:    "Kubernetes service load balancer ip + port with externalTrafficPolicy=local",
		setLoadBalancerFW:       "Kubernetes service load balancer ip + port for load balancer with sourceRange",
		setLoadBalancerSourceIP: "Kubernetes service load balancer ip + port + source IP for packet filter purpose",
		setLoadBalancerSource:   "Kubernetes service load balancer ip + port + source cidr for packet filter purpose",
		setNodePortTCP:          "Kubernetes nodeport TCP port for masquerade purpose",
		setNodePortLocalTCP:     "Kubernetes nodeport TCP port with externalTrafficPolicy=local",
		setNodePortUDP:          "Kubernetes nodeport UDP port for masquerade purpose",
		setNodePortLocalUDP:     "Kubernetes nodeport UDP port with externalTrafficPolicy=local",
		setNodePortSCTP:         "Kubernetes nodeport SCTP port for masquerade purpose with type 'hash ip:port'",
		setNodePortLocalSCTP:    "Kubernetes nodeport SCTP port with externalTrafficPolicy=local with type 'hash ip:port'",
		setHealthCheck:          "Kubernetes health check node port",
	}
}

var (
	toMarkMasq = plan.Jump{Chain: markMasq}
	isMarked   = plan.Mark{Value: masqueradeBit, Mask: masqueradeBit}
	notMarked  = plan.Mark{Value: masqueradeBit, Mask: masqueradeBit, Not: true}
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
		table             *tableBuilder
		from, to, comment string
	}{
		{c.nat, "PREROUTING", services, "kubernetes service portals"},
		{c.nat, "OUTPUT", services, "kubernetes service portals"},
		{c.nat, "POSTROUTING", postrouting, "kubernetes postrouting rules"},
		{c.filter, "INPUT", ipvsFilter, "kubernetes ipvs access filter"},
		{c.filter, "INPUT", proxyFirewall, "kube-proxy firewall rules"},
		{c.filter, "INPUT", nodePorts, "kubernetes health check rules"},
		{c.filter, "FORWARD", proxyFirewall, "kube-proxy firewall rules"},
		{c.filter, "FORWARD", forward, "kubernetes forwarding rules"},
		{c.filter, "OUTPUT", ipvsOutFilter, "kubernetes ipvs access filter"},
	} {
		h.table.ensure(h.from, "ACCEPT")
		h.table.ensure(h.to, "")
		h.table.add(h.from, c.proxy, plan.Jump{Chain: h.to}, plan.Comment{Text: h.comment})
	}
	for _, name := range []string{nodePorts, loadBalancers, markMasq} {
		c.nat.ensure(name, "")
	}
	c.filter.ensure(sourceRanges, "")
}

// inSet asks a set of this family.
func (c *compiler) inSet(set string, p parts) plan.Match {
	return plan.MatchSet{Set: nameOfSet(set, c.ipv6), Parts: p}
}

// said is the same after the comment of the set.
func (c *compiler) said(set string, p parts, more ...plan.Match) []plan.Match {
	return append([]plan.Match{plan.Comment{Text: comments()[set]}, c.inSet(set, p)}, more...)
}

// serviceRules adds KUBE-SERVICES, which only decides who is masqueraded.
func (c *compiler) serviceRules() {
	add := func(target plan.Target, matches ...plan.Match) { c.nat.add(services, c.proxy, target, matches...) }
	lo := loopback4
	if c.ipv6 {
		lo = loopback6
	}
	add(plan.Return{}, plan.Src{Prefix: netip.MustParsePrefix(lo)})
	if c.filled(setLoadBalancer) {
		add(plan.Jump{Chain: loadBalancers}, c.said(setLoadBalancer, both)...)
	}
	if c.filled(setClusterIP) {
		switch {
		case c.view.Lab.Proxy.MasqueradeAll:
			add(toMarkMasq, c.said(setClusterIP, both)...)
		case c.local.IsValid():
			add(toMarkMasq, c.said(setClusterIP, both, plan.Src{Prefix: c.local, Not: true})...)
		default:
			// What the node itself sends to a service has the service's address as
			// its source, too, and no answer would find the way back.
			add(toMarkMasq, c.said(setClusterIP, "src,dst")...)
		}
	}
	if c.filled(setExternalIP) {
		add(toMarkMasq, c.said(setExternalIP, both)...)
	}
	for _, set := range []string{setExternalIP, setExternalIPLocal} {
		if c.filled(set) {
			// From outside, or to an address of this very node.
			add(plan.Accept{}, c.said(set, both, plan.PhysdevIsIn{Not: true}, plan.AddrType{Src: "LOCAL", NotSrc: true})...)
			add(plan.Accept{}, c.said(set, both, plan.AddrType{Dst: "LOCAL"})...)
		}
	}
	add(plan.Jump{Chain: nodePorts}, plan.AddrType{Dst: "LOCAL"})
	// Whatever others have in PREROUTING for local addresses, such as host ports, is
	// not for these.
	for _, set := range []string{setClusterIP, setLoadBalancer} {
		if c.filled(set) {
			add(plan.Accept{}, c.inSet(set, both))
		}
	}
}

// setRules adds the rules that are there for one set each.
func (c *compiler) setRules() {
	for _, r := range []struct {
		set, chain string
		parts      parts
		proto      string
		target     plan.Target
	}{
		{setLoopBack, postrouting, "dst,dst,src", "", plan.Masquerade{}},
		{setLoadBalancerLocal, loadBalancers, both, "", plan.Return{}},
		{setNodePortLocalTCP, nodePorts, "dst", "tcp", plan.Return{}},
		{setNodePortTCP, nodePorts, "dst", "tcp", toMarkMasq},
		{setNodePortLocalUDP, nodePorts, "dst", "udp", plan.Return{}},
		{setNodePortUDP, nodePorts, "dst", "udp", toMarkMasq},
		{setNodePortLocalSCTP, nodePorts, both, "sctp", plan.Return{}},
		{setNodePortSCTP, nodePorts, both, "sctp", toMarkMasq},
	} {
		if !c.filled(r.set) {
			continue
		}
		matches := c.said(r.set, r.parts)
		if r.proto != "" {
			matches = append([]plan.Match{plan.Proto{Name: r.proto}}, matches...)
		}
		c.nat.add(r.chain, c.proxy, r.target, matches...)
	}
	c.nat.add(loadBalancers, c.proxy, toMarkMasq)
}

// firewallRules adds what source ranges keep out: others at INPUT, where a packet
// still has the service's address, and the node itself at OUTPUT, after IPVS.
func (c *compiler) firewallRules() {
	add := func(chain, set string, p parts, target plan.Target) {
		if c.filled(set) {
			c.filter.add(chain, c.proxy, target, c.said(set, p)...)
		}
	}
	add(proxyFirewall, setLoadBalancerFW, both, plan.Jump{Chain: sourceRanges})
	add(sourceRanges, setLoadBalancerSource, "dst,dst,src", plan.Return{})
	add(sourceRanges, setLoadBalancerSourceIP, "dst,dst,src", plan.Return{})
	c.filter.add(sourceRanges, c.proxy, plan.Drop{})
	slices.SortFunc(c.barred, func(a, b serverKey) int { return cmp.Or(a.addr.Compare(b.addr), cmp.Compare(a.proto, b.proto)) })
	for _, k := range c.barred {
		c.filter.add(ipvsOutFilter, c.proxy, plan.Drop{}, plan.Src{Prefix: single(k.addr.Addr())},
			plan.IPVS{Addr: k.addr.Addr(), Proto: k.proto, Port: k.addr.Port()})
	}
}

// static adds the rules that are there without any service.
func (c *compiler) static() {
	o := c.proxy
	c.filter.add(forward, o, plan.Accept{}, plan.Comment{Text: "kubernetes forwarding rules"}, isMarked)
	c.filter.add(forward, o, plan.Accept{}, plan.Comment{Text: "kubernetes forwarding conntrack rule"},
		plan.CTState{States: []string{"RELATED", "ESTABLISHED"}})
	c.filter.add(nodePorts, o, plan.Accept{}, c.said(setHealthCheck, "dst")...)

	// Service addresses are the node's own, but its sockets are not for them: kubernetes
	// issue 72236.
	for _, set := range []string{setLoadBalancer, setClusterIP, setExternalIP, setExternalIPLocal} {
		c.filter.add(ipvsFilter, o, plan.Return{}, c.inSet(set, both))
	}
	c.filter.add(ipvsFilter, o, plan.Return{}, c.inSet(setHealthCheck, "dst"))
	var reject plan.Reject
	if c.ipv6 {
		reject.With = "icmp6-port-unreachable"
	}
	c.filter.add(ipvsFilter, o, reject, plan.CTState{States: []string{"NEW"}}, c.inSet(setIPVSIPs, "dst"))

	c.nat.add(postrouting, o, plan.Return{}, notMarked)
	// Without the mark a packet that passes here again, as after a tunnel, is not
	// rewritten twice.
	c.nat.add(postrouting, o, plan.XorMark{Bits: masqueradeBit})
	c.nat.add(postrouting, o, plan.Masquerade{RandomFully: true}, plan.Comment{Text: "kubernetes service traffic requiring SNAT"})
	c.nat.add(markMasq, o, plan.OrMark{Bits: masqueradeBit})
}

// tableBuilder gathers the chains of a table.
type tableBuilder struct{ t plan.Table }

func newTable(name string, ipv6 bool) *tableBuilder {
	return &tableBuilder{plan.Table{Name: name, IPv6: ipv6}}
}

// ensure returns a chain, which it makes where it is missing.
func (b *tableBuilder) ensure(name, policy string) *plan.Chain {
	for i := range b.t.Chains {
		if b.t.Chains[i].Name == name {
			return &b.t.Chains[i]
		}
	}
	b.t.Chains = append(b.t.Chains, plan.Chain{Name: name, Policy: policy})
	return &b.t.Chains[len(b.t.Chains)-1]
}

// add appends a rule to a chain.
func (b *tableBuilder) add(chain string, o plan.Origin, target plan.Target, matches ...plan.Match) {
	c := b.ensure(chain, "")
	c.Rules = append(c.Rules, plan.Rule{Matches: matches, Target: target, Origin: o})
}
