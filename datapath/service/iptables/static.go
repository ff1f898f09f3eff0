package iptables

import (
	"net/netip"
	"slices"

	"github.com/netlab/netlab/datapath/plan/iptables"
	"github.com/netlab/netlab/datapath/plan/ordered"
	"github.com/netlab/netlab/topology"
)

// masqueradeBit marks packets that KUBE-POSTROUTING masquerades: bit 14, as
// kube-proxy's --iptables-masquerade-bit.
const masqueradeBit = 1 << 14

// dropBit marks packets that KUBE-FIREWALL drops: kubelet's --iptables-drop-bit.
const dropBit = 1 << 15

var (
	isNew     = iptables.CTState{States: []string{"NEW"}}
	isReply   = iptables.CTState{States: []string{"RELATED", "ESTABLISHED"}}
	loopback4 = netip.MustParsePrefix("127.0.0.0/8")
	loopback6 = netip.MustParsePrefix("::1/128")
	isMarked  = iptables.Mark{Value: masqueradeBit, Mask: masqueradeBit}
	notMarked = iptables.Mark{Value: masqueradeBit, Mask: masqueradeBit, Not: true}
)

// hook leads from a built-in chain to another.
type hook struct {
	table   *iptables.Builder
	from    string
	to      string
	comment string
	onlyNew bool
}

// hooks leads from the built-in chains to ours, in the order that results from
// kube-proxy inserting each at the head. A kubelet that has its own chains has inserted the
// jumps to them before kube-proxy starts, and they end up last.
func (c *compiler) hooks() {
	hooks := []hook{
		{&c.filter, "INPUT", services, "kubernetes service portals", true},
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
	}
	if c.layout.kubelet {
		kubelets := func(h hook) bool { return h.to == firewall && h.from != "FORWARD" }
		slices.SortStableFunc(hooks, func(a, b hook) int { return ordered.Bools(kubelets(a), kubelets(b)) })
	}
	for _, h := range hooks {
		switch {
		case h.to == proxyFirewall && c.layout.xlb, h.from == "FORWARD" && h.to == firewall && !c.layout.xlb,
			h.table == &c.filter && h.from == "INPUT" && h.to == services && !c.layout.input:
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
		if c.layout.canaries {
			t.Ensure(canary, "") // kube-proxy recreates all rules when it is gone
		}
		if c.layout.canaries && c.layout.kubelet {
			t.Ensure(kubeletCanary, "")
		}
	}
	c.nat.Ensure(nodePorts, "")
	if !c.layout.inline {
		c.nat.Ensure(markMasq, "")
	}
}

// static adds the rules that serve all services.
func (c *compiler) static() {
	o := c.proxy
	if !c.layout.inline {
		c.nat.Add(markMasq, o, iptables.OrMark{Bits: masqueradeBit})
	}
	requiringSNAT := iptables.Comment{Text: "kubernetes service traffic requiring SNAT"}
	if c.layout.marksStay {
		c.nat.Add(postrouting, o, iptables.Masquerade{}, requiringSNAT, isMarked)
	} else {
		c.nat.Add(postrouting, o, iptables.Return{}, notMarked)
		// Without the mark, a packet that passes here again, as after a tunnel, is not
		// rewritten twice.
		c.nat.Add(postrouting, o, iptables.XorMark{Bits: masqueradeBit})
		c.nat.Add(postrouting, o, iptables.Masquerade{RandomFully: true}, requiringSNAT)
	}
	if c.layout.kubelet {
		c.nat.Add(markDrop, o, iptables.OrMark{Bits: dropBit})
		c.filter.Add(firewall, o, iptables.Drop{}, iptables.Comment{Text: "kubernetes firewall for dropping marked packets"},
			iptables.Mark{Value: dropBit, Mask: dropBit})
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
	if !c.layout.Past {
		invalid = append(invalid, iptables.NFAcct{Object: "ct_state_invalid_dropped_pkts"})
	}
	c.filter.Add(forward, o, iptables.Drop{}, invalid...)
	c.filter.Add(forward, o, iptables.Accept{}, iptables.Comment{Text: "kubernetes forwarding rules"}, isMarked)
	c.replies()
}

// replies lets through what belongs to a connection that was let through.
func (c *compiler) replies() {
	if !c.layout.byPods {
		c.filter.Add(forward, c.proxy, iptables.Accept{}, iptables.Comment{Text: "kubernetes forwarding conntrack rule"}, isReply)
		return
	}
	if c.layout.byAddress && !c.local.IsValid() {
		return
	}
	for _, side := range []struct {
		name string
		pods iptables.Match
	}{{"source", iptables.Src{Prefix: c.local}}, {"destination", iptables.Dst{Prefix: c.local}}} {
		matches := []iptables.Match{iptables.Comment{Text: "kubernetes forwarding conntrack pod " + side.name + " rule"}, isReply}
		if c.layout.byAddress {
			matches = append(matches, side.pods)
		}
		c.filter.Add(forward, c.proxy, iptables.Accept{}, matches...)
	}
}

// mark marks a packet for masquerading.
func (c *compiler) mark() iptables.Target {
	if c.layout.inline {
		return iptables.OrMark{Bits: masqueradeBit}
	}
	return iptables.Jump{Chain: markMasq}
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
