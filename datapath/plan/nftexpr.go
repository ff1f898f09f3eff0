package plan

import (
	"slices"
	"strconv"
	"strings"
)

// NFTField is something that a rule can load and compare, in nft's words.
type NFTField string

// The fields. Those of ip, ip6, icmp and icmpv6 match packets of that protocol only: a
// rule need not ask for it first.
const (
	NFTFamilyOf    NFTField = "meta nfproto" // 2 is IPv4, 10 IPv6
	NFTL4Proto     NFTField = "meta l4proto"
	NFTIIfName     NFTField = "meta iifname"
	NFTOIfName     NFTField = "meta oifname"
	NFTMetaMark    NFTField = "meta mark"
	NFTCTMark      NFTField = "ct mark"
	NFTIPSrc       NFTField = "ip saddr"
	NFTIPDst       NFTField = "ip daddr"
	NFTIP6Src      NFTField = "ip6 saddr"
	NFTIP6Dst      NFTField = "ip6 daddr"
	NFTSPort       NFTField = "th sport" // only after NFTL4Proto, or beside it in a key
	NFTDPort       NFTField = "th dport"
	NFTICMPType    NFTField = "icmp type"
	NFTICMPv6Type  NFTField = "icmpv6 type"
	NFTFibSrcType  NFTField = "fib saddr type" // what the routing table says of an address
	NFTFibDstType  NFTField = "fib daddr type"
	NFTOrigDst     NFTField = "ct original ip daddr" // before DNAT
	NFTOrigDst6    NFTField = "ct original ip6 daddr"
	NFTOrigDPort   NFTField = "ct original proto-dst" // only after NFTL4Proto
	nftNumgenWords          = "numgen random mod "
)

// NFTLocal is the number of the address type local (RTN_LOCAL), for NFTFibSrcType and
// NFTFibDstType.
const NFTLocal = 2

// NFTRandom is a number from 0 to below n, another one for each packet.
func NFTRandom(n int) NFTField { return NFTField(nftNumgenWords + strconv.Itoa(n)) }

// Modulus is the n of NFTRandom; 0: the field is another.
func (f NFTField) Modulus() uint32 {
	digits, ok := strings.CutPrefix(string(f), nftNumgenWords)
	n, err := strconv.ParseUint(digits, 10, 32)
	if !ok || err != nil {
		return 0
	}
	return uint32(n)
}

// Types of fields that no set has.
const (
	nftFamilies  NFTType = "nf_proto"
	nftAddrTypes NFTType = "fib_addrtype"
	nftIntegers  NFTType = "integer"
)

// Type is the type of a field's values; empty: the field is unknown.
func (f NFTField) Type() NFTType {
	switch f {
	case NFTFamilyOf:
		return nftFamilies
	case NFTL4Proto:
		return NFTProto
	case NFTIIfName, NFTOIfName:
		return NFTIfName
	case NFTMetaMark, NFTCTMark:
		return NFTMark
	case NFTIPSrc, NFTIPDst, NFTOrigDst:
		return NFTIPv4
	case NFTIP6Src, NFTIP6Dst, NFTOrigDst6:
		return NFTIPv6
	case NFTSPort, NFTDPort, NFTOrigDPort:
		return NFTPort
	case NFTFibSrcType, NFTFibDstType:
		return nftAddrTypes
	case NFTICMPType, NFTICMPv6Type:
		return nftIntegers
	}
	if f.Modulus() > 0 {
		return nftIntegers
	}
	return ""
}

// NFTExpr is a condition or an action of a rule. The types below implement it.
type NFTExpr interface {
	// append appends the expression in nft's words.
	append(b []byte) []byte
}

// The expressions of rules.
type (
	// NFTMatch compares a field with a value, a range or a prefix.
	NFTMatch struct {
		Field NFTField
		Not   bool
		Mask  uint32 // of marks, applied before; 0: all bits
		Value NFTValue
	}
	// NFTCTState matches the connection tracking state: any of new, established, related,
	// invalid, untracked.
	NFTCTState struct{ States []string }
	// NFTCTStatus matches connections of which something is true: dnat, snat.
	NFTCTStatus struct{ Status []string }
	// NFTLookup matches packets whose fields are an element of a set.
	NFTLookup struct {
		Fields []NFTField
		Set    string
		Not    bool
	}
	// NFTVMap does what a verdict map says of the packet's fields; it goes on with the
	// rule where that has no element.
	NFTVMap struct {
		Fields []NFTField
		Map    string
	}
	// NFTSetMark changes the mark of the packet, or of its connection, to mark & And ^ Xor.
	NFTSetMark struct {
		CT       bool
		And, Xor uint32
	}
	// NFTCounter counts packets. What it counted is not compared.
	NFTCounter struct{}
	// NFTNoTrack exempts the packet from connection tracking, before priority -200.
	NFTNoTrack struct{}
	// NFTVerdict ends or directs the way of a packet: accept, which ends the base chain
	// only, drop, return, continue, or jump and goto with a chain.
	NFTVerdict struct{ Kind, Chain string }
	// NFTReject drops and tells the sender: tcp reset, for which the rule has to ask for
	// tcp first, icmpx port-unreachable, icmpx admin-prohibited, icmpx host-unreachable
	// or icmpx no-route.
	NFTReject struct{ With string }
	// NFTDNAT changes the destination to a value, or to what a map says of some fields:
	// an address, or an address and a port.
	NFTDNAT struct {
		IPv6   bool
		To     NFTValue
		Port   uint16 // 0: stays
		Fields []NFTField
		Map    string // of an address and a port
	}
	// NFTMasquerade changes the source to the address of the link by which the packet
	// leaves.
	NFTMasquerade struct{ FullyRandom bool }
)

// NFTGoto is the verdict that goes to a chain without a way back.
func NFTGoto(chain string) NFTVerdict { return NFTVerdict{Kind: "goto", Chain: chain} }

// NFTJump is the verdict that goes to a chain and comes back at its end.
func NFTJump(chain string) NFTVerdict { return NFTVerdict{Kind: "jump", Chain: chain} }

// NFTOrMark sets bits of the packet's mark.
func NFTOrMark(bits uint32) NFTSetMark { return NFTSetMark{And: ^bits, Xor: bits} }

// Words is the rule as nft takes it.
func (r *NFTRule) Words() string { return string(r.appendWords(nil)) }

func (r *NFTRule) appendWords(b []byte) []byte {
	if r.Raw != "" && len(r.Exprs) == 0 {
		return append(b, r.Raw...)
	}
	start := len(b)
	for i, e := range r.Exprs {
		if i+1 < len(r.Exprs) && NFTImplied(e, r.Exprs[i+1]) {
			continue
		}
		if len(b) > start {
			b = append(b, ' ')
		}
		b = e.append(b)
	}
	return appendNFTComment(b, r.Comment)
}

func appendNFTComment(b []byte, comment string) []byte {
	if comment == "" {
		return b
	}
	return append(append(append(b, " comment \""...), comment...), '"')
}

// NFTRaw is a rule as it was read: expressions and a comment.
func NFTRaw(exprs []string, comment string) NFTRule {
	return NFTRule{Raw: string(appendNFTComment([]byte(strings.Join(exprs, " ")), comment))}
}

// NFTWords is an expression as nft takes it.
func NFTWords(e NFTExpr) string { return string(e.append(nil)) }

func (e NFTMatch) append(b []byte) []byte {
	b = append(append(b, e.Field...), ' ')
	if e.Mask != 0 {
		b = append(appendHex32(append(b, "& "...), e.Mask), ' ')
		if !e.Not {
			b = append(b, "== "...)
		}
	}
	if e.Not {
		b = append(b, "!= "...)
	}
	return appendNFTValue(b, e.Field.Type(), e.Value)
}

func (e NFTCTState) append(b []byte) []byte {
	return append(append(b, "ct state "...), strings.Join(nftInOrder(e.States, NFTStates()), ",")...)
}

// NFTStates are the states of connections, in the order of their bits, invalid first
// (NF_CT_STATE_BIT in include/uapi/linux/netfilter/nf_conntrack_common.h).
func NFTStates() []string {
	return []string{"invalid", "established", "related", "new", "", "", "untracked"}
}

func (e NFTCTStatus) append(b []byte) []byte {
	return append(append(b, "ct status "...), strings.Join(nftInOrder(e.Status, NFTStatuses()), ",")...)
}

// NFTStatuses are what can be true of connections, in the order of their bits (enum
// ip_conntrack_status in nf_conntrack_common.h).
func NFTStatuses() []string {
	return []string{"expected", "seen-reply", "assured", "confirmed", "snat", "dnat"}
}

// nftInOrder returns the words of a list in the order of another: the order of bits.
func nftInOrder(words, order []string) []string {
	out := slices.Clone(words)
	slices.SortFunc(out, func(a, b string) int { return slices.Index(order, a) - slices.Index(order, b) })
	return out
}

func appendNFTFields(b []byte, fields []NFTField) []byte {
	for i, f := range fields {
		if i > 0 {
			b = append(b, " . "...)
		}
		b = append(b, f...)
	}
	return b
}

func (e NFTLookup) append(b []byte) []byte {
	b = appendNFTFields(b, e.Fields)
	if e.Not {
		b = append(b, " !="...)
	}
	return append(append(b, " @"...), e.Set...)
}

func (e NFTVMap) append(b []byte) []byte {
	return append(append(appendNFTFields(b, e.Fields), " vmap @"...), e.Map...)
}

func (e NFTSetMark) append(b []byte) []byte {
	field := "meta mark"
	if e.CT {
		field = "ct mark"
	}
	b = append(append(b, field...), " set "...)
	switch {
	case e.And == 0:
		return appendHex32(b, e.Xor)
	case e.Xor == 0:
		return appendHex32(append(append(b, field...), " and "...), e.And)
	case e.And == ^e.Xor:
		return appendHex32(append(append(b, field...), " or "...), e.Xor)
	case e.And == ^uint32(0):
		return appendHex32(append(append(b, field...), " xor "...), e.Xor)
	}
	b = appendHex32(append(append(b, field...), " and "...), e.And)
	return appendHex32(append(b, " xor "...), e.Xor)
}

func (e NFTCounter) append(b []byte) []byte { return append(b, "counter"...) }

func (e NFTNoTrack) append(b []byte) []byte { return append(b, "notrack"...) }

func (e NFTVerdict) append(b []byte) []byte {
	b = append(b, e.Kind...)
	if e.Chain != "" {
		b = append(append(b, ' '), e.Chain...)
	}
	return b
}

func (e NFTReject) append(b []byte) []byte {
	return append(append(b, "reject with "...), e.With...)
}

func (e NFTDNAT) append(b []byte) []byte {
	b = append(b, "dnat ip"...)
	if e.IPv6 {
		b = append(b, '6')
	}
	if e.Map != "" {
		b = appendNFTFields(append(b, " addr . port to "...), e.Fields)
		return append(append(b, " map @"...), e.Map...)
	}
	b = append(b, " to "...)
	if e.Port == 0 {
		return appendMember(b, e.To.Prefix)
	}
	if e.IPv6 {
		b = append(appendMember(append(b, '['), e.To.Prefix), ']')
	} else {
		b = appendMember(b, e.To.Prefix)
	}
	return strconv.AppendUint(append(b, ':'), uint64(e.Port), 10)
}

func (e NFTMasquerade) append(b []byte) []byte {
	b = append(b, "masquerade"...)
	if e.FullyRandom {
		b = append(b, " fully-random"...)
	}
	return b
}

// Implies are the IP family (2 or 10) and the transport protocol that packets have
// which have the field; 0: any.
func (f NFTField) Implies() (family, protocol uint32) {
	switch f {
	case NFTIPSrc, NFTIPDst:
		return 2, 0
	case NFTIP6Src, NFTIP6Dst:
		return 10, 0
	case NFTICMPType:
		return 2, 1
	case NFTICMPv6Type:
		return 10, 58
	}
	return 0, 0
}

// NFTImplied reports whether a condition says only what the next expression implies. It
// is not written then.
func NFTImplied(x, next NFTExpr) bool {
	m, ok := x.(NFTMatch)
	if !ok || m.Not || m.Mask != 0 || m.Value.First != m.Value.Last {
		return false
	}
	for _, f := range NFTFieldsOf(next) {
		family, protocol := f.Implies()
		if m.Field == NFTFamilyOf && family == m.Value.First || m.Field == NFTL4Proto && protocol == m.Value.First && protocol != 0 {
			return true
		}
	}
	return false
}

// NFTFieldsOf are the fields that an expression loads.
func NFTFieldsOf(x NFTExpr) []NFTField {
	switch x := x.(type) {
	case NFTMatch:
		return []NFTField{x.Field}
	case NFTLookup:
		return x.Fields
	case NFTVMap:
		return x.Fields
	case NFTDNAT:
		return x.Fields
	}
	return nil
}
