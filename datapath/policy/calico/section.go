package calico

import (
	"slices"
	"strconv"

	"github.com/netlab/netlab/datapath/plan/felix"
	"github.com/netlab/netlab/datapath/plan/ipset"
	"github.com/netlab/netlab/datapath/plan/iptables"
	"github.com/netlab/netlab/datapath/policy"
	"github.com/netlab/netlab/topology"
)

// section adds the chain of a policy in one direction, and its sets.
func (c *compiler) section(s *policy.Section) {
	chain := sectionChain(s)
	c.Ensure(chain, "")
	for _, r := range s.Rules {
		c.rule(chain, s, r)
	}
}

// rule adds what one rule of a policy matches, for each kind of ports that it has, and
// the return of what it matched.
func (c *compiler) rule(chain string, s *policy.Section, r *policy.Rule) {
	peers := r.Peers(c.IPv6)
	members := s.Named(r, c.IPv6)
	ports := r.PortMatches()
	if peers.None() || len(ports) == 0 && len(members) == 0 {
		return
	}
	bit := bitOf(r.Action)
	peer := c.peers(s, r, peers)
	for _, port := range ports {
		c.Add(chain, r.Origin, set(bit), matching(port, peer)...)
	}
	if len(members) > 0 {
		named := c.AddPortSet(c.setName("n", s, r), members, r.Origin)
		c.Add(chain, r.Origin, set(bit), slices.Concat(peer, []iptables.Match{named})...)
	}
	c.Add(chain, r.Origin, iptables.Return{}, has(bit))
}

// matching are the conditions of a rule in Felix's order: protocol, other end, ports.
func matching(port, peer []iptables.Match) []iptables.Match {
	if len(port) == 0 {
		return peer
	}
	return slices.Concat(port[:1], peer, port[1:])
}

// bitOf is the mark that an action sets.
func bitOf(a topology.PolicyAction) uint32 {
	switch a {
	case topology.PolicyDeny:
		return deny
	case topology.PolicyPass:
		return pass
	}
	return accept
}

// peers makes the set of a rule's other ends, and returns the condition that matches
// it; none where the rule matches any peer.
func (c *compiler) peers(s *policy.Section, r *policy.Rule, peers *policy.Peers) []iptables.Match {
	if peers.Any {
		return nil
	}
	part := "src"
	if s.Direction == policy.Egress {
		part = "dst"
	}
	if r.Selected == nil {
		return []iptables.Match{c.AddSet(c.setName("s", s, r), ipset.HashNet, peers.Prefixes(), part, r.Origin)}
	}
	// All rules that select the same share a set.
	name := felix.SetName(c.IPv6, selectorText(s.Namespace, r.Selected))
	if slices.ContainsFunc(c.Sets, func(s ipset.Set) bool { return s.Name == name }) {
		return []iptables.Match{iptables.MatchSet{Set: name, Parts: part}}
	}
	return []iptables.Match{c.AddSet(name, ipset.HashNet, peers.Prefixes(), part, r.Origin)}
}

// setName is the name of a set that one rule alone has: cali40s:… of addresses, cali40n:… of
// named ports.
func (c *compiler) setName(kind string, s *policy.Section, r *policy.Rule) string {
	const maxSet = 31
	prefix := "cali40" + kind + ":"
	if c.IPv6 {
		prefix = "cali60" + kind + ":"
	}
	return prefix + policy.Hash(maxSet-len(prefix), append(s.Key(), kind, strconv.Itoa(r.Index))...)
}
