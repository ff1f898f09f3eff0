package nftables

import (
	"slices"
	"strconv"

	"github.com/netlab/netlab/datapath/plan/nft"
	"github.com/netlab/netlab/datapath/policy"
	"github.com/netlab/netlab/topology"
)

// section adds the chain of a policy in one direction, and its sets.
func (c *compiler) section(s *policy.Section) {
	chain := sectionChain(s)
	c.chain(chain)
	for _, r := range s.Rules {
		base := chain + "-" + strconv.Itoa(r.Index+1)
		ports := c.ports(r, base)
		for _, f := range c.families() {
			c.rule(chain, s, r, f, base, ports)
		}
	}
}

// rule adds what one rule of a policy matches in one family: its peers at each kind of
// ports by number, and at its named ports.
func (c *compiler) rule(chain string, s *policy.Section, r *policy.Rule, f family, base string, ports [][]nft.Expr) {
	peers := r.Peers(f.ipv6)
	if peers.None() {
		return
	}
	peer := c.peers(s, r, f, base, peers)
	act := actionOf(r)
	for _, port := range ports {
		c.add(chain, r.Origin, r.Origin.Object, slices.Concat(peer, port, act)...)
	}
	if members := s.Named(r, f.ipv6); len(members) > 0 {
		set := nft.Set{Name: f.name(base + "-named"), Key: []nft.Type{f.addr, nft.Proto, nft.Port}, Origin: r.Origin}
		for _, m := range members {
			set.Elements = append(set.Elements, port(m))
		}
		c.table.Sets = append(c.table.Sets, set)
		lookup := nft.Lookup{Fields: []nft.Field{f.dst, nft.L4Proto, nft.DPort}, Set: set.Name}
		c.add(chain, r.Origin, r.Origin.Object, slices.Concat(peer, []nft.Expr{lookup}, act)...)
	}
}

// actionOf is what a rule does with what it matches. Only a denial ends the packet's
// path here.
func actionOf(r *policy.Rule) []nft.Expr {
	switch r.Action {
	case topology.PolicyDeny:
		return []nft.Expr{nft.Goto(deny)}
	case topology.PolicyPass:
		return []nft.Expr{nft.OrMark(passed), verdict("return")}
	}
	return []nft.Expr{nft.OrMark(accepted), verdict("return")}
}

// peers is the condition for the other end: an element of a set, or for any peer, a
// packet of the family.
func (c *compiler) peers(s *policy.Section, r *policy.Rule, f family, base string, peers *policy.Peers) []nft.Expr {
	if peers.Any {
		if len(c.view.Families()) == 1 {
			return nil
		}
		return []nft.Expr{nft.Match{Field: nft.FamilyOf, Value: nft.Number(f.number)}}
	}
	set := nft.Set{Name: f.name(base + "-peers"), Key: []nft.Type{f.addr}, Interval: len(peers.Blocks) > 0, Origin: r.Origin}
	for _, p := range peers.Prefixes() {
		set.Elements = append(set.Elements, nft.Element{Key: []nft.Value{nft.Prefix(p)}})
	}
	c.table.Sets = append(c.table.Sets, set)
	field := f.src
	if s.Direction == policy.Egress {
		field = f.dst
	}
	return []nft.Expr{nft.Lookup{Fields: []nft.Field{field}, Set: set.Name}}
}

// ports are the conditions for the ports of a rule by number; a packet has to match all
// of one element: one range is in the rule itself, several are a set.
func (c *compiler) ports(r *policy.Rule, base string) [][]nft.Expr {
	switch {
	case r.AnyPort:
		return [][]nft.Expr{nil}
	case len(r.Ranges) == 0:
		return nil
	case len(r.Ranges) == 1:
		only := r.Ranges[0]
		exprs := []nft.Expr{protocol(only.Protocol)}
		if !only.All() {
			exprs = append(exprs, nft.Match{Field: nft.DPort, Value: nft.Range(uint32(only.First), uint32(only.Last))})
		}
		return [][]nft.Expr{exprs}
	}
	set := nft.Set{Name: base + "-ports", Key: []nft.Type{nft.Proto, nft.Port}, Interval: true, Origin: r.Origin}
	for _, p := range r.Ranges {
		set.Elements = append(set.Elements, nft.Element{Key: []nft.Value{
			nft.Protocol(string(p.Protocol)), nft.Range(uint32(p.First), uint32(p.Last))}})
	}
	c.table.Sets = append(c.table.Sets, set)
	return [][]nft.Expr{{nft.Lookup{Fields: []nft.Field{nft.L4Proto, nft.DPort}, Set: set.Name}}}
}
