package walk

import (
	"encoding/binary"
	"net/netip"
	"slices"
	"strings"
	"sync"

	"github.com/netlab/netlab/datapath/plan/iptables"
)

// table finds the chains of an iptables table. Chains are indexed when a packet first
// visits them: of fifty thousand, it visits a dozen.
type table struct {
	*iptables.Table
	mu      sync.Mutex
	visited map[string]*chain // nil: there is none of that name
	places  map[string]int    // of all chains; only if they are not sorted
}

// longChain is the length from which a chain gets an index.
const longChain = 16

// chain is a chain with an index of its rules.
type chain struct {
	*iptables.Chain
	table *table
	once  sync.Once
	index *ruleIndex
}

// chain returns a chain by its name, or nil.
func (t *table) chain(name string) *chain {
	t.mu.Lock()
	defer t.mu.Unlock()
	c, known := t.visited[name]
	if known {
		return c
	}
	if i := t.find(name); i >= 0 {
		c = &chain{Chain: &t.Chains[i], table: t}
	}
	if t.visited == nil {
		t.visited = map[string]*chain{}
	}
	t.visited[name] = c
	return c
}

// find returns the index of a chain, or -1. A sorted plan lists built-in chains first,
// then the others by name; if it is not sorted, or there is no such chain, the search
// misses and every chain is checked once.
func (t *table) find(name string) int {
	builtin := 0
	for builtin < len(t.Chains) && t.Chains[builtin].Policy != "" {
		if t.Chains[builtin].Name == name {
			return builtin
		}
		builtin++
	}
	rest := t.Chains[builtin:]
	if i, ok := slices.BinarySearchFunc(rest, name, func(c iptables.Chain, name string) int { return strings.Compare(c.Name, name) }); ok {
		return builtin + i
	}
	if t.places == nil {
		t.places = make(map[string]int, len(t.Chains))
		for i := range t.Chains {
			if _, known := t.places[t.Chains[i].Name]; !known {
				t.places[t.Chains[i].Name] = i
			}
		}
	}
	if i, ok := t.places[name]; ok {
		return i
	}
	return -1
}

// ruleIndex finds the rules that a packet can match, by the destination that they
// match: an address, a port, both or neither. Rules with the same key are linked in
// order. Two keys may collide, which costs time but is harmless: callers check all
// conditions of a rule.
type ruleIndex struct {
	first  map[uint64]int32 // by key: the first rule
	last   map[uint64]int32
	follow []int32 // the next rule of the same key, or none
}

// none means no rule.
const none int32 = -1

// key is the number of a destination; the invalid address and port 0 stand for
// any.
func key(a netip.Addr, port uint16) uint64 {
	b := a.As16()
	k := binary.LittleEndian.Uint64(b[:8])*0x9e3779b97f4a7c15 ^ binary.LittleEndian.Uint64(b[8:])
	if !a.IsValid() {
		k = 0
	}
	return (k ^ uint64(port)) * 0xff51afd7ed558ccd
}

func (c *chain) build() {
	n := len(c.Rules)
	x := &ruleIndex{first: make(map[uint64]int32, n), last: map[uint64]int32{}, follow: make([]int32, n)}
	for i := range c.Rules {
		k := key(destination(&c.Rules[i]))
		x.follow[i] = none
		head, known := x.first[k]
		if !known {
			x.first[k] = int32(i)
			continue
		}
		if last, more := x.last[k]; more {
			head = last
		}
		x.follow[head] = int32(i)
		x.last[k] = int32(i)
	}
	x.last = nil
	c.index = x
}

func (x *ruleIndex) from(k uint64) int32 {
	if i, ok := x.first[k]; ok {
		return i
	}
	return none
}

// candidates are all rules that a packet can match, in the order of the chain.
func (c *chain) candidates(p *packet) *merge {
	if len(c.Rules) < longChain {
		return &merge{n: int32(len(c.Rules))}
	}
	c.once.Do(c.build)
	m := &merge{index: c.index}
	m.heads[0] = c.index.from(key(netip.Addr{}, 0))
	m.heads[1] = c.index.from(key(p.dst.Addr(), 0))
	m.heads[2], m.heads[3] = none, none
	if p.quoted == nil && p.dst.Port() != 0 {
		m.heads[2] = c.index.from(key(p.dst.Addr(), p.dst.Port()))
		m.heads[3] = c.index.from(key(netip.Addr{}, p.dst.Port()))
	}
	return m
}

// destination is the one address and port that a rule matches; the zero value: any. It
// may overlook conditions, but must not invent one.
func destination(r *iptables.Rule) (addr netip.Addr, port uint16) {
	for _, m := range r.Matches {
		switch m := m.(type) {
		case iptables.Dst:
			if !m.Not && m.Prefix.IsSingleIP() {
				addr = m.Prefix.Addr()
			}
		case iptables.DPort:
			port = m.Port
		}
	}
	return addr, port
}

// merge yields the rules of several keys in order, or without an index, all.
type merge struct {
	index *ruleIndex
	n, at int32
	heads [4]int32
}

func (m *merge) next() (int32, bool) {
	if m.index == nil {
		m.at++
		return m.at - 1, m.at <= m.n
	}
	best := none
	for _, i := range m.heads {
		if i != none && (best == none || i < best) {
			best = i
		}
	}
	if best == none {
		return 0, false
	}
	for h, i := range m.heads { // colliding keys yield a rule once
		if i == best {
			m.heads[h] = m.index.follow[best]
		}
	}
	return best, true
}
