package kuberouter

import (
	"net/netip"
	"slices"

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
	c.AddSet(about, ipset.HashIP, own, "", s.Origin)
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
	var set iptables.Match // of named ports
	if len(members) > 0 {
		set = c.AddPortSet(c.setName(s, r.Index, named), members, r.Origin)
	}
	for _, peer := range c.peers(s, r, peers) {
		for _, port := range ports {
			c.act(chain, r, target, slices.Concat(port, ends(s, r, peer, about)))
		}
		switch {
		case set == nil:
		case s.Direction == policy.Egress: // members are ports of the peers already
			c.act(chain, r, target, append(ends(s, r, "", about), set))
			set = nil
		default:
			c.act(chain, r, target, append(ends(s, r, peer, ""), set))
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
		names = append(names, c.setName(s, r.Index, pods))
		c.AddSet(names[0], ipset.HashIP, policy.Singles(peers.Pods), "", r.Origin)
	}
	if len(peers.Blocks) > 0 {
		names = append(names, c.setName(s, r.Index, blocks))
		c.AddSet(names[len(names)-1], ipset.HashNet, peers.Blocks, "", r.Origin)
	}
	return names
}
