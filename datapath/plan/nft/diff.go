package nft

import (
	"bytes"
	"slices"

	"github.com/netlab/netlab/datapath/plan/ordered"
)

// Edit lists what changes in one nf_tables table, in one transaction but for what is
// unseen: packets see the table before or after it.
type Edit struct {
	// Table has the chains that hold exactly these rules afterwards, created where
	// missing; and sets that are created, with their elements, after DeleteSets are gone:
	// one of another type is in both, and the chains that reference it are among Chains.
	Table
	Create       bool     // the table does not exist yet, or is made again
	Remove       bool     // with everything in it
	Renew        []string // those of Chains that have to be recreated: another hook or priority
	DeleteSets   []Set    // without elements
	Elements     []SetEdit
	DeleteChains []string
}

// SetEdit lists the changed elements of a set that stays. An element whose data differ
// is in both lists: deletions come first.
type SetEdit struct {
	Set         Set // without elements
	Add, Delete []Element
}

// Create returns the edits that create whole tables.
func Create(tables []Table) []Edit {
	edits := make([]Edit, 0, len(tables))
	for _, t := range tables {
		edits = append(edits, Edit{Table: t, Create: true})
	}
	return edits
}

// Diff compares tables in canonical order.
func Diff(have, want []Table) []Edit {
	var edits []Edit
	for h, w := range ordered.Pairs(have, want, compareTables) {
		switch {
		case w == nil:
			edits = append(edits, Edit{Table: Table{Family: h.Family, Name: h.Name}, Remove: true})
		case h == nil:
			edits = append(edits, Edit{Table: *w, Create: true})
		case h.Dormant:
			edits = append(edits, Edit{Table: *w, Create: true, Remove: true})
		default:
			if e := diffTable(h, w); !e.empty() {
				edits = append(edits, e)
			}
		}
	}
	return edits
}

func (e *Edit) empty() bool {
	return !e.Create && !e.Remove && len(e.Chains)+len(e.Renew)+len(e.Sets)+len(e.DeleteSets)+len(e.Elements)+len(e.DeleteChains) == 0
}

func diffTable(have, want *Table) Edit {
	e := Edit{Table: Table{Family: want.Family, Name: want.Name, Origin: want.Origin}}
	renewed := e.diffSets(have.Sets, want.Sets)
	var cmp comparer
	gone, fresh := map[string]bool{}, map[string]bool{} // a chain of another kind is in both
	shares := func(h, w *Chain) bool { return h.shares(w) && !usesAny(w, renewed) }
	olds, news := ordered.Differing(have.Chains, want.Chains, shares)
	for h, w := range ordered.Pairs(olds, news, compareChains) {
		switch {
		case w == nil:
			gone[h.Name] = true
			e.DeleteChains = append(e.DeleteChains, h.Name)
		case h == nil:
			fresh[w.Name] = true
			e.Chains = append(e.Chains, *w)
		case !h.sameKind(w):
			gone[h.Name], fresh[w.Name] = true, true
			e.DeleteChains, e.Chains = append(e.DeleteChains, h.Name), append(e.Chains, *w)
		case h.Policy != w.Policy || !cmp.sameRules(h.Rules, w.Rules) || usesAny(w, renewed):
			e.Chains = append(e.Chains, *w)
		}
	}
	for i := range e.Chains {
		if name := e.Chains[i].Name; gone[name] && fresh[name] {
			e.Renew = append(e.Renew, name)
		}
	}
	e.DeleteChains = slices.DeleteFunc(e.DeleteChains, func(name string) bool { return fresh[name] })
	if len(e.DeleteChains) == 0 {
		e.DeleteChains = nil
	}
	return e
}

// diffSets fills in the sets, and returns the names of those that are recreated.
func (e *Edit) diffSets(have, want []Set) map[string]bool {
	renewed := map[string]bool{}
	for h, w := range ordered.Pairs(have, want, compareSets) {
		switch {
		case w == nil:
			e.DeleteSets = append(e.DeleteSets, h.bare())
		case h == nil:
			e.Sets = append(e.Sets, *w)
		case h.Interval != w.Interval || h.Timeout != w.Timeout || h.Comment != w.Comment || !slices.Equal(h.Key, w.Key) || !slices.Equal(h.Data, w.Data):
			e.DeleteSets, e.Sets = append(e.DeleteSets, h.bare()), append(e.Sets, *w)
			renewed[w.Name] = true
		case ordered.Same(h.Elements, w.Elements):
		default:
			if x := (SetEdit{Set: w.bare()}); x.diff(h.Elements, w.Elements) {
				e.Elements = append(e.Elements, x)
			}
		}
	}
	return renewed
}

func (s *Set) bare() Set {
	b := *s
	b.Elements = nil
	return b
}

// diff fills in the differences of the elements, and reports whether there are any.
func (x *SetEdit) diff(have, want []Element) bool {
	have, want = ordered.Differing(have, want, (*Element).shares)
	for h, w := range ordered.Pairs(have, want, compareElements) {
		if h != nil && w != nil && h.Verdict == w.Verdict && h.Comment == w.Comment && slices.Equal(h.Data, w.Data) {
			continue
		}
		if h != nil {
			x.Delete = append(x.Delete, *h)
		}
		if w != nil {
			x.Add = append(x.Add, *w)
		}
	}
	return len(x.Delete)+len(x.Add) > 0
}

func usesAny(c *Chain, sets map[string]bool) bool {
	if len(sets) == 0 {
		return false
	}
	return slices.ContainsFunc(c.Rules, func(r Rule) bool {
		return slices.ContainsFunc(r.Exprs, func(x Expr) bool {
			_, set := LookedUp(x)
			return sets[set]
		})
	})
}

// comparer compares rules as they are written, without allocating strings.
type comparer struct{ a, b []byte }

func (c *comparer) sameRules(a, b []Rule) bool {
	return ordered.Same(a, b) || slices.EqualFunc(a, b, c.same)
}

func (c *comparer) same(a, b Rule) bool {
	c.a, c.b = a.appendWords(c.a[:0]), b.appendWords(c.b[:0])
	return bytes.Equal(c.a, c.b)
}
