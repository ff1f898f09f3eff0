package kuberouter

import (
	"net/netip"

	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/datapath/plan/ipset"
	"github.com/netlab/netlab/datapath/plan/iptables"
	"github.com/netlab/netlab/datapath/policy"
	"github.com/netlab/netlab/topology"
)

// section adds the chain of a policy in one direction, and its sets.
func (c *compiler) section(s *policy.Section) {
	chain := sectionChain(s)
	c.Ensure(chain, "")
	var own []netip.Prefix
	for _, p := range s.Pods {
		if a, ok := c.Address(p); ok {
			own = append(own, a)
		}
	}
	about := c.setName(s, 0, subject)
	c.set(about, ipset.HashIP, own, s.Origin)
	for _, r := range s.Rules {
		c.rule(chain, s, r, about)
	}
}

// rule adds the rules and sets for one rule of a policy: for each kind of peers that
// it has, and each kind of ports.
func (c *compiler) rule(chain string, s *policy.Section, r *policy.Rule, about string) {
	peers := r.Peers(c.IPv6)
	members := s.Named(r, c.IPv6)
	ports := r.PortMatches()
	if peers.None() || len(ports) == 0 && len(members) == 0 {
		return
	}
	target := c.target(r)
	set := c.named(s, r, members)
	for _, peer := range c.peers(s, r, peers) {
		for _, port := range ports {
			c.act(chain, r, target, append(append([]iptables.Match{}, port...), ends(s, r, peer, about)...))
		}
		switch {
		case set == "":
		case s.Direction == policy.Egress: // members are ports of the peers already
			c.act(chain, r, target, append(ends(s, r, "", about), iptables.MatchSet{Set: set, Parts: "dst,dst"}))
			set = ""
		default:
			c.act(chain, r, target, append(ends(s, r, peer, ""), iptables.MatchSet{Set: set, Parts: "dst,dst"}))
		}
	}
}

// act adds a rule and, if that marks, the return of what it marked.
func (c *compiler) act(chain string, r *policy.Rule, target iptables.Target, matches []iptables.Match) {
	c.Add(chain, r.Origin, target, matches...)
	if m, ok := target.(iptables.OrMark); ok {
		c.Add(chain, r.Origin, iptables.Return{}, policy.Comment(r.Origin.Object), marked(m.Bits))
	}
}

// target is what a rule does. Only a denial may end the traversal here.
func (c *compiler) target(r *policy.Rule) iptables.Target {
	switch r.Action {
	case topology.PolicyDeny:
		return iptables.Jump{Chain: deny}
	case topology.PolicyPass:
		return setMark(passed)
	}
	return setMark(matched)
}

// ends are the conditions for both ends of a packet, each in a set: a peer and the
// policy's own pods. The empty name stands for any end.
func ends(s *policy.Section, r *policy.Rule, peer, about string) []iptables.Match {
	src, dst := peer, about
	if s.Direction == policy.Egress {
		src, dst = about, peer
	}
	out := []iptables.Match{policy.Comment(r.Origin.Object)}
	if src != "" {
		out = append(out, iptables.MatchSet{Set: src, Parts: "src"})
	}
	if dst != "" {
		out = append(out, iptables.MatchSet{Set: dst, Parts: "dst"})
	}
	return out
}

// peers makes the sets of a rule's peers and returns their names; the empty name
// stands for any peer.
func (c *compiler) peers(s *policy.Section, r *policy.Rule, peers *policy.Peers) []string {
	if peers.Any {
		return []string{""}
	}
	var names []string
	if len(peers.Pods) > 0 {
		list := make([]netip.Prefix, 0, len(peers.Pods))
		for _, a := range peers.Pods {
			list = append(list, netip.PrefixFrom(a, a.BitLen()))
		}
		names = append(names, c.setName(s, r.Index, pods))
		c.set(names[0], ipset.HashIP, list, r.Origin)
	}
	if len(peers.Blocks) > 0 {
		names = append(names, c.setName(s, r.Index, blocks))
		c.set(names[len(names)-1], ipset.HashNet, peers.Blocks, r.Origin)
	}
	return names
}

func (c *compiler) set(name string, kind ipset.Type, members []netip.Prefix, o plan.Origin) {
	entries := make([]ipset.Entry, 0, len(members))
	for _, p := range members {
		entries = append(entries, ipset.Entry{Prefix: p})
	}
	c.Sets = append(c.Sets, ipset.Set{Name: name, Type: kind, IPv6: c.IPv6, Entries: entries, Origin: o})
}

// named makes the set of a rule's named ports, and returns its name; empty: there
// are none.
func (c *compiler) named(s *policy.Section, r *policy.Rule, members []policy.Member) string {
	if len(members) == 0 {
		return ""
	}
	set := ipset.Set{Name: c.setName(s, r.Index, named), Type: ipset.HashIPPort, IPv6: c.IPv6, Origin: r.Origin}
	for _, m := range members {
		set.Entries = append(set.Entries, ipset.Entry{Prefix: netip.PrefixFrom(m.Addr, m.Addr.BitLen()), Proto: string(m.Protocol), Port: m.Port})
	}
	c.Sets = append(c.Sets, set)
	return set.Name
}
