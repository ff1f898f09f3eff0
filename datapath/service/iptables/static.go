package iptables

import (
	"net/netip"
	"slices"

	"github.com/netlab/netlab/datapath/plan"
)

// masqueradeBit marks packets that KUBE-POSTROUTING shall masquerade: bit 14, as
// kube-proxy's --iptables-masquerade-bit.
const masqueradeBit = 1 << 14

var (
	isNew      = plan.CTState{States: []string{"NEW"}}
	loopback4  = netip.MustParsePrefix("127.0.0.0/8")
	loopback6  = netip.MustParsePrefix("::1/128")
	isMarked   = plan.Mark{Value: masqueradeBit, Mask: masqueradeBit}
	notMarked  = plan.Mark{Value: masqueradeBit, Mask: masqueradeBit, Not: true}
	toMarkMasq = plan.Jump{Chain: markMasq}
)

// hooks leads from the built-in chains to ours, in the order that results from
// kube-proxy inserting each at the head.
func (c *compiler) hooks() {
	for _, h := range []struct {
		table   *tableBuilder
		from    string
		to      string
		comment string
		onlyNew bool
	}{
		{c.filter, "INPUT", firewall, "", false},
		{c.filter, "INPUT", proxyFirewall, "kubernetes load balancer firewall", true},
		{c.filter, "INPUT", nodePorts, "kubernetes health check service ports", false},
		{c.filter, "INPUT", externalServices, "kubernetes externally-visible service portals", true},
		{c.filter, "FORWARD", firewall, "", false},
		{c.filter, "FORWARD", proxyFirewall, "kubernetes load balancer firewall", true},
		{c.filter, "FORWARD", forward, "kubernetes forwarding rules", false},
		{c.filter, "FORWARD", services, "kubernetes service portals", true},
		{c.filter, "FORWARD", externalServices, "kubernetes externally-visible service portals", true},
		{c.filter, "OUTPUT", firewall, "", false},
		{c.filter, "OUTPUT", proxyFirewall, "kubernetes load balancer firewall", true},
		{c.filter, "OUTPUT", services, "kubernetes service portals", true},
		{c.nat, "PREROUTING", services, "kubernetes service portals", false},
		{c.nat, "OUTPUT", services, "kubernetes service portals", false},
		{c.nat, "POSTROUTING", postrouting, "kubernetes postrouting rules", false},
	} {
		if h.to == proxyFirewall && c.legacy || h.from == "FORWARD" && h.to == firewall && !c.legacy {
			continue
		}
		var matches []plan.Match
		if h.onlyNew {
			matches = append(matches, isNew)
		}
		if h.comment != "" {
			matches = append(matches, plan.Comment{Text: h.comment})
		}
		h.table.builtin(h.from)
		h.table.chain(h.to)
		h.table.add(h.from, c.proxy, plan.Jump{Chain: h.to}, matches...)
	}
	for _, t := range []*tableBuilder{c.mangle, c.nat, c.filter} {
		t.chain(canary) // kube-proxy makes all rules anew when it is gone
	}
	c.nat.chain(nodePorts)
	c.nat.chain(markMasq)
}

// static adds the rules that serve all services.
func (c *compiler) static() {
	o := c.proxy
	c.nat.add(markMasq, o, plan.OrMark{Bits: masqueradeBit})
	requiringSNAT := plan.Comment{Text: "kubernetes service traffic requiring SNAT"}
	if c.legacy {
		c.legacyStatic()
		c.nat.add(postrouting, o, plan.Masquerade{}, requiringSNAT, isMarked)
	} else {
		c.nat.add(postrouting, o, plan.Return{}, notMarked)
		// Without the mark a packet that passes here again, as after a tunnel, is not
		// rewritten twice.
		c.nat.add(postrouting, o, plan.XorMark{Bits: masqueradeBit})
		c.nat.add(postrouting, o, plan.Masquerade{RandomFully: true}, requiringSNAT)
	}

	if c.localNodePorts() {
		// route_localnet lets a neighbour reach 127.0.0.1 of the node: kubernetes
		// issue 90259.
		c.filter.add(firewall, o, plan.Drop{}, plan.Comment{Text: "block incoming localnet connections"},
			plan.Dst{Prefix: loopback4}, plan.Src{Prefix: loopback4, Not: true},
			plan.CTState{States: []string{"RELATED", "ESTABLISHED", "DNAT"}, Not: true})
	}

	// A late packet of a backend that conntrack cannot place would leave with the
	// backend's own address, and the client reset the connection: kubernetes issue
	// 74839.
	c.filter.add(forward, o, plan.Drop{}, plan.CTState{States: []string{"INVALID"}})
	c.filter.add(forward, o, plan.Accept{}, plan.Comment{Text: "kubernetes forwarding rules"}, isMarked)
	c.filter.add(forward, o, plan.Accept{}, plan.Comment{Text: "kubernetes forwarding conntrack rule"},
		plan.CTState{States: []string{"RELATED", "ESTABLISHED"}})
}

// nodePortHook adds the end of KUBE-SERVICES: to an address of the node and to no
// service address, so perhaps to a node port.
func (c *compiler) nodePortHook() {
	comment := plan.Comment{Text: "kubernetes service nodeports; NOTE: this must be the last rule in this chain"}
	add := func(matches ...plan.Match) {
		c.nat.add(services, c.proxy, plan.Jump{Chain: nodePorts}, append([]plan.Match{comment}, matches...)...)
	}
	addrs, all := c.nodePortAddrs()
	toNode := plan.AddrType{Dst: "LOCAL"}
	switch {
	case !all:
		for _, a := range addrs {
			add(plan.Dst{Prefix: netip.PrefixFrom(a, a.BitLen())})
		}
	case c.ipv6:
		add(toNode, plan.Dst{Prefix: loopback6, Not: true})
	case !c.localNodePorts():
		add(toNode, plan.Dst{Prefix: loopback4, Not: true})
	default:
		add(toNode)
	}
}

// nodePortCIDRs returns the prefixes of this family whose addresses node ports
// answer on, or all: when none is given, or one that holds every address.
func (c *compiler) nodePortCIDRs() (cidrs []netip.Prefix, all bool) {
	for _, p := range c.view.Lab.Proxy.NodePortAddresses {
		if p.Addr().Is6() != c.ipv6 {
			continue
		}
		if p.Bits() == 0 {
			return nil, true
		}
		cidrs = append(cidrs, p)
	}
	return cidrs, len(cidrs) == 0
}

// nodePortAddrs returns the node's addresses on which node ports answer, or all.
func (c *compiler) nodePortAddrs() (addrs []netip.Addr, all bool) {
	cidrs, all := c.nodePortCIDRs()
	if all {
		return nil, true
	}
	for _, a := range c.view.Addrs {
		inside := slices.ContainsFunc(cidrs, func(p netip.Prefix) bool { return p.Contains(a) })
		if inside && (!a.IsLoopback() || c.localNodePorts()) {
			addrs = append(addrs, a)
		}
	}
	slices.SortFunc(addrs, netip.Addr.Compare)
	return slices.Compact(addrs), false
}
