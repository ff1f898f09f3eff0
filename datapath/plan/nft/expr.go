package nft

import (
	"slices"
	"strconv"
	"strings"
)

// Field is what a rule can load and compare, in nft syntax.
type Field string

// The fields. Those of ip, ip6, icmp and icmpv6 match only packets of that protocol: a
// rule need not match it first.
const (
	FamilyOf     Field = "meta nfproto" // 2 is IPv4, 10 IPv6
	L4Proto      Field = "meta l4proto"
	IIfName      Field = "meta iifname"
	OIfName      Field = "meta oifname"
	MetaMark     Field = "meta mark"
	CTMark       Field = "ct mark"
	IPSrc        Field = "ip saddr"
	IPDst        Field = "ip daddr"
	IP6Src       Field = "ip6 saddr"
	IP6Dst       Field = "ip6 daddr"
	SPort        Field = "th sport" // only after L4Proto, or beside it in a key
	DPort        Field = "th dport"
	ICMPType     Field = "icmp type"
	ICMPv6Type   Field = "icmpv6 type"
	FibSrcType   Field = "fib saddr type" // the type of the address in the routing table
	FibDstType   Field = "fib daddr type"
	OrigDst      Field = "ct original ip daddr" // before DNAT
	OrigDst6     Field = "ct original ip6 daddr"
	OrigDPort    Field = "ct original proto-dst" // only after L4Proto
	numgenWords        = "numgen random mod "
	numgenOffset       = " offset "
)

// Local is the number of the address type local (RTN_LOCAL), for FibSrcType and
// FibDstType.
const Local = 2

// Random is a number from 0 to n-1, a new one for each packet.
func Random(n int) Field { return RandomFrom(n, 0) }

// RandomFrom is a number from offset to offset+n-1.
func RandomFrom(n int, offset uint32) Field {
	f := numgenWords + strconv.Itoa(n)
	if offset > 0 {
		f += numgenOffset + strconv.FormatUint(uint64(offset), 10)
	}
	return Field(f)
}

// Range is the n and the offset of RandomFrom; n is 0 for any other field.
func (f Field) Range() (n, offset uint32) {
	digits, ok := strings.CutPrefix(string(f), numgenWords)
	digits, from, _ := strings.Cut(digits, numgenOffset)
	length, err := strconv.ParseUint(digits, 10, 32)
	if !ok || err != nil {
		return 0, 0
	}
	first, _ := strconv.ParseUint(from, 10, 32)
	return uint32(length), uint32(first)
}

// Modulus is the n of Random; 0 for any other field.
func (f Field) Modulus() uint32 {
	n, _ := f.Range()
	return n
}

// Types of fields that are never part of a set.
const (
	families  Type = "nf_proto"
	addrTypes Type = "fib_addrtype"
	icmpTypes Type = "icmp_type"
)

// Type is the type of a field's values; empty: the field is unknown.
func (f Field) Type() Type {
	switch f {
	case FamilyOf:
		return families
	case L4Proto:
		return Proto
	case IIfName, OIfName:
		return IfName
	case MetaMark, CTMark:
		return Mark
	case IPSrc, IPDst, OrigDst:
		return IPv4
	case IP6Src, IP6Dst, OrigDst6:
		return IPv6
	case SPort, DPort, OrigDPort:
		return Port
	case FibSrcType, FibDstType:
		return addrTypes
	case ICMPType, ICMPv6Type:
		return icmpTypes
	}
	if f.Modulus() > 0 {
		return Integer
	}
	return ""
}

// Expr is a condition or an action of a rule. The types below implement it.
type Expr interface {
	// append appends the expression in nft syntax.
	append(b []byte) []byte
}

// The expressions of rules.
type (
	// Match compares a field with a value, a range or a prefix.
	Match struct {
		Field Field
		Not   bool
		Mask  uint32 // of marks, applied first; 0: all bits
		Value Value
	}
	// CTState matches the connection tracking state: any of new, established, related,
	// invalid, untracked.
	CTState struct{ States []string }
	// CTStatus matches connections by status: dnat, snat.
	CTStatus struct{ Status []string }
	// Lookup matches packets whose fields are an element of a set: a named one, or the
	// elements that the rule has itself, which may be ranges and prefixes if there is one
	// field.
	Lookup struct {
		Fields   []Field
		Set      string
		Elements []Element // without Set
		Not      bool
	}
	// VMap looks the packet's fields up in a verdict map and applies the verdict;
	// without an element the rule continues.
	VMap struct {
		Fields   []Field
		Map      string
		Elements []Element // without Map
	}
	// Update adds the packet's fields to a set that has a timeout, or begins the time of
	// the element again.
	Update struct {
		Fields []Field
		Set    string
	}
	// SetMark changes the mark of the packet, or of its connection, to mark & And ^ Xor.
	SetMark struct {
		CT       bool
		And, Xor uint32
	}
	// MarkBy sets the mark of the connection to a random number, or to the result of a map
	// lookup; without an element the rule ends.
	MarkBy struct {
		Fields []Field
		Map    string // "": the only field is the mark
	}
	// Counter counts packets. Its values are not compared.
	Counter struct{}
	// NoTrack exempts the packet from connection tracking, before priority -200.
	NoTrack struct{}
	// Verdict ends or directs the evaluation of a packet: accept, which ends only the
	// base chain, drop, return, continue, or jump and goto with a chain.
	Verdict struct{ Kind, Chain string }
	// Reject drops the packet and notifies the sender: tcp reset, for which the rule
	// has to match tcp first, icmpx port-unreachable, icmpx admin-prohibited, icmpx
	// host-unreachable or icmpx no-route. Without any it is ICMP's port unreachable, in
	// tables of one family.
	Reject struct{ With string }
	// DNAT changes the destination to a value, or to the result of a map lookup: an
	// address, or an address and a port.
	DNAT struct {
		IPv6   bool
		To     Value
		Port   uint16 // 0: unchanged
		Fields []Field
		Map    string // of an address and a port
		// OneFamily says that the table is of family ip or ip6, in which nft does not write
		// the family.
		OneFamily bool
	}
	// Masquerade changes the source to the address of the link that the packet leaves
	// by.
	Masquerade struct{ FullyRandom bool }
)

// Goto is the verdict that continues in a chain without returning.
func Goto(chain string) Verdict { return Verdict{Kind: "goto", Chain: chain} }

// Jump is the verdict that continues in a chain and returns at its end.
func Jump(chain string) Verdict { return Verdict{Kind: "jump", Chain: chain} }

// OrMark sets bits of the packet's mark.
func OrMark(bits uint32) SetMark { return SetMark{And: ^bits, Xor: bits} }

// Words returns the rule in nft syntax.
func (r *Rule) Words() string { return string(r.appendWords(nil)) }

func (r *Rule) appendWords(b []byte) []byte {
	if r.Raw != "" && len(r.Exprs) == 0 {
		return append(b, r.Raw...)
	}
	start := len(b)
	next := "" // the header that an expression names for the one after it
	for i, e := range r.Exprs {
		header := next
		next = ""
		if i+1 < len(r.Exprs) {
			next = Header(e, r.Exprs[i+1])
			if next != "" || Implied(e, r.Exprs[i+1]) {
				continue
			}
		}
		if len(b) > start {
			b = append(b, ' ')
		}
		b = appendOf(b, header, e)
	}
	return appendComment(b, r.Comment)
}

// appendOf appends an expression whose first field is of a header, if that is not empty.
func appendOf(b []byte, header string, e Expr) []byte {
	if header == "" {
		return e.append(b)
	}
	return append(append(b, header...), strings.TrimPrefix(Words(e), anyHeader)...)
}

// WordsOf is Words of an expression about a port, after a match of the protocol that Header names.
func WordsOf(header string, e Expr) string { return string(appendOf(nil, header, e)) }

// anyHeader begins the fields SPort and DPort.
const anyHeader = "th"

// Header is the header in which the next expression looks for a port, if a condition says no more
// than that it is there; "": it says something else. nft writes both as one: tcp dport 80.
func Header(x, next Expr) string {
	m, ok := x.(Match)
	if !ok || m.Field != L4Proto || m.Not || m.Mask != 0 || m.Value.First != m.Value.Last {
		return ""
	}
	if fields, _ := LookedUp(next); len(fields) != 1 || fields[0] != SPort && fields[0] != DPort {
		return ""
	}
	switch m.Value.First {
	case 6:
		return "tcp"
	case 17:
		return "udp"
	case 132:
		return "sctp"
	}
	return ""
}

func appendComment(b []byte, comment string) []byte {
	if comment == "" {
		return b
	}
	return append(append(append(b, " comment \""...), comment...), '"')
}

// Raw returns a rule as read from the kernel: expressions and a comment.
func Raw(exprs []string, comment string) Rule {
	return Rule{Raw: string(appendComment([]byte(strings.Join(exprs, " ")), comment))}
}

// Words returns an expression in nft syntax.
func Words(e Expr) string { return string(e.append(nil)) }

func (e Match) append(b []byte) []byte {
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
	return appendValue(b, e.Field.Type(), e.Value)
}

func (e CTState) append(b []byte) []byte {
	return append(append(b, "ct state "...), strings.Join(inOrder(e.States, States()), ",")...)
}

// States are the states of connections, in the order of their bits, invalid first
// (NF_CT_STATE_BIT in include/uapi/linux/netfilter/nf_conntrack_common.h).
func States() []string {
	return []string{"invalid", "established", "related", "new", "", "", "untracked"}
}

func (e CTStatus) append(b []byte) []byte {
	return append(append(b, "ct status "...), strings.Join(inOrder(e.Status, Statuses()), ",")...)
}

// Statuses are the status flags of connections, in the order of their bits (enum
// ip_conntrack_status in nf_conntrack_common.h).
func Statuses() []string {
	return []string{"expected", "seen-reply", "assured", "confirmed", "snat", "dnat"}
}

// inOrder returns the words of a list in the order of another, that of the bits.
func inOrder(words, order []string) []string {
	out := slices.Clone(words)
	slices.SortFunc(out, func(a, b string) int { return slices.Index(order, a) - slices.Index(order, b) })
	return out
}

func appendFields(b []byte, fields []Field) []byte {
	for i, f := range fields {
		if i > 0 {
			b = append(b, " . "...)
		}
		b = append(b, f...)
	}
	return b
}

func (e Lookup) append(b []byte) []byte {
	b = appendFields(b, e.Fields)
	if e.Not {
		b = append(b, " !="...)
	}
	if s := Anonymous(e); s != nil {
		return s.appendElements(append(b, ' '), s.Elements, true, ", ")
	}
	return append(append(b, " @"...), e.Set...)
}

func (e VMap) append(b []byte) []byte {
	b = append(appendFields(b, e.Fields), " vmap "...)
	if s := Anonymous(e); s != nil {
		return s.appendElements(b, s.Elements, true, ", ")
	}
	return append(append(b, '@'), e.Map...)
}

func (e Update) append(b []byte) []byte {
	b = append(append(append(b, "update @"...), e.Set...), " { "...)
	return append(appendFields(b, e.Fields), " }"...)
}

// Anonymous is the set that a rule has itself; nil: none.
func Anonymous(x Expr) *Set {
	s := &Set{}
	fields, _ := LookedUp(x)
	switch x := x.(type) {
	case Lookup:
		s.Elements = x.Elements
	case VMap:
		s.Elements, s.Data = x.Elements, []Type{VerdictData}
	}
	if len(s.Elements) == 0 {
		return nil
	}
	for _, f := range fields {
		s.Key = append(s.Key, f.Type())
	}
	s.Interval = slices.ContainsFunc(s.Elements, func(e Element) bool { return slices.ContainsFunc(e.Key, Value.isRange) })
	return s
}

func (e SetMark) append(b []byte) []byte {
	field := "meta mark"
	if e.CT {
		field = "ct mark"
	}
	b = append(append(b, field...), " set "...)
	switch {
	case e.And == 0:
		return appendHex32(b, e.Xor)
	case e.Xor == 0:
		return appendHex32(append(append(b, field...), " & "...), e.And)
	case e.And == ^e.Xor:
		return appendHex32(append(append(b, field...), " | "...), e.Xor)
	case e.And == ^uint32(0):
		return appendHex32(append(append(b, field...), " ^ "...), e.Xor)
	}
	b = appendHex32(append(append(b, field...), " & "...), e.And)
	return appendHex32(append(b, " ^ "...), e.Xor)
}

func (e MarkBy) append(b []byte) []byte {
	if b = appendFields(append(b, "ct mark set "...), e.Fields); e.Map == "" {
		return b
	}
	return append(append(b, " map @"...), e.Map...)
}

func (e Counter) append(b []byte) []byte { return append(b, "counter"...) }

func (e NoTrack) append(b []byte) []byte { return append(b, "notrack"...) }

func (e Verdict) append(b []byte) []byte {
	b = append(b, e.Kind...)
	if e.Chain != "" {
		b = append(append(b, ' '), e.Chain...)
	}
	return b
}

func (e Reject) append(b []byte) []byte {
	if b = append(b, "reject"...); e.With == "" {
		return b
	}
	return append(append(b, " with "...), e.With...)
}

func (e DNAT) append(b []byte) []byte {
	b = append(b, "dnat"...)
	switch {
	case e.OneFamily && e.Map == "":
	case e.IPv6:
		b = append(b, " ip6"...)
	default:
		b = append(b, " ip"...)
	}
	if e.Map != "" {
		b = appendFields(append(b, " addr . port to "...), e.Fields)
		return append(append(b, " map @"...), e.Map...)
	}
	b = append(b, " to "...)
	if e.Port == 0 {
		return appendPrefixOrAddr(b, e.To.Prefix)
	}
	if e.IPv6 {
		b = append(appendPrefixOrAddr(append(b, '['), e.To.Prefix), ']')
	} else {
		b = appendPrefixOrAddr(b, e.To.Prefix)
	}
	return strconv.AppendUint(append(b, ':'), uint64(e.Port), 10)
}

func (e Masquerade) append(b []byte) []byte {
	b = append(b, "masquerade"...)
	if e.FullyRandom {
		b = append(b, " fully-random"...)
	}
	return b
}

// Implies returns the IP family (2 or 10) and the transport protocol of packets that
// have the field; 0: any.
func (f Field) Implies() (family, protocol uint32) {
	switch f {
	case IPSrc, IPDst:
		return 2, 0
	case IP6Src, IP6Dst:
		return 10, 0
	case ICMPType:
		return 2, 1
	case ICMPv6Type:
		return 10, 58
	}
	return 0, 0
}

// Implied reports whether a condition only states what the next expression implies. It
// is then not written.
func Implied(x, next Expr) bool {
	m, ok := x.(Match)
	if !ok || m.Not || m.Mask != 0 || m.Value.First != m.Value.Last {
		return false
	}
	fields, _ := LookedUp(next)
	for _, f := range fields {
		family, protocol := f.Implies()
		if m.Field == FamilyOf && family == m.Value.First || m.Field == L4Proto && protocol == m.Value.First && protocol != 0 {
			return true
		}
	}
	return false
}

// LookedUp returns the fields that an expression loads, and the set or map in which it
// looks them up; empty: none.
func LookedUp(x Expr) (fields []Field, set string) {
	switch x := x.(type) {
	case Match:
		return []Field{x.Field}, ""
	case Lookup:
		return x.Fields, x.Set
	case VMap:
		return x.Fields, x.Map
	case MarkBy:
		return x.Fields, x.Map
	case Update:
		return x.Fields, x.Set
	case DNAT:
		return x.Fields, x.Map
	}
	return nil, ""
}
