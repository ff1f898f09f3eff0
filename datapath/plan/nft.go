package plan

import (
	"cmp"
	"net/netip"
	"slices"
	"strconv"
)

// NFTTable is a table of nf_tables with all that is in it (nft(8)). The plan owns every
// table of a namespace but those that iptables-nft keeps: in the families ip and ip6
// those named raw, mangle, nat, filter and security.
type NFTTable struct {
	Family string // inet, ip or ip6
	Name   string
	Sets   []NFTSet // by name; also maps and verdict maps
	Chains []NFTChain
	Origin Origin
}

// NFTType is the type of a part of a set's key or of a map's data, as nft names it.
type NFTType string

// The types that sets and maps can have.
const (
	NFTIPv4        NFTType = "ipv4_addr"
	NFTIPv6        NFTType = "ipv6_addr"
	NFTProto       NFTType = "inet_proto"
	NFTPort        NFTType = "inet_service"
	NFTMark        NFTType = "mark"
	NFTIfName      NFTType = "ifname"
	NFTVerdictData NFTType = "verdict" // as data only, and alone
)

// NFTSet is a named set, or where it has Data, a map. Rules find an element by its
// whole key at once, however many there are.
type NFTSet struct {
	Name string // at most 255 bytes
	Key  []NFTType
	Data []NFTType // of a map
	// Interval lets elements be ranges and prefixes, which must not overlap.
	Interval bool
	Elements []NFTElement // in the order of Sort, each key once
	Origin   Origin
}

// IsMap reports whether elements have data.
func (s *NFTSet) IsMap() bool { return len(s.Data) > 0 }

// HasVerdicts reports whether the data are verdicts.
func (s *NFTSet) HasVerdicts() bool { return len(s.Data) == 1 && s.Data[0] == NFTVerdictData }

// NFTElement is an element of a set, with data where that is a map.
type NFTElement struct {
	Key     []NFTValue
	Data    []NFTValue // of a map without verdicts
	Verdict NFTVerdict // of a verdict map
}

// NFTValue is a part of a key, or what a field is compared with: addresses, numbers or
// the name of a link, as the type asks for.
type NFTValue struct {
	Prefix      netip.Prefix // of full length: one address
	First, Last uint32       // ends included: First is Last for a single number
	Name        string
}

// NFTAddr is a single address.
func NFTAddr(a netip.Addr) NFTValue { return NFTValue{Prefix: netip.PrefixFrom(a, a.BitLen())} }

// NFTPrefix is a block of addresses.
func NFTPrefix(p netip.Prefix) NFTValue { return NFTValue{Prefix: p.Masked()} }

// NFTNumber is a single number: a port, a mark, a protocol, an address type.
func NFTNumber(n uint32) NFTValue { return NFTValue{First: n, Last: n} }

// NFTRange is a range of numbers, ends included.
func NFTRange(first, last uint32) NFTValue { return NFTValue{First: first, Last: last} }

// NFTName is the name of a link; a * at its end stands for any rest.
func NFTName(name string) NFTValue { return NFTValue{Name: name} }

// NFTProtocol is a transport protocol by name: tcp, udp, sctp, icmp or ipv6-icmp.
func NFTProtocol(name string) NFTValue {
	for number, n := range nftProtocols() {
		if n == name {
			return NFTNumber(number)
		}
	}
	return NFTValue{}
}

func nftProtocols() map[uint32]string {
	return map[uint32]string{1: "icmp", 6: "tcp", 17: "udp", 58: "ipv6-icmp", 132: "sctp"}
}

// NFTChain is a chain. One with a hook is a base chain, to which the kernel brings
// packets; others are reached by jumps and gotos.
type NFTChain struct {
	Name string // at most 255 bytes
	// Type, Hook, Priority and Policy are those of a base chain: filter, nat or route;
	// prerouting, input, forward, output or postrouting; lower numbers see packets
	// first; accept or drop.
	//
	// iptables stands at the same hooks: raw at -300, connection tracking at -200,
	// mangle at -150, DNAT at -100, filter at 0, SNAT at 100. Who comes first at the
	// same priority is not said.
	Type     string
	Hook     string
	Priority int
	Policy   string
	Rules    []NFTRule
}

// IsBase reports whether the chain has a hook.
func (c *NFTChain) IsBase() bool { return c.Hook != "" }

// sameKind reports whether one chain can become the other: all but the policy of a base
// chain is for life.
func (c *NFTChain) sameKind(d *NFTChain) bool {
	return c.Type == d.Type && c.Hook == d.Hook && c.Priority == d.Priority
}

// NFTRule is a rule: what it asks and does, in the order in which it is written.
type NFTRule struct {
	Exprs []NFTExpr
	// Comment is at most 127 bytes, without quotes.
	Comment string
	Origin  Origin // of the object that the rule serves
	// Raw is the rule in the words of Words; rules that were read from the kernel have
	// only this.
	Raw string
}

// MaxNFTComment is how long a rule's comment may be, in bytes.
const MaxNFTComment = 127

// Sort brings the table into canonical order: sets by name, their elements by key, base
// chains in the order of a packet's way, then the others by name.
func (t *NFTTable) Sort() {
	sortIfNeeded(t.Sets, func(a, b NFTSet) int { return cmp.Compare(a.Name, b.Name) })
	for i := range t.Sets {
		sortIfNeeded(t.Sets[i].Elements, compareNFTElements)
	}
	sortIfNeeded(t.Chains, compareNFTChains)
}

func compareNFTTables(a, b NFTTable) int {
	return cmp.Or(cmp.Compare(a.Family, b.Family), cmp.Compare(a.Name, b.Name))
}

func compareNFTChains(a, b NFTChain) int {
	if !a.IsBase() && !b.IsBase() {
		return cmp.Compare(a.Name, b.Name)
	}
	return cmp.Or(compareBool(!a.IsBase(), !b.IsBase()), cmp.Compare(nftHookOrder(a.Hook), nftHookOrder(b.Hook)),
		cmp.Compare(a.Priority, b.Priority), cmp.Compare(a.Name, b.Name))
}

func nftHookOrder(hook string) int {
	return slices.Index([]string{"prerouting", "input", "forward", "output", "postrouting"}, hook)
}

// compareNFTElements orders by key alone: a key is there once.
func compareNFTElements(a, b NFTElement) int {
	return slices.CompareFunc(a.Key, b.Key, compareNFTValues)
}

func compareNFTValues(a, b NFTValue) int {
	if a.Prefix != b.Prefix {
		return comparePrefix(a.Prefix, b.Prefix)
	}
	return cmp.Or(cmp.Compare(a.First, b.First), cmp.Compare(a.Last, b.Last), cmp.Compare(a.Name, b.Name))
}

func sortIfNeeded[T any](list []T, compare func(a, b T) int) {
	if !slices.IsSortedFunc(list, compare) {
		slices.SortStableFunc(list, compare)
	}
}

// sortNFT brings the tables of a namespace into canonical order.
func (n *Netns) sortNFT() {
	sortIfNeeded(n.NFT, compareNFTTables)
	for i := range n.NFT {
		n.NFT[i].Sort()
	}
}

// appendNFTValue appends a value as nft prints it where a type is expected.
func appendNFTValue(b []byte, t NFTType, v NFTValue) []byte {
	switch t {
	case NFTIPv4, NFTIPv6:
		return appendMember(b, v.Prefix)
	case NFTIfName:
		return strconv.AppendQuote(b, v.Name)
	}
	b = appendNFTNumber(b, t, v.First)
	if v.First != v.Last {
		b = appendNFTNumber(append(b, '-'), t, v.Last)
	}
	return b
}

func appendNFTNumber(b []byte, t NFTType, n uint32) []byte {
	switch t {
	case NFTProto:
		switch n { // in place of the table, for thousands of elements
		case 6:
			return append(b, "tcp"...)
		case 17:
			return append(b, "udp"...)
		}
		if name, ok := nftProtocols()[n]; ok {
			return append(b, name...)
		}
	case NFTMark:
		return appendHex32(b, n)
	case nftFamilies:
		if name, ok := map[uint32]string{2: "ipv4", 10: "ipv6"}[n]; ok {
			return append(b, name...)
		}
	case nftAddrTypes:
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
