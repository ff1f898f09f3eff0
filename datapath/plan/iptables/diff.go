package iptables

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

	"github.com/netlab/netlab/datapath/plan/ordered"
)

// Edit lists what changes in one iptables table: chains that get exactly the given
// rules, created where missing, and chains to delete.
type Edit struct {
	IPv6   bool
	Name   string
	Set    []Chain
	Delete []string
}

type tableID struct {
	ipv6 bool
	name string
}

// Diff returns the edits that turn have into want.
func Diff(have, want []Table) []Edit {
	id := func(t *Table) tableID { return tableID{t.IPv6, t.Name} }
	old, wanted := ordered.Index(have, id), ordered.Index(want, id)
	var edits []Edit
	add := func(e Edit) {
		if len(e.Set) > 0 || len(e.Delete) > 0 {
			edits = append(edits, e)
		}
	}
	for i := range want {
		add(diffTable(cmp.Or(old[id(&want[i])], &Table{}), &want[i]))
	}
	for i := range have {
		if h := &have[i]; wanted[id(h)] == nil {
			add(diffTable(h, &Table{IPv6: h.IPv6, Name: h.Name}))
		}
	}
	return edits
}

func diffTable(have, want *Table) Edit {
	e := Edit{IPv6: want.IPv6, Name: want.Name}
	var cmp comparer
	// Most chains keep their place: only those between the common beginning and the
	// common end have to be looked up.
	olds, news := have.Chains, want.Chains
	for len(olds) > 0 && len(news) > 0 && olds[0].Name == news[0].Name {
		if !cmp.sameChain(&olds[0], &news[0]) {
			e.Set = append(e.Set, news[0])
		}
		olds, news = olds[1:], news[1:]
	}
	var last []Chain
	for i, j := len(olds)-1, len(news)-1; i >= 0 && j >= 0 && olds[i].Name == news[j].Name; i, j = i-1, j-1 {
		if !cmp.sameChain(&olds[i], &news[j]) {
			last = append(last, news[j])
		}
		olds, news = olds[:i], news[:j]
	}
	slices.Reverse(last)
	diffChains(&cmp, &e, olds, news)
	e.Set = append(e.Set, last...)
	return e
}

func chainName(c *Chain) string { return c.Name }

// diffChains adds the differences between two lists of chains of a table to an edit.
func diffChains(cmp *comparer, e *Edit, have, want []Chain) {
	old, wanted := ordered.Index(have, chainName), ordered.Index(want, chainName)
	for i := range want {
		w := &want[i]
		h := old[w.Name]
		if h == nil && w.untouched() {
			continue
		}
		if h == nil || !cmp.sameChain(h, w) {
			e.Set = append(e.Set, *w)
		}
	}
	for i := range have {
		switch h := &have[i]; {
		case wanted[h.Name] != nil:
		case h.Policy == "":
			e.Delete = append(e.Delete, h.Name)
		case !h.untouched():
			// A built-in chain cannot be deleted; it is reset.
			e.Set = append(e.Set, Chain{Name: h.Name, Policy: "ACCEPT"})
		}
	}
}

// untouched reports whether c is a built-in chain as the kernel made it.
func (c *Chain) untouched() bool { return c.Policy == "ACCEPT" && len(c.Rules) == 0 }

// sameMatch compares values. Only a CTState cannot be compared with ==.
func sameMatch(a, b Match) bool {
	if s, ok := a.(CTState); ok {
		t, ok := b.(CTState)
		return ok && s.Not == t.Not && slices.Equal(s.States, t.States)
	}
	if _, ok := b.(CTState); ok {
		return false
	}
	return a == b
}

// comparer compares rules as iptables-save prints them, without allocating strings.
type comparer struct{ a, b []byte }

func (c *comparer) sameChain(a, b *Chain) bool {
	return a.Policy == b.Policy && (ordered.Same(a.Rules, b.Rules) || slices.EqualFunc(a.Rules, b.Rules, c.sameRule))
}

func (c *comparer) sameRule(a, b Rule) bool {
	if a.Raw == "" && b.Raw == "" && a.Target == b.Target && slices.EqualFunc(a.Matches, b.Matches, sameMatch) {
		return true
	}
	// Rules written differently, or read from the kernel, may still be the same.
	c.a, c.b = a.appendSave(c.a[:0]), b.appendSave(c.b[:0])
	return bytes.Equal(c.a, c.b)
}

// References reports whether a match of the rule looks up the set.
func (r *Rule) References(set string) bool {
	return strings.Contains(r.Raw, "--match-set "+set+" ") ||
		slices.ContainsFunc(r.Matches, func(m Match) bool {
			x, ok := m.(MatchSet)
			return ok && x.Set == set
		})
}

// Sort brings tables into canonical order: IPv4 first, each family in the order in
// which a packet meets them, and their chains.
func Sort(list []Table) {
	slices.SortStableFunc(list, func(a, b Table) int {
		return cmp.Or(ordered.Bools(a.IPv6, b.IPv6), cmp.Compare(tableOrder(a.Name), tableOrder(b.Name)))
	})
	for i := range list {
		// Chain names are unique; a stable sort of thousands is slow.
		slices.SortFunc(list[i].Chains, func(a, b Chain) int {
			if a.Policy == "" && b.Policy == "" { // the usual case, worth a shortcut
				return cmp.Compare(a.Name, b.Name)
			}
			return cmp.Or(cmp.Compare(hookOrder(a.Name), hookOrder(b.Name)), cmp.Compare(a.Name, b.Name))
		})
	}
}

// tableOrder is the order in which a packet meets the tables of one hook.
func tableOrder(name string) int {
	return slices.Index([]string{"raw", "mangle", "nat", "filter"}, name)
}

// hookOrder puts built-in chains first, in the order in which packets traverse them.
func hookOrder(chain string) int {
	i := slices.Index([]string{"PREROUTING", "INPUT", "FORWARD", "OUTPUT", "POSTROUTING"}, chain)
	if i < 0 {
		return 5
	}
	return i
}
