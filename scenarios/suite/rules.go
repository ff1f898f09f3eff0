package suite

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/netlab/netlab/datapath/flow"
	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/datapath/plan/iptables"
)

// maxRules bounds the rules that a failure prints.
const maxRules = 40

// RulesFor lists the rules of a plan that a packet of the flow should meet: those that
// name its destination, on the nodes that it can pass, and the chains that they jump
// to. Each comes with the line of the scenario that it serves.
func RulesFor(p *plan.Plan, f flow.Flow) []string {
	var lines []string
	for i := range p.Netns {
		n := &p.Netns[i]
		if n.Kind != plan.Node || !passes(p, n, f) {
			continue
		}
		for _, t := range n.Tables {
			lines = append(lines, tableRules(n, t, f)...)
		}
	}
	if len(lines) > maxRules {
		lines = append(lines[:maxRules], fmt.Sprintf("… and %d more", len(lines)-maxRules))
	}
	return lines
}

// passes reports whether the node can filter or translate packets of the flow: it
// starts there or on one of its pods, or is sent to one of its addresses.
func passes(p *plan.Plan, n *plan.Netns, f flow.Flow) bool {
	if n.Name == f.From {
		return true
	}
	for _, l := range n.Links {
		if l.Peer.Netns == f.From {
			return true
		}
	}
	return slices.ContainsFunc(n.Addrs, func(a plan.Addr) bool { return a.Prefix.Addr() == f.To.Addr() })
}

func tableRules(n *plan.Netns, t iptables.Table, f flow.Flow) []string {
	chains := make(map[string]*iptables.Chain, len(t.Chains))
	for i := range t.Chains {
		chains[t.Chains[i].Name] = &t.Chains[i]
	}
	local := slices.ContainsFunc(n.Addrs, func(a plan.Addr) bool { return a.Prefix.Addr() == f.To.Addr() })
	var lines []string
	shown := map[string]bool{}
	var show func(chain string, filter bool)
	show = func(chain string, filter bool) {
		c := chains[chain]
		if c == nil || shown[chain] && !filter {
			return
		}
		shown[chain] = true
		for i := range c.Rules {
			r := &c.Rules[i]
			if filter && !concerns(r, f, local) {
				continue
			}
			line := fmt.Sprintf("%s %s: %s", n.Name, t.Name, r.Restore(chain))
			if r.Origin.File != "" {
				line += "  # " + r.Origin.String()
			}
			lines = append(lines, line)
			if jump, ok := r.Target.(iptables.Jump); ok {
				show(jump.Chain, false)
			}
		}
	}
	for _, c := range t.Chains {
		show(c.Name, true)
	}
	return lines
}

// concerns reports whether a rule matches the flow's destination port, at its destination
// address or at any address of the node.
func concerns(r *iptables.Rule, f flow.Flow, local bool) bool {
	port, proto, addr := false, false, local
	for _, m := range r.Matches {
		switch m := m.(type) {
		case iptables.DPort:
			port = m.Port == f.To.Port()
		case iptables.Proto:
			proto = m.Name == string(f.Protocol)
		case iptables.Dst:
			addr = !m.Not && m.Prefix == netip.PrefixFrom(f.To.Addr(), f.To.Addr().BitLen())
		}
	}
	return port && proto && addr
}
