package nftables

import (
	"net/netip"
	"strconv"

	"github.com/netlab/netlab/datapath/plan"
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
func (c *compiler) rule(chain string, s *policy.Section, r *policy.Rule, f family, base string, ports [][]plan.NFTExpr) {
	peers := r.Peers(f.ipv6)
	if peers.None() {
		return
	}
	peer := c.peers(s, r, f, base, peers)
	act := actionOf(r)
	for _, port := range ports {
		c.add(chain, r.Origin, r.Origin.Object, join(peer, port, act)...)
	}
	if members := s.Named(r, f.ipv6); len(members) > 0 {
		set := plan.NFTSet{Name: f.name(base + "-named"), Key: []plan.NFTType{f.addr, plan.NFTProto, plan.NFTPort}, Origin: r.Origin}
		for _, m := range members {
			set.Elements = append(set.Elements, port(m))
		}
		c.table.Sets = append(c.table.Sets, set)
		lookup := plan.NFTLookup{Fields: []plan.NFTField{f.dst, plan.NFTL4Proto, plan.NFTDPort}, Set: set.Name}
		c.add(chain, r.Origin, r.Origin.Object, join(peer, []plan.NFTExpr{lookup}, act)...)
	}
}

func join(parts ...[]plan.NFTExpr) []plan.NFTExpr {
	var out []plan.NFTExpr
	for _, p := range parts {
		out = append(out, p...)
	}
	return out
}

// actionOf is what a rule does with what it matches. Only a denial ends the packet's
// way here.
func actionOf(r *policy.Rule) []plan.NFTExpr {
	switch r.Action {
	case topology.PolicyDeny:
		return []plan.NFTExpr{plan.NFTGoto(deny)}
	case topology.PolicyPass:
		return []plan.NFTExpr{plan.NFTOrMark(passed), verdict("return")}
	}
	return []plan.NFTExpr{plan.NFTOrMark(accepted), verdict("return")}
}

// peers is the condition for the other end: an element of a set, or where anybody is
// meant, a packet of the family.
func (c *compiler) peers(s *policy.Section, r *policy.Rule, f family, base string, peers *policy.Peers) []plan.NFTExpr {
	if peers.Any {
		if len(c.view.Families()) == 1 {
			return nil
		}
		return []plan.NFTExpr{plan.NFTMatch{Field: plan.NFTFamilyOf, Value: plan.NFTNumber(f.number)}}
	}
	set := plan.NFTSet{Name: f.name(base + "-peers"), Key: []plan.NFTType{f.addr}, Interval: len(peers.Blocks) > 0, Origin: r.Origin}
	for _, a := range peers.Pods {
		if !covered(a, peers.Blocks) {
			set.Elements = append(set.Elements, plan.NFTElement{Key: []plan.NFTValue{plan.NFTAddr(a)}})
		}
	}
	for _, b := range peers.Blocks {
		set.Elements = append(set.Elements, plan.NFTElement{Key: []plan.NFTValue{plan.NFTPrefix(b)}})
	}
	c.table.Sets = append(c.table.Sets, set)
	field := f.src
	if s.Direction == policy.Egress {
		field = f.dst
	}
	return []plan.NFTExpr{plan.NFTLookup{Fields: []plan.NFTField{field}, Set: set.Name}}
}

// covered reports whether a block holds an address: elements of interval sets must not
// overlap.
func covered(a netip.Addr, blocks []netip.Prefix) bool {
	for _, b := range blocks {
		if b.Contains(a) {
			return true
		}
	}
	return false
}

// ports are the conditions for the ports of a rule by number, of which a packet has to
// meet all of one element: one range is in the rule itself, several are a set.
func (c *compiler) ports(r *policy.Rule, base string) [][]plan.NFTExpr {
	switch {
	case r.AnyPort:
		return [][]plan.NFTExpr{nil}
	case len(r.Ranges) == 0:
		return nil
	case len(r.Ranges) == 1:
		only := r.Ranges[0]
		exprs := []plan.NFTExpr{protocol(only.Protocol)}
		if !only.All() {
			exprs = append(exprs, plan.NFTMatch{Field: plan.NFTDPort, Value: plan.NFTRange(uint32(only.First), uint32(only.Last))})
		}
		return [][]plan.NFTExpr{exprs}
	}
	set := plan.NFTSet{Name: base + "-ports", Key: []plan.NFTType{plan.NFTProto, plan.NFTPort}, Interval: true, Origin: r.Origin}
	for _, p := range r.Ranges {
		set.Elements = append(set.Elements, plan.NFTElement{Key: []plan.NFTValue{
			plan.NFTProtocol(string(p.Protocol)), plan.NFTRange(uint32(p.First), uint32(p.Last))}})
	}
	c.table.Sets = append(c.table.Sets, set)
	return [][]plan.NFTExpr{{plan.NFTLookup{Fields: []plan.NFTField{plan.NFTL4Proto, plan.NFTDPort}, Set: set.Name}}}
}
