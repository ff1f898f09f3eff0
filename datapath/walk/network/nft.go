package network

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/netlab/netlab/datapath/plan/nft"
)

// NFTTable is a table with indexes, built when a packet first visits its host.
type NFTTable struct {
	*nft.Table
	chains map[string]*nft.Chain
	sets   map[string]*NFTSet
	own    sync.Map // of rules: *NFTSet by *nft.Element, the first of the set
}

// Base is a base chain.
type Base struct {
	*nft.Chain
	Table *NFTTable
}

type baseKey struct {
	hook string
	nat  bool
}

// indexNFT finds the base chains of every hook, in the order of their priorities.
func (h *Host) indexNFT() {
	h.bases = map[baseKey][]Base{}
	for i := range h.NFT {
		t := &NFTTable{Table: &h.NFT[i], chains: map[string]*nft.Chain{}, sets: map[string]*NFTSet{}}
		for j := range t.Sets {
			t.sets[t.Sets[j].Name] = &NFTSet{Set: &t.Sets[j]}
		}
		for j := range t.Chains {
			c := &t.Chains[j]
			t.chains[c.Name] = c
			if k := (baseKey{c.Hook, c.Type == "nat"}); c.IsBase() {
				h.bases[k] = append(h.bases[k], Base{c, t})
			}
		}
	}
	for _, list := range h.bases {
		slices.SortStableFunc(list, func(a, b Base) int { return cmp.Compare(a.Priority, b.Priority) })
	}
}

// Sees reports whether the chain gets packets of an IP family.
func (b Base) Sees(ipv6 bool) bool {
	return b.Table.Family == "inet" || (b.Table.Family == "ip6") == ipv6
}

// Bases returns the base chains of a hook in the order of their priorities: those for NAT,
// or all others.
func (h *Host) Bases(hook string, nat bool) []Base {
	return h.bases[baseKey{strings.ToLower(hook), nat}]
}

// Chain returns a chain by its name, or nil.
func (t *NFTTable) Chain(name string) *nft.Chain { return t.chains[name] }

// Set returns a set or map by its name, or nil.
func (t *NFTTable) Set(name string) *NFTSet { return t.sets[name] }

// Lookup returns the set or map in which an expression looks fields up, or nil.
func (t *NFTTable) Lookup(x nft.Expr) *NFTSet {
	_, name := nft.LookedUp(x)
	if name != "" {
		return t.sets[name]
	}
	s := nft.Anonymous(x)
	if s == nil {
		return nil
	}
	found, _ := t.own.LoadOrStore(&s.Elements[0], &NFTSet{Set: s})
	return found.(*NFTSet)
}

// NFTSet is a set or map with an index of its elements.
type NFTSet struct {
	*nft.Set
	once   sync.Once
	single map[string]int // by the text of a key without ranges
	ranges []int          // the other elements
}

// Find returns the element that has a key, or nil.
func (s *NFTSet) Find(key []nft.Value) *nft.Element {
	s.once.Do(s.build)
	if i, ok := s.single[fmt.Sprint(key)]; ok {
		return &s.Elements[i]
	}
	for _, i := range s.ranges {
		if e := &s.Elements[i]; slices.EqualFunc(e.Key, key, Holds) {
			return e
		}
	}
	return nil
}

func (s *NFTSet) build() {
	s.single = make(map[string]int, len(s.Elements))
	for i, e := range s.Elements {
		if slices.ContainsFunc(e.Key, isRange) {
			s.ranges = append(s.ranges, i)
			continue
		}
		s.single[fmt.Sprint(e.Key)] = i
	}
}

func isRange(v nft.Value) bool {
	return v.Prefix.IsValid() && !v.Prefix.IsSingleIP() || v.First != v.Last || len(v.Name) > 0 && v.Name[len(v.Name)-1] == '*'
}

// Holds reports whether a packet's value equals the wanted one, or lies in its
// range.
func Holds(want, got nft.Value) bool {
	switch {
	case want.Prefix.IsValid():
		return want.Prefix.Contains(got.Prefix.Addr())
	case want.Name != "":
		if rest, any := strings.CutSuffix(want.Name, "*"); any {
			return strings.HasPrefix(got.Name, rest)
		}
		return want.Name == got.Name
	}
	return want.First <= got.First && got.First <= want.Last
}
