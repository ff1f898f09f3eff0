package network

import (
	"encoding/binary"
	"iter"
	"net/netip"
	"slices"
	"strings"
	"sync"

	"github.com/netlab/netlab/datapath/plan/iptables"
)

// Table finds the chains of an iptables table. Chains are indexed when a packet first
// visits them: of fifty thousand, it visits a dozen.
type Table struct {
	*iptables.Table
	mu      sync.Mutex
	visited map[string]*Chain // nil: there is none of that name
}

// longChain is the length from which a chain gets an index.
const longChain = 16

// Chain is a chain with an index of its rules.
type Chain struct {
	*iptables.Chain
	Table *Table
	once  sync.Once
	index ruleIndex
}

// Chain returns a chain by its name, or nil.
func (t *Table) Chain(name string) *Chain {
	t.mu.Lock()
	defer t.mu.Unlock()
	c, known := t.visited[name]
	if known {
		return c
	}
	if i := t.find(name); i >= 0 {
		c = &Chain{Chain: &t.Chains[i], Table: t}
	}
	if t.visited == nil {
		t.visited = map[string]*Chain{}
	}
	t.visited[name] = c
	return c
}

// find returns the index of a chain, or -1. A sorted plan lists built-in chains first,
// then the others by name; if it is not sorted, or there is no such chain, the search
// misses and every chain is checked once.
func (t *Table) find(name string) int {
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
	return slices.IndexFunc(t.Chains, func(c iptables.Chain) bool { return c.Name == name })
}

// ruleIndex finds the rules that a packet can match, by the destination that they
// match: an address, a port, both or neither. Rules count from 1; 0 is none. Two keys may
// collide, which costs time but is harmless: callers check all conditions of a rule.
type ruleIndex struct {
	first  map[uint64]int32 // by key
	follow []int32          // by rule: the next one of the same key
}

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

func (c *Chain) build() {
	n := len(c.Rules)
	c.index = ruleIndex{first: make(map[uint64]int32, n), follow: make([]int32, n+1)}
	for i := n; i > 0; i-- {
		k := key(destination(&c.Rules[i-1]))
		c.index.follow[i], c.index.first[k] = c.index.first[k], int32(i)
	}
}

// Candidates are all rules that a packet can match, in the order of the chain; ports
// says whether it has any.
func (c *Chain) Candidates(dst netip.AddrPort, ports bool) iter.Seq[int] {
	if len(c.Rules) < longChain {
		return func(yield func(int) bool) {
			for i := 0; i < len(c.Rules) && yield(i); i++ {
			}
		}
	}
	c.once.Do(c.build)
	x := &c.index
	heads := []int32{x.first[key(netip.Addr{}, 0)], x.first[key(dst.Addr(), 0)]}
	if ports && dst.Port() != 0 {
		heads = append(heads, x.first[key(dst.Addr(), dst.Port())], x.first[key(netip.Addr{}, dst.Port())])
	}
	return func(yield func(int) bool) {
		for {
			best := int32(0)
			for _, i := range heads {
				if i != 0 && (best == 0 || i < best) {
					best = i
				}
			}
			if best == 0 || !yield(int(best)-1) {
				return
			}
			for h, i := range heads { // colliding keys yield a rule once
				if i == best {
					heads[h] = x.follow[best]
				}
			}
		}
	}
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
