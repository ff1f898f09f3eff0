package plan

import (
	"bytes"
	"slices"
)

// NFTEdit is what changes in one table of nf_tables, all in one transaction: packets see
// the table before or after it.
type NFTEdit struct {
	Family, Name string
	Create       bool // there is no such table
	Remove       bool // with all that is in it
	// Chains hold exactly these rules afterwards; they are made where they are missing.
	Chains []NFTChain
	// Renew are those of Chains that have to be made anew: another hook or priority.
	Renew []string
	// Sets are made, with their elements, after DeleteSets are gone: one of another type
	// is in both, and the chains that ask it are among Chains.
	Sets         []NFTSet
	DeleteSets   []NFTSet // without elements
	Elements     []NFTSetEdit
	DeleteChains []string
	Origin       Origin
}

// NFTSetEdit is what changes among the elements of a set that stays. One whose data
// differ is in both lists: what goes is taken away first.
type NFTSetEdit struct {
	Set         NFTSet // without elements
	Add, Delete []NFTElement
}

// NFTEdits returns the edits that make whole tables from nothing.
func NFTEdits(tables []NFTTable) []NFTEdit {
	edits := make([]NFTEdit, 0, len(tables))
	for i := range tables {
		edits = append(edits, createNFT(&tables[i]))
	}
	return edits
}

func createNFT(t *NFTTable) NFTEdit {
	return NFTEdit{Family: t.Family, Name: t.Name, Create: true, Chains: t.Chains, Sets: t.Sets, Origin: t.Origin}
}

// diffNFT compares tables, which are in canonical order.
func diffNFT(have, want []NFTTable) []NFTEdit {
	var edits []NFTEdit
	for len(have) > 0 || len(want) > 0 {
		c := 0
		switch {
		case len(want) == 0:
			c = -1
		case len(have) == 0:
			c = 1
		default:
			c = compareNFTTables(have[0], want[0])
		}
		switch {
		case c < 0:
			edits = append(edits, NFTEdit{Family: have[0].Family, Name: have[0].Name, Remove: true})
			have = have[1:]
		case c > 0:
			edits = append(edits, createNFT(&want[0]))
			want = want[1:]
		default:
			if e := diffNFTTable(&have[0], &want[0]); !e.empty() {
				edits = append(edits, e)
			}
			have, want = have[1:], want[1:]
		}
	}
	return edits
}

func (e *NFTEdit) empty() bool {
	return !e.Create && !e.Remove && len(e.Chains)+len(e.Renew)+len(e.Sets)+len(e.DeleteSets)+len(e.Elements)+len(e.DeleteChains) == 0
}

func diffNFTTable(have, want *NFTTable) NFTEdit {
	e := NFTEdit{Family: want.Family, Name: want.Name, Origin: want.Origin}
	renewed := e.diffSets(have.Sets, want.Sets)
	old := make(map[string]*NFTChain, len(have.Chains))
	for i := range have.Chains {
		old[have.Chains[i].Name] = &have.Chains[i]
	}
	kept := make(map[string]bool, len(want.Chains))
	var cmp nftComparer
	for i := range want.Chains {
		w := &want.Chains[i]
		kept[w.Name] = true
		h := old[w.Name]
		if h != nil && !h.sameKind(w) {
			e.Renew = append(e.Renew, w.Name)
		} else if h != nil && h.Policy == w.Policy && slices.EqualFunc(h.Rules, w.Rules, cmp.same) && !asksAny(w, renewed) {
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

// diffSets fills in the sets, and returns the names of those that are made anew.
func (e *NFTEdit) diffSets(have, want []NFTSet) map[string]bool {
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
			} else if x := (NFTSetEdit{Set: w.bare()}); x.diff(h.Elements, w.Elements) {
				e.Elements = append(e.Elements, x)
			}
			have, want = have[1:], want[1:]
		}
	}
	return renewed
}

func (s *NFTSet) bare() NFTSet {
	b := *s
	b.Elements = nil
	return b
}

// diff fills in what leads from some elements to others, and reports whether that is
// anything.
func (x *NFTSetEdit) diff(have, want []NFTElement) bool {
	for len(have) > 0 && len(want) > 0 {
		c := compareNFTElements(have[0], want[0])
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

// asksAny reports whether a rule of the chain asks one of some sets.
func asksAny(c *NFTChain, sets map[string]bool) bool {
	if len(sets) == 0 {
		return false
	}
	return slices.ContainsFunc(c.Rules, func(r NFTRule) bool {
		return slices.ContainsFunc(r.Exprs, func(x NFTExpr) bool { return sets[NFTSetOf(x)] })
	})
}

// NFTSetOf is the name of the set or map that an expression asks; empty: none.
func NFTSetOf(e NFTExpr) string {
	switch e := e.(type) {
	case NFTLookup:
		return e.Set
	case NFTVMap:
		return e.Map
	case NFTDNAT:
		return e.Map
	}
	return ""
}

// nftComparer compares rules as they are written, without making a string of each.
type nftComparer struct{ a, b []byte }

func (c *nftComparer) same(a, b NFTRule) bool {
	c.a, c.b = a.appendWords(c.a[:0]), b.appendWords(c.b[:0])
	return bytes.Equal(c.a, c.b)
}

// nft notes where a table has left the plan.
func (d *drift) nft(netns string, e *NFTEdit) {
	place := e.Family + " " + e.Name
	switch {
	case e.Create:
		d.note(netns, e.Origin, "table %s missing", place)
		return
	case e.Remove:
		d.note(netns, Origin{}, "table %s not in the plan", place)
		return
	}
	for i := range e.Sets {
		d.note(netns, e.Sets[i].Origin, "%s: %s %s (%s) missing", place, e.Sets[i].word(), e.Sets[i].Name, e.Sets[i].Spec())
	}
	for i := range e.DeleteSets {
		d.note(netns, Origin{}, "%s: %s %s (%s) not in the plan", place, e.DeleteSets[i].word(), e.DeleteSets[i].Name, e.DeleteSets[i].Spec())
	}
	for i := range e.Elements {
		d.nftElements(netns, place, &e.Elements[i])
	}
	have, want := nftChains(d.have[netns], e), nftChains(d.want[netns], e)
	for i := range e.Chains {
		w := &e.Chains[i]
		h := have[w.Name]
		if h == nil {
			d.note(netns, Origin{}, "%s %s: chain missing", place, w.Name)
			h = &NFTChain{}
		} else if h.IsBase() && h.Spec() != w.Spec() {
			d.note(netns, Origin{}, "%s %s: is %s want %s", place, w.Name, h.Spec(), w.Spec())
		}
		if full := want[w.Name]; full != nil {
			w = full
		}
		d.nftRules(netns, place+" "+w.Name, h.Rules, w.Rules)
	}
	for _, name := range e.DeleteChains {
		d.note(netns, Origin{}, "%s %s: chain not in the plan", place, name)
	}
}

func nftChains(n *Netns, e *NFTEdit) map[string]*NFTChain {
	m := map[string]*NFTChain{}
	for i := range n.NFT {
		t := &n.NFT[i]
		if t.Family != e.Family || t.Name != e.Name {
			continue
		}
		for j := range t.Chains {
			m[t.Chains[j].Name] = &t.Chains[j]
		}
	}
	return m
}

func (d *drift) nftElements(netns, place string, x *NFTSetEdit) {
	for _, part := range []struct {
		what string
		list []NFTElement
	}{{"missing", x.Add}, {"not in the plan", x.Delete}} {
		for i := range part.list {
			if i == membersShown {
				d.note(netns, x.Set.Origin, "%s: %s %s: %s more %s", place, x.Set.word(), x.Set.Name, count(len(part.list)-i, "element"), part.what)
				break
			}
			d.note(netns, x.Set.Origin, "%s: %s %s: element %s %s", place, x.Set.word(), x.Set.Name, x.Set.Words(&part.list[i]), part.what)
		}
	}
}

// nftRules compares two lists of rules as multisets; when they hold the same rules, only
// the order differs.
func (d *drift) nftRules(netns, place string, have, want []NFTRule) {
	there := map[string]int{}
	for i := range have {
		there[have[i].Words()]++
	}
	before := len(d.lines)
	for i := range want {
		words := want[i].Words()
		if there[words] > 0 {
			there[words]--
			continue
		}
		d.note(netns, want[i].Origin, "%s: rule missing: %s", place, words)
	}
	for i := range have {
		if words := have[i].Words(); there[words] > 0 {
			there[words]--
			d.note(netns, Origin{}, "%s: rule not in the plan: %s", place, words)
		}
	}
	if len(d.lines) > before {
		return
	}
	for i := range min(len(have), len(want)) {
		if have[i].Words() != want[i].Words() {
			d.note(netns, want[i].Origin, "%s: rules out of order from number %d: %s", place, i+1, want[i].Words())
			return
		}
	}
}

// counts adds the chains and sets that the edit touches.
func (e *NFTEdit) counts(chains, sets int) (int, int) {
	return chains + len(e.Chains) + len(e.DeleteChains), sets + len(e.Sets) + len(e.DeleteSets) + len(e.Elements)
}
