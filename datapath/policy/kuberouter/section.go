package kuberouter

import (
	"net/netip"

	"github.com/netlab/netlab/datapath/plan"
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
	c.set(about, plan.HashIP, own, s.Origin)
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
			c.act(chain, r, target, append(append([]plan.Match{}, port...), ends(s, r, peer, about)...))
		}
		switch {
		case set == "":
		case s.Direction == policy.Egress: // members are ports of the peers already
			c.act(chain, r, target, append(ends(s, r, "", about), plan.MatchSet{Set: set, Parts: "dst,dst"}))
			set = ""
		default:
			c.act(chain, r, target, append(ends(s, r, peer, ""), plan.MatchSet{Set: set, Parts: "dst,dst"}))
		}
	}
}

// act adds a rule and, where that marks, the return of what it marked.
func (c *compiler) act(chain string, r *policy.Rule, target plan.Target, matches []plan.Match) {
	c.Add(chain, r.Origin, target, matches...)
	if m, ok := target.(plan.OrMark); ok {
		c.Add(chain, r.Origin, plan.Return{}, policy.Comment(r.Origin.Object), marked(m.Bits))
	}
}

// target is what a rule does. Only a denial may end the way of a packet here.
func (c *compiler) target(r *policy.Rule) plan.Target {
	switch r.Action {
	case topology.PolicyDeny:
		return plan.Jump{Chain: deny}
	case topology.PolicyPass:
		return setMark(passed)
	}
	return setMark(matched)
}

// ends are the conditions for both ends of a packet, each in a set: a peer and the
// policy's own pods. The empty name stands for any end.
func ends(s *policy.Section, r *policy.Rule, peer, about string) []plan.Match {
	src, dst := peer, about
	if s.Direction == policy.Egress {
		src, dst = about, peer
	}
	out := []plan.Match{policy.Comment(r.Origin.Object)}
	if src != "" {
		out = append(out, plan.MatchSet{Set: src, Parts: "src"})
	}
	if dst != "" {
		out = append(out, plan.MatchSet{Set: dst, Parts: "dst"})
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
		c.set(names[0], plan.HashIP, list, r.Origin)
	}
	if len(peers.Blocks) > 0 {
		names = append(names, c.setName(s, r.Index, blocks))
		c.set(names[len(names)-1], plan.HashNet, peers.Blocks, r.Origin)
	}
	return names
}

func (c *compiler) set(name string, kind plan.SetType, members []netip.Prefix, o plan.Origin) {
	entries := make([]plan.SetEntry, 0, len(members))
	for _, p := range members {
		entries = append(entries, plan.SetEntry{Prefix: p})
	}
	c.Sets = append(c.Sets, plan.Set{Name: name, Type: kind, IPv6: c.IPv6, Entries: entries, Origin: o})
}

// named makes the set of a rule's named ports, and returns its name; empty: there
// are none.
func (c *compiler) named(s *policy.Section, r *policy.Rule, members []policy.Member) string {
	if len(members) == 0 {
		return ""
	}
	set := plan.Set{Name: c.setName(s, r.Index, named), Type: plan.HashIPPort, IPv6: c.IPv6, Origin: r.Origin}
	for _, m := range members {
		set.Entries = append(set.Entries, plan.SetEntry{Prefix: netip.PrefixFrom(m.Addr, m.Addr.BitLen()), Proto: string(m.Protocol), Port: m.Port})
	}
	c.Sets = append(c.Sets, set)
	return set.Name
}
