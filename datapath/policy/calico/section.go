package calico

import (
	"net/netip"
	"strconv"

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
	said := policy.Comment(r.Origin.Object)
	peer := c.peers(s, r, peers)
	for _, port := range ports {
		c.Add(chain, r.Origin, set(bit), append(append(append([]iptables.Match{}, port...), said), peer...)...)
	}
	if len(members) > 0 {
		c.Add(chain, r.Origin, set(bit), append(append([]iptables.Match{said}, peer...), c.named(s, r, members))...)
	}
	c.Add(chain, r.Origin, iptables.Return{}, has(bit))
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
	set := ipset.Set{Name: c.setName("s", s, r), Type: ipset.HashNet, IPv6: c.IPv6, Origin: r.Origin}
	for _, a := range peers.Pods {
		if !covered(a, peers.Blocks) {
			set.Entries = append(set.Entries, ipset.Entry{Prefix: single(a)})
		}
	}
	for _, b := range peers.Blocks {
		set.Entries = append(set.Entries, ipset.Entry{Prefix: b})
	}
	c.Sets = append(c.Sets, set)
	part := "src"
	if s.Direction == policy.Egress {
		part = "dst"
	}
	return []iptables.Match{iptables.MatchSet{Set: set.Name, Parts: part}}
}

// covered reports whether a block contains an address: as a member of its own it would
// be a duplicate where the block is that address alone.
func covered(a netip.Addr, blocks []netip.Prefix) bool {
	for _, b := range blocks {
		if b.Contains(a) {
			return true
		}
	}
	return false
}

// named makes the set of a rule's named ports, and returns the condition that matches it.
func (c *compiler) named(s *policy.Section, r *policy.Rule, members []policy.Member) iptables.Match {
	set := ipset.Set{Name: c.setName("n", s, r), Type: ipset.HashIPPort, IPv6: c.IPv6, Origin: r.Origin}
	for _, m := range members {
		set.Entries = append(set.Entries, ipset.Entry{Prefix: single(m.Addr), Proto: string(m.Protocol), Port: m.Port})
	}
	c.Sets = append(c.Sets, set)
	return iptables.MatchSet{Set: set.Name, Parts: "dst,dst"}
}

// setName is the name of a set of a rule: cali40s:… of addresses, cali40n:… of named
// ports.
func (c *compiler) setName(kind string, s *policy.Section, r *policy.Rule) string {
	const maxSet = 31
	prefix := "cali40" + kind + ":"
	if c.IPv6 {
		prefix = "cali60" + kind + ":"
	}
	return prefix + policy.Hash(maxSet-len(prefix), append(s.Key(), kind, strconv.Itoa(r.Index))...)
}
