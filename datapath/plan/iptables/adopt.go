package iptables

import (
	"cmp"
	"slices"

	"github.com/netlab/netlab/datapath/plan/ordered"
)

// Adopt returns planned tables with the rules that the kernel has besides in those of their
// chains that are built in, in the order that these have among each other: after the rules that the
// plan has ahead of others' and before the rest. What was planned before is no such rule. A
// built-in chain that is not planned has nothing but the rules of others.
func Adopt(planned, have, before []Table) []Table {
	id := func(t *Table) tableID { return tableID{t.IPv6, t.Name} }
	there, old, wanted := ordered.Index(have, id), ordered.Index(before, id), ordered.Index(planned, id)
	out := slices.Clone(planned)
	for i := range have {
		if h := &have[i]; wanted[id(h)] == nil {
			out = append(out, Table{IPv6: h.IPv6, Name: h.Name})
		}
	}
	for i := range out {
		t := &out[i]
		t.Chains = adopt(t.Chains, cmp.Or(there[id(t)], &Table{}).Chains, cmp.Or(old[id(t)], &Table{}).Chains)
	}
	return slices.DeleteFunc(out, func(t Table) bool { return len(t.Chains) == 0 })
}

func adopt(planned, have, before []Chain) []Chain {
	there, old, wanted := ordered.Index(have, chainName), ordered.Index(before, chainName), ordered.Index(planned, chainName)
	out := slices.Clone(planned)
	for i := range have {
		if h := &have[i]; h.Policy != "" && wanted[h.Name] == nil {
			out = append(out, Chain{Name: h.Name, Policy: "ACCEPT"})
		}
	}
	for i := range out {
		c := &out[i]
		h := there[c.Name]
		if h == nil || c.Policy == "" {
			continue
		}
		known := c.Rules
		if b := old[c.Name]; b != nil {
			known = slices.Concat(known, b.Rules)
		}
		if foreign := besides(h.Rules, known); len(foreign) > 0 {
			c.Rules = slices.Concat(c.Rules[:c.Ahead], foreign, c.Rules[c.Ahead:])
		}
	}
	return slices.DeleteFunc(out, func(c Chain) bool { return wanted[c.Name] == nil && len(c.Rules) == 0 })
}

// besides are the rules that are not known.
func besides(have, known []Rule) (list []Rule) {
	texts := map[string]bool{}
	for i := range known {
		texts[known[i].Save()] = true
	}
	for i := range have {
		if !texts[have[i].Save()] {
			list = append(list, have[i])
		}
	}
	return list
}

// Disregard leaves out of tables what others have made there, but for the rules in built-in
// chains, which Adopt needs.
func Disregard(have, planned []Table) []Table {
	id := func(t *Table) tableID { return tableID{t.IPv6, t.Name} }
	wanted := ordered.Index(planned, id)
	out := slices.Clone(have)
	for i := range out {
		t := &out[i]
		known := ordered.Index(cmp.Or(wanted[id(t)], &Table{}).Chains, chainName)
		t.Chains = slices.DeleteFunc(slices.Clone(t.Chains), func(c Chain) bool { return c.Policy == "" && known[c.Name] == nil })
	}
	return out
}
