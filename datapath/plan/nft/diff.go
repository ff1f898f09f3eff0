package nft

import (
	"bytes"
	"slices"

	"github.com/netlab/netlab/datapath/plan/origin"
)

// Edit lists what changes in one nf_tables table, all in one transaction: packets see
// the table before or after it.
type Edit struct {
	Family, Name string
	Create       bool // the table does not exist yet
	Remove       bool // with everything in it
	// Chains hold exactly these rules afterwards; they are created where missing.
	Chains []Chain
	// Renew are those of Chains that have to be recreated: another hook or priority.
	Renew []string
	// Sets are created, with their elements, after DeleteSets are gone: one of another
	// type is in both, and the chains that reference it are among Chains.
	Sets         []Set
	DeleteSets   []Set // without elements
	Elements     []SetEdit
	DeleteChains []string
	Origin       origin.Ref
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
	for i := range tables {
		edits = append(edits, create(&tables[i]))
	}
	return edits
}

func create(t *Table) Edit {
	return Edit{Family: t.Family, Name: t.Name, Create: true, Chains: t.Chains, Sets: t.Sets, Origin: t.Origin}
}

// Diff compares tables in canonical order.
func Diff(have, want []Table) []Edit {
	var edits []Edit
	for len(have) > 0 || len(want) > 0 {
		c := 0
		switch {
		case len(want) == 0:
			c = -1
		case len(have) == 0:
			c = 1
		default:
			c = compareTables(have[0], want[0])
		}
		switch {
		case c < 0:
			edits = append(edits, Edit{Family: have[0].Family, Name: have[0].Name, Remove: true})
			have = have[1:]
		case c > 0:
			edits = append(edits, create(&want[0]))
			want = want[1:]
		default:
			if e := diffTable(&have[0], &want[0]); !e.empty() {
				edits = append(edits, e)
			}
			have, want = have[1:], want[1:]
		}
	}
	return edits
}

func (e *Edit) empty() bool {
	return !e.Create && !e.Remove && len(e.Chains)+len(e.Renew)+len(e.Sets)+len(e.DeleteSets)+len(e.Elements)+len(e.DeleteChains) == 0
}

func diffTable(have, want *Table) Edit {
	e := Edit{Family: want.Family, Name: want.Name, Origin: want.Origin}
	renewed := e.diffSets(have.Sets, want.Sets)
	old := make(map[string]*Chain, len(have.Chains))
	for i := range have.Chains {
		old[have.Chains[i].Name] = &have.Chains[i]
	}
	kept := make(map[string]bool, len(want.Chains))
	var cmp comparer
	for i := range want.Chains {
		w := &want.Chains[i]
		kept[w.Name] = true
		h := old[w.Name]
		if h != nil && !h.sameKind(w) {
			e.Renew = append(e.Renew, w.Name)
		} else if h != nil && h.Policy == w.Policy && slices.EqualFunc(h.Rules, w.Rules, cmp.same) && !usesAny(w, renewed) {
			continue
		}
		e.Chains = append(e.Chains, *w)
	}
	for i := range have.Chains {
		if name := have.Chains[i].Name; !kept[name] {
			e.DeleteChains = append(e.DeleteChains, name)
		}
	}
	return e
}

// diffSets fills in the sets, and returns the names of those that are recreated.
func (e *Edit) diffSets(have, want []Set) map[string]bool {
	var renewed map[string]bool
	for len(have) > 0 || len(want) > 0 {
		switch {
		case len(want) == 0 || len(have) > 0 && have[0].Name < want[0].Name:
			e.DeleteSets = append(e.DeleteSets, have[0].bare())
			have = have[1:]
		case len(have) == 0 || want[0].Name < have[0].Name:
			e.Sets = append(e.Sets, want[0])
			want = want[1:]
		default:
			h, w := &have[0], &want[0]
			if h.Interval != w.Interval || !slices.Equal(h.Key, w.Key) || !slices.Equal(h.Data, w.Data) {
				e.DeleteSets, e.Sets = append(e.DeleteSets, h.bare()), append(e.Sets, *w)
				if renewed == nil {
					renewed = map[string]bool{}
				}
				renewed[w.Name] = true
			} else if x := (SetEdit{Set: w.bare()}); x.diff(h.Elements, w.Elements) {
				e.Elements = append(e.Elements, x)
			}
			have, want = have[1:], want[1:]
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
	for len(have) > 0 && len(want) > 0 {
		c := compareElements(have[0], want[0])
		if c == 0 && have[0].Verdict == want[0].Verdict && slices.Equal(have[0].Data, want[0].Data) {
			have, want = have[1:], want[1:]
			continue
		}
		if c <= 0 {
			x.Delete = append(x.Delete, have[0])
			have = have[1:]
		}
		if c >= 0 {
			x.Add = append(x.Add, want[0])
			want = want[1:]
		}
	}
	x.Delete, x.Add = append(x.Delete, have...), append(x.Add, want...)
	return len(x.Delete)+len(x.Add) > 0
}

// usesAny reports whether a rule of the chain references one of the sets.
func usesAny(c *Chain, sets map[string]bool) bool {
	if len(sets) == 0 {
		return false
	}
	return slices.ContainsFunc(c.Rules, func(r Rule) bool {
		return slices.ContainsFunc(r.Exprs, func(x Expr) bool { return sets[SetOf(x)] })
	})
}

// SetOf is the name of the set or map that an expression looks up; empty: none.
func SetOf(e Expr) string {
	switch e := e.(type) {
	case Lookup:
		return e.Set
	case VMap:
		return e.Map
	case DNAT:
		return e.Map
	}
	return ""
}

// comparer compares rules as they are written, without allocating strings.
type comparer struct{ a, b []byte }

func (c *comparer) same(a, b Rule) bool {
	c.a, c.b = a.appendWords(c.a[:0]), b.appendWords(c.b[:0])
	return bytes.Equal(c.a, c.b)
}
