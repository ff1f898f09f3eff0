package walk

import (
	"net/netip"
	"slices"
	"strings"
	"sync"

	"github.com/netlab/netlab/datapath/plan"
)

// table finds the chains of an iptables table. A plan lists built-in chains first
// and the others by name, so that fifty thousand of them need no map; a plan that
// does not gets one.
type table struct {
	*plan.Table
	once   sync.Once
	chains []chain // as in Table.Chains
	sorted int     // chains from here on are in the order of their names
	names  map[string]int
}

// longChain is the length from which on a chain gets an index.
const longChain = 16

// chain is a chain with an index of its rules.
type chain struct {
	*plan.Chain
	table *table
	once  sync.Once
	index *ruleIndex
}

func (t *table) build() {
	t.chains = make([]chain, len(t.Table.Chains))
	for i := range t.chains {
		t.chains[i].Chain, t.chains[i].table = &t.Table.Chains[i], t
	}
	for t.sorted < len(t.chains) && t.chains[t.sorted].Policy != "" {
		t.sorted++
	}
	rest := t.Table.Chains[t.sorted:]
	if slices.IsSortedFunc(rest, func(a, b plan.Chain) int { return strings.Compare(a.Name, b.Name) }) {
		return
	}
	t.names = make(map[string]int, len(t.chains))
	for i := range t.chains {
		if _, known := t.names[t.chains[i].Name]; !known {
			t.names[t.chains[i].Name] = i
		}
	}
}

// chain returns a chain by its name, or nil.
func (t *table) chain(name string) *chain {
	t.once.Do(t.build)
	if t.names != nil {
		if i, ok := t.names[name]; ok {
			return &t.chains[i]
		}
		return nil
	}
	for i := range t.sorted {
		if t.chains[i].Name == name {
			return &t.chains[i]
		}
	}
	rest := t.Table.Chains[t.sorted:]
	i, ok := slices.BinarySearchFunc(rest, name, func(c plan.Chain, name string) int { return strings.Compare(c.Name, name) })
	if !ok {
		return nil
	}
	return &t.chains[t.sorted+i]
}

// ruleIndex finds the rules that a packet can match, by the destination that they
// ask for. Each list is in the order of the chain.
type ruleIndex struct {
	both   map[netip.AddrPort][]int32 // one address and one port
	addr   map[netip.Addr][]int32     // one address, any port
	port   map[uint16][]int32         // one port, any address
	others []int32
}

// candidates are the lists that hold all rules which a packet can match.
func (c *chain) candidates(p *packet) *merge {
	if len(c.Rules) < longChain {
		return &merge{n: int32(len(c.Rules))}
	}
	c.once.Do(c.build)
	m := &merge{indexed: true}
	m.lists[0] = c.index.others
	m.lists[1] = c.index.addr[p.dst.Addr()]
	if p.quoted == nil {
		m.lists[2] = c.index.both[p.dst]
		m.lists[3] = c.index.port[p.dst.Port()]
	}
	return m
}

func (c *chain) build() {
	x := &ruleIndex{both: map[netip.AddrPort][]int32{}, addr: map[netip.Addr][]int32{}, port: map[uint16][]int32{}}
	for i := range c.Rules {
		n := int32(i)
		addr, port := destination(&c.Rules[i])
		switch {
		case addr.IsValid() && port != 0:
			key := netip.AddrPortFrom(addr, port)
			x.both[key] = append(x.both[key], n)
		case addr.IsValid():
			x.addr[addr] = append(x.addr[addr], n)
		case port != 0:
			x.port[port] = append(x.port[port], n)
		default:
			x.others = append(x.others, n)
		}
	}
	c.index = x
}

// destination is the one address and port that a rule asks for; the zero value:
// any. It may overlook conditions, but must not make one up.
func destination(r *plan.Rule) (addr netip.Addr, port uint16) {
	for _, m := range r.Matches {
		switch m := m.(type) {
		case plan.Dst:
			if !m.Not && m.Prefix.IsSingleIP() {
				addr = m.Prefix.Addr()
			}
		case plan.DPort:
			port = m.Port
		}
	}
	return addr, port
}

// merge yields the numbers of several ascending lists in order.
type merge struct {
	indexed bool
	n, at   int32
	lists   [4][]int32
}

func (m *merge) next() (int32, bool) {
	if !m.indexed {
		m.at++
		return m.at - 1, m.at <= m.n
	}
	best := -1
	for i, l := range m.lists {
		if len(l) > 0 && (best < 0 || l[0] < m.lists[best][0]) {
			best = i
		}
	}
	if best < 0 {
		return 0, false
	}
	n := m.lists[best][0]
	m.lists[best] = m.lists[best][1:]
	return n, true
}
