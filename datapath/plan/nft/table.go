package nft

import (
	"cmp"
	"net/netip"
	"slices"
	"strconv"

	"github.com/netlab/netlab/datapath/plan/ordered"
	"github.com/netlab/netlab/datapath/plan/origin"
)

// Table is an nf_tables table with everything in it (nft(8)). The plan owns every table
// of a namespace except those of iptables-nft: in the families ip and ip6 those named
// raw, mangle, nat, filter and security.
type Table struct {
	Family string `json:"family"` // inet, ip or ip6
	Name   string `json:"name"`
	// Comment says what the table is for. Those of tables and chains are written when they are
	// created, and not compared: the kernel cannot change them.
	Comment string     `json:"comment,omitempty"`
	Dormant bool       `json:"-"`              // only in those read from the kernel: it takes no part
	Sets    []Set      `json:"sets,omitempty"` // by name; also maps and verdict maps
	Chains  []Chain    `json:"chains,omitempty"`
	Origin  origin.Ref `json:"origin,omitzero"`
}

// Places are those of the chains of a table that is being written, by name.
type Places map[string]int

// Chain is the chain of a table, which it adds if it is not there. It is valid until the next
// is added.
func (x Places) Chain(t *Table, name string) *Chain {
	i, ok := x[name]
	if !ok {
		i = len(t.Chains)
		x[name] = i
		t.Chains = append(t.Chains, Chain{Name: name})
	}
	return &t.Chains[i]
}

// Type is the type of a part of a set's key or of a map's data, as nft names it.
type Type string

// The types that sets and maps can use.
const (
	IPv4        Type = "ipv4_addr"
	IPv6        Type = "ipv6_addr"
	Proto       Type = "inet_proto"
	Port        Type = "inet_service"
	Mark        Type = "mark"
	IfName      Type = "ifname"
	Integer     Type = "integer" // of Random
	VerdictData Type = "verdict" // only as data, and alone
)

// Set is a named set or, if it has Data, a map. A lookup of the whole key takes
// constant time, however many elements there are.
type Set struct {
	Name string // at most 255 bytes
	Key  []Type
	Data []Type // of a map
	// Interval allows elements that are ranges and prefixes, which must not overlap.
	Interval bool
	// Timeout makes the set dynamic: rules add elements (Update), each for so many seconds.
	// They are state, not part of the plan.
	Timeout  uint32
	Comment  string    // at most MaxComment bytes, without quotes, as all comments
	Elements []Element // in the order of Sort, keys unique
	Origin   origin.Ref
}

// IsMap reports whether elements have data.
func (s *Set) IsMap() bool { return len(s.Data) > 0 }

// HasVerdicts reports whether the data are verdicts.
func (s *Set) HasVerdicts() bool { return len(s.Data) == 1 && s.Data[0] == VerdictData }

// Element is an element of a set, with data if that is a map.
type Element struct {
	Key     []Value
	Data    []Value // of a map other than a verdict map
	Verdict Verdict // of a verdict map
	Comment string
}

// Value is a part of a key, or what a field is compared with: addresses, numbers or the
// name of a link, depending on the type.
type Value struct {
	Prefix      netip.Prefix // of full length: one address
	First, Last uint32       // inclusive: First is Last for a single number
	Name        string
}

// Addr is a single address.
func Addr(a netip.Addr) Value { return Value{Prefix: netip.PrefixFrom(a, a.BitLen())} }

func (v Value) isRange() bool {
	return v.First != v.Last || v.Prefix.IsValid() && !v.Prefix.IsSingleIP()
}

// Prefix is a block of addresses.
func Prefix(p netip.Prefix) Value { return Value{Prefix: p.Masked()} }

// Number is a single number: a port, a mark, a protocol, an address type.
func Number(n uint32) Value { return Value{First: n, Last: n} }

// Range is a range of numbers, inclusive.
func Range(first, last uint32) Value { return Value{First: first, Last: last} }

// Name is the name of a link; a * at its end is a wildcard.
func Name(name string) Value { return Value{Name: name} }

// Protocol is a transport protocol by name: tcp, udp, sctp, icmp or ipv6-icmp.
func Protocol(name string) Value {
	for number, n := range protocols() {
		if n == name {
			return Number(number)
		}
	}
	return Value{}
}

func protocols() map[uint32]string {
	return map[uint32]string{1: "icmp", 6: "tcp", 17: "udp", 58: "ipv6-icmp", 132: "sctp"}
}

// Chain is a chain. One with a hook is a base chain, into which the kernel passes
// packets; others are reached by jumps and gotos.
type Chain struct {
	Name string // at most 255 bytes
	// Type, Hook, Priority and Policy are those of a base chain: filter, nat or route;
	// prerouting, input, forward, output or postrouting; lower numbers see packets
	// first; accept or drop.
	//
	// iptables uses the same hooks: raw at -300, connection tracking at -200, mangle at
	// -150, DNAT at -100, filter at 0, SNAT at 100. Of those with the same
	// priority, the one created last sees packets first: netlab creates iptables' after these.
	Type     string
	Hook     string
	Priority int
	Policy   string
	Comment  string
	Rules    []Rule
}

// IsBase reports whether the chain has a hook.
func (c *Chain) IsBase() bool { return c.Hook != "" }

// sameKind reports whether one chain can be changed into the other: only the policy of
// a base chain can change.
func (c *Chain) sameKind(d *Chain) bool {
	return c.Type == d.Type && c.Hook == d.Hook && c.Priority == d.Priority
}

// Rule is a rule: its conditions and actions, in the order in which they are written.
type Rule struct {
	Exprs []Expr
	// Comment is at most 127 bytes, without quotes.
	Comment string
	Origin  origin.Ref // of the object that the rule serves
	// Raw is the rule as Words writes it; rules read from the kernel have only this.
	Raw string
}

// MaxComment is the longest comment of a rule, in bytes.
const MaxComment = 127

// Sort brings tables into canonical order.
func Sort(list []Table) {
	ordered.Sort(list, compareTables)
	for i := range list {
		list[i].Sort()
	}
}

// Sort brings the table into canonical order: sets by name, their elements by key, base
// chains in the order in which packets traverse them, then the others by name.
func (t *Table) Sort() {
	ordered.Sort(t.Sets, compareSets)
	for i := range t.Sets {
		t.Sets[i].Sort()
	}
	ordered.Sort(t.Chains, compareChains)
	for i := range t.Chains {
		for j := range t.Chains[i].Rules {
			for _, x := range t.Chains[i].Rules[j].Exprs {
				if s := Anonymous(x); s != nil {
					s.Sort()
				}
			}
		}
	}
}

// shares reports whether elements are equal because they share their values.
func (e *Element) shares(f *Element) bool {
	return ordered.Same(e.Key, f.Key) && (len(e.Data) == 0 && len(f.Data) == 0 || ordered.Same(e.Data, f.Data)) && e.Verdict == f.Verdict && e.Comment == f.Comment
}

// shares reports whether chains are equal, with rules that they share.
func (c *Chain) shares(d *Chain) bool {
	return ordered.Same(c.Rules, d.Rules) && c.Name == d.Name && c.Policy == d.Policy && c.sameKind(d)
}

// Sort brings the elements into canonical order, by key.
func (s *Set) Sort() { ordered.Sort(s.Elements, compareElements) }

func compareTables(a, b Table) int {
	return cmp.Or(cmp.Compare(a.Family, b.Family), cmp.Compare(a.Name, b.Name))
}

func compareSets(a, b Set) int { return cmp.Compare(a.Name, b.Name) }

func compareChains(a, b Chain) int {
	if !a.IsBase() && !b.IsBase() {
		return cmp.Compare(a.Name, b.Name)
	}
	return cmp.Or(cmp.Compare(a.hookOrder(), b.hookOrder()),
		cmp.Compare(a.Priority, b.Priority), cmp.Compare(a.Name, b.Name))
}

// hookOrder puts base chains first, in the order in which packets traverse them.
func (c *Chain) hookOrder() int {
	if !c.IsBase() {
		return 5
	}
	return slices.Index([]string{"prerouting", "input", "forward", "output", "postrouting"}, c.Hook)
}

// compareElements orders by key alone: keys are unique.
func compareElements(a, b Element) int {
	return slices.CompareFunc(a.Key, b.Key, compareValues)
}

func compareValues(a, b Value) int {
	if a.Prefix != b.Prefix {
		return a.Prefix.Compare(b.Prefix)
	}
	return cmp.Or(cmp.Compare(a.First, b.First), cmp.Compare(a.Last, b.Last), cmp.Compare(a.Name, b.Name))
}

// appendValue appends a value as nft prints it where a type is expected.
func appendValue(b []byte, t Type, v Value) []byte {
	switch t {
	case IPv4, IPv6:
		return appendPrefixOrAddr(b, v.Prefix)
	case IfName:
		return strconv.AppendQuote(b, v.Name)
	}
	b = appendNumber(b, t, v.First)
	if v.First != v.Last {
		b = appendNumber(append(b, '-'), t, v.Last)
	}
	return b
}

func appendNumber(b []byte, t Type, n uint32) []byte {
	switch t {
	case Proto:
		switch n { // in place of the table, for thousands of elements
		case 6:
			return append(b, "tcp"...)
		case 17:
			return append(b, "udp"...)
		}
		if name, ok := protocols()[n]; ok {
			return append(b, name...)
		}
	case Mark:
		return appendHex32(b, n)
	case families:
		if name, ok := map[uint32]string{2: "ipv4", 10: "ipv6"}[n]; ok {
			return append(b, name...)
		}
	case addrTypes:
		if name, ok := map[uint32]string{1: "unicast", 2: "local", 3: "broadcast", 5: "multicast"}[n]; ok {
			return append(b, name...)
		}
	}
	return strconv.AppendUint(b, uint64(n), 10)
}

func appendHex32(b []byte, n uint32) []byte {
	const digits = "0123456789abcdef"
	b = append(b, '0', 'x')
	for shift := 28; shift >= 0; shift -= 4 {
		b = append(b, digits[n>>shift&15])
	}
	return b
}

// appendPrefixOrAddr writes a single address without a prefix length.
func appendPrefixOrAddr(b []byte, p netip.Prefix) []byte {
	if p.IsSingleIP() {
		return p.Addr().AppendTo(b)
	}
	return p.AppendTo(b)
}
