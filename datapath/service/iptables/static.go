package iptables

import (
	"net/netip"
	"slices"

	"github.com/netlab/netlab/datapath/plan/iptables"
	"github.com/netlab/netlab/topology"
)

// masqueradeBit marks packets that KUBE-POSTROUTING masquerades: bit 14, as
// kube-proxy's --iptables-masquerade-bit.
const masqueradeBit = 1 << 14

var (
	isNew      = iptables.CTState{States: []string{"NEW"}}
	loopback4  = netip.MustParsePrefix("127.0.0.0/8")
	loopback6  = netip.MustParsePrefix("::1/128")
	isMarked   = iptables.Mark{Value: masqueradeBit, Mask: masqueradeBit}
	notMarked  = iptables.Mark{Value: masqueradeBit, Mask: masqueradeBit, Not: true}
	toMarkMasq = iptables.Jump{Chain: markMasq}
)

// hooks leads from the built-in chains to ours, in the order that results from
// kube-proxy inserting each at the head.
func (c *compiler) hooks() {
	for _, h := range []struct {
		table   *iptables.Builder
		from    string
		to      string
		comment string
		onlyNew bool
	}{
		{&c.filter, "INPUT", firewall, "", false},
		{&c.filter, "INPUT", proxyFirewall, "kubernetes load balancer firewall", true},
		{&c.filter, "INPUT", nodePorts, "kubernetes health check service ports", false},
		{&c.filter, "INPUT", externalServices, "kubernetes externally-visible service portals", true},
		{&c.filter, "FORWARD", firewall, "", false},
		{&c.filter, "FORWARD", proxyFirewall, "kubernetes load balancer firewall", true},
		{&c.filter, "FORWARD", forward, "kubernetes forwarding rules", false},
		{&c.filter, "FORWARD", services, "kubernetes service portals", true},
		{&c.filter, "FORWARD", externalServices, "kubernetes externally-visible service portals", true},
		{&c.filter, "OUTPUT", firewall, "", false},
		{&c.filter, "OUTPUT", proxyFirewall, "kubernetes load balancer firewall", true},
		{&c.filter, "OUTPUT", services, "kubernetes service portals", true},
		{&c.nat, "PREROUTING", services, "kubernetes service portals", false},
		{&c.nat, "OUTPUT", services, "kubernetes service portals", false},
		{&c.nat, "POSTROUTING", postrouting, "kubernetes postrouting rules", false},
	} {
		if h.to == proxyFirewall && c.legacy || h.from == "FORWARD" && h.to == firewall && !c.legacy {
			continue
		}
		var matches []iptables.Match
		if h.onlyNew {
			matches = append(matches, isNew)
		}
		if h.comment != "" {
			matches = append(matches, iptables.Comment{Text: h.comment})
		}
		h.table.Hook(h.from, h.to, c.proxy, matches...)
	}
	for _, t := range []*iptables.Builder{&c.mangle, &c.nat, &c.filter} {
		t.Ensure(canary, "") // kube-proxy recreates all rules when it is gone
	}
	c.nat.Ensure(nodePorts, "")
	c.nat.Ensure(markMasq, "")
}

// static adds the rules that serve all services.
func (c *compiler) static() {
	o := c.proxy
	c.nat.Add(markMasq, o, iptables.OrMark{Bits: masqueradeBit})
	requiringSNAT := iptables.Comment{Text: "kubernetes service traffic requiring SNAT"}
	if c.legacy {
		c.legacyStatic()
		c.nat.Add(postrouting, o, iptables.Masquerade{}, requiringSNAT, isMarked)
	} else {
		c.nat.Add(postrouting, o, iptables.Return{}, notMarked)
		// Without the mark, a packet that passes here again, as after a tunnel, is not
		// rewritten twice.
		c.nat.Add(postrouting, o, iptables.XorMark{Bits: masqueradeBit})
		c.nat.Add(postrouting, o, iptables.Masquerade{RandomFully: true}, requiringSNAT)
	}

	if c.localNodePorts() {
		// route_localnet lets a neighbour reach 127.0.0.1 of the node: kubernetes
		// issue 90259.
		c.filter.Add(firewall, o, iptables.Drop{}, iptables.Comment{Text: "block incoming localnet connections"},
			iptables.Dst{Prefix: loopback4}, iptables.Src{Prefix: loopback4, Not: true},
			iptables.CTState{States: []string{"RELATED", "ESTABLISHED", "DNAT"}, Not: true})
	}

	// A late packet of a backend that conntrack cannot match would leave with the
	// backend's own address, and the client would reset the connection: kubernetes
	// issue 74839.
	invalid := []iptables.Match{iptables.CTState{States: []string{"INVALID"}}}
	if !c.legacy {
		invalid = append(invalid, iptables.NFAcct{Object: "ct_state_invalid_dropped_pkts"})
	}
	c.filter.Add(forward, o, iptables.Drop{}, invalid...)
	c.filter.Add(forward, o, iptables.Accept{}, iptables.Comment{Text: "kubernetes forwarding rules"}, isMarked)
	c.filter.Add(forward, o, iptables.Accept{}, iptables.Comment{Text: "kubernetes forwarding conntrack rule"},
		iptables.CTState{States: []string{"RELATED", "ESTABLISHED"}})
}

// nodePortHook adds the end of KUBE-SERVICES: a packet to an address of the node that
// is not a service address may be for a node port.
func (c *compiler) nodePortHook() {
	comment := iptables.Comment{Text: "kubernetes service nodeports; NOTE: this must be the last rule in this chain"}
	add := func(matches ...iptables.Match) {
		c.nat.Add(services, c.proxy, iptables.Jump{Chain: nodePorts}, append([]iptables.Match{comment}, matches...)...)
	}
	addrs, all := c.nodePortAddrs()
	toNode := iptables.AddrType{Dst: "LOCAL"}
	switch {
	case !all:
		for _, a := range addrs {
			add(iptables.Dst{Prefix: topology.Single(a)})
		}
	case c.ipv6:
		add(toNode, iptables.Dst{Prefix: loopback6, Not: true})
	case !c.localNodePorts():
		add(toNode, iptables.Dst{Prefix: loopback4, Not: true})
	default:
		add(toNode)
	}
}

// nodePortAddrs returns the node's addresses on which node ports answer, or all.
func (c *compiler) nodePortAddrs() (addrs []netip.Addr, all bool) {
	cidrs, all := c.view.NodePortCIDRs(c.ipv6)
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
