//go:build linux

package nftables

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"slices"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"github.com/netlab/netlab/datapath/kernel/socket"
	"github.com/netlab/netlab/datapath/plan/nft"
)

// nftDecompile turns the instructions of a rule into text. sets are those of its table,
// anonymous ones included.
func nftDecompile(b []byte, family uint8, sets map[string]known) ([]string, error) {
	d := decompiler{family: family, sets: sets}
	err := socket.EachAttr(b, func(_ uint16, insn []byte) error {
		a, err := parseAttrs(insn)
		if err == nil {
			name, data := a.Text(unix.NFTA_EXPR_NAME), a.inner(unix.NFTA_EXPR_DATA)
			if x, known := d.insn(name, data); !known {
				d.unknown(name, data)
			} else if x != nil {
				d.out = append(d.out, decompiled{expr: x})
			}
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	// What fields imply is matched, but not written.
	for i := len(d.out) - 2; i >= 0; i-- {
		if d.out[i].expr == nil || d.out[i+1].expr == nil {
			continue
		}
		header := nft.Header(d.out[i].expr, d.out[i+1].expr)
		if header != "" {
			d.out[i+1].header = header
		}
		if header != "" || nft.Implied(d.out[i].expr, d.out[i+1].expr) {
			d.out = slices.Delete(d.out, i, i+1)
		}
	}
	words := make([]string, 0, len(d.out))
	for _, o := range d.out {
		if o.expr != nil {
			words = append(words, nft.WordsOf(o.header, o.expr))
		} else {
			words = append(words, o.unknown)
		}
	}
	return words, nil
}

// content is what a register holds: a field, perhaps after a bitwise operation, a
// value, or the result of a map lookup.
type content struct {
	field     nft.Field
	first     nft.Field // an address of which it is the first bytes: nft(8) loads no more for 10.244.0.0/16
	mask, xor []byte
	value     []byte
	fields    []nft.Field
	mapped    string
}

type decompiled struct {
	expr    nft.Expr
	header  string // nft.Header of what was before
	unknown string
}

// known is a set of the table.
type known struct {
	*nft.Set
	anonymous bool
}

// decompiler tracks the registers of a rule, in units of four bytes.
type decompiler struct {
	family uint8
	sets   map[string]known
	regs   [32]content
	out    []decompiled
}

// unknown records an instruction that plans do not use.
func (d *decompiler) unknown(name string, a attrs) {
	text := "[" + name
	kinds := make([]uint16, 0, len(a))
	for k := range a {
		kinds = append(kinds, k)
	}
	slices.Sort(kinds)
	for _, k := range kinds {
		text += fmt.Sprintf(" %d=%x", k, a[k])
	}
	d.out = append(d.out, decompiled{unknown: text + "]"})
}

// at is the position of a register; the four registers of 16 bytes have their own
// numbers.
func (d *decompiler) at(reg uint32) *content {
	place := uint32(len(d.regs) - 1)
	switch {
	case reg >= unix.NFT_REG_1 && reg <= unix.NFT_REG_4:
		place = (reg - unix.NFT_REG_1) * 4
	case reg >= unix.NFT_REG32_00 && reg-unix.NFT_REG32_00 < place:
		place = reg - unix.NFT_REG32_00
	}
	return &d.regs[place]
}

// loaded is the field that an instruction loads; empty: none that plans use.
func loaded(insn string, a attrs) nft.Field {
	if insn == "numgen" && a.number(unix.NFTA_NG_TYPE) == unix.NFT_NG_RANDOM {
		return nft.RandomFrom(int(a.number(unix.NFTA_NG_MODULUS)), a.number(unix.NFTA_NG_OFFSET))
	}
	differs := func(x nftAttr) bool { return a[uint16(x.kind)] == nil || a.number(uint16(x.kind)) != x.value }
	for f, s := range sources() {
		directed := insn == "ct" && a[unix.NFTA_CT_DIRECTION] != nil
		if s.insn == insn && !slices.ContainsFunc(s.attrs, differs) && (insn != "ct" || directed == (len(s.attrs) > 1)) {
			return f
		}
	}
	return ""
}

// firstBytes is the address of which an instruction loads the first bytes, but not all.
func firstBytes(insn string, a attrs) nft.Field {
	size := a.number(unix.NFTA_PAYLOAD_LEN)
	for _, f := range []nft.Field{nft.IPSrc, nft.IPDst, nft.IP6Src, nft.IP6Dst} {
		s := sources()[f]
		other := func(x nftAttr) bool {
			if x.kind == unix.NFTA_PAYLOAD_LEN {
				return size == 0 || size >= x.value
			}
			return a[uint16(x.kind)] == nil || a.number(uint16(x.kind)) != x.value
		}
		if insn == "payload" && s.insn == insn && !slices.ContainsFunc(s.attrs, other) {
			return f
		}
	}
	return ""
}

// insn follows an instruction, and returns the expression that it completes, if any.
func (d *decompiler) insn(name string, a attrs) (x nft.Expr, known bool) {
	sreg := uint16(unix.NFTA_META_SREG)
	switch name {
	case "payload", "fib", "numgen":
		sreg = 0
	case "meta":
	case "ct":
		sreg = unix.NFTA_CT_SREG
	default:
		return d.use(name, a)
	}
	if f := firstBytes(name, a); f != "" && a[sreg] == nil {
		*d.at(a.number(toRegister)) = content{first: f}
		return nil, true
	}
	f := d.payload(loaded(name, a))
	if a[sreg] != nil {
		return d.setMark(f, d.at(a.number(sreg)))
	}
	*d.at(a.number(toRegister)) = content{field: f}
	return nil, f != ""
}

// payload distinguishes the types of ICMP and ICMPv6, which are at the same offset, by
// what the rule has matched.
func (d *decompiler) payload(f nft.Field) nft.Field {
	if f != nft.ICMPType && f != nft.ICMPv6Type {
		return f
	}
	for _, o := range d.out {
		if m, ok := o.expr.(nft.Match); ok && m.Field == nft.L4Proto && m.Value.First == 58 {
			return nft.ICMPv6Type
		}
	}
	return nft.ICMPType
}

// use handles instructions that use registers.
func (d *decompiler) use(name string, a attrs) (x nft.Expr, known bool) {
	switch name {
	case "cmp":
		op := a.number(unix.NFTA_CMP_OP)
		value := a.inner(unix.NFTA_CMP_DATA)[unix.NFTA_DATA_VALUE]
		x = d.compare(d.at(a.number(unix.NFTA_CMP_SREG)), value, value, op == unix.NFT_CMP_NEQ)
		return x, x != nil && op <= unix.NFT_CMP_NEQ
	case "range":
		first, last := a.inner(rangeFrom)[unix.NFTA_DATA_VALUE], a.inner(rangeTo)[unix.NFTA_DATA_VALUE]
		c := d.at(a.number(unix.NFTA_RANGE_SREG))
		x = d.compare(c, first, last, a.number(rangeOp) == unix.NFT_CMP_NEQ)
		return x, x != nil && c.mask == nil
	case "bitwise":
		c := *d.at(a.number(unix.NFTA_BITWISE_SREG))
		c.mask, c.xor = a.inner(unix.NFTA_BITWISE_MASK)[unix.NFTA_DATA_VALUE], a.inner(unix.NFTA_BITWISE_XOR)[unix.NFTA_DATA_VALUE]
		*d.at(a.number(unix.NFTA_BITWISE_DREG)) = c
		return nil, c.field != "" && c.mask != nil && c.xor != nil
	case "lookup":
		return d.lookup(a)
	case "immediate":
		data := a.inner(unix.NFTA_IMMEDIATE_DATA)
		if a.number(unix.NFTA_IMMEDIATE_DREG) == unix.NFT_REG_VERDICT {
			return nftVerdictOf(data), true
		}
		*d.at(a.number(unix.NFTA_IMMEDIATE_DREG)) = content{value: data[unix.NFTA_DATA_VALUE]}
		return nil, true
	case "reject":
		for with, numbers := range nftRejects(d.family) {
			if numbers == [2]uint32{a.number(unix.NFTA_REJECT_TYPE), a.number(unix.NFTA_REJECT_ICMP_CODE)} {
				return nft.Reject{With: with}, true
			}
		}
		return nil, false
	case "dynset":
		return d.update(a)
	case "nat":
		return d.nat(a)
	case "masq":
		flags := a.number(unix.NFTA_MASQ_FLAGS)
		return nft.Masquerade{FullyRandom: flags != 0}, flags&^unix.NF_NAT_RANGE_PROTO_RANDOM_FULLY == 0 && a[unix.NFTA_MASQ_REG_PROTO_MIN] == nil
	case "counter":
		return nft.Counter{}, true
	case "notrack":
		return nft.NoTrack{}, true
	}
	return nil, false
}

// compare is the condition that a register equals a value, or is in a range; nil: not
// used in plans.
func (d *decompiler) compare(c *content, first, last []byte, not bool) nft.Expr {
	if slices.ContainsFunc(c.xor, func(b byte) bool { return b != 0 }) {
		return nil
	}
	if c.first != "" && slices.Equal(first, last) {
		return prefixOfBytes(nft.Match{Field: c.first, Not: not}, first)
	}
	switch c.field {
	case "":
		return nil
	case "ct state", "ct status":
		return bitsOf(c, first, not)
	}
	x := nft.Match{Field: c.field, Not: not}
	t := c.field.Type()
	_, n := typeOf(t)
	switch {
	case t == nft.IfName:
		x.Value = nft.Name(nl.BytesToString(append(slices.Clone(first), 0)))
		if len(first) < 16 {
			x.Value.Name += "*"
		}
		return x
	case c.mask != nil && (t == nft.IPv4 || t == nft.IPv6):
		return prefixOf(x, c.mask, first)
	case c.mask != nil && t != nft.Mark:
		return nil
	case len(c.mask) == 4:
		x.Mask = binary.NativeEndian.Uint32(c.mask)
	}
	switch {
	case n > 0 && len(first) == int(n) && len(last) == int(n):
		x.Value = nftValueOf(t, first, last)
	case n == 0 && len(first) == 1 && len(last) == 1:
		x.Value = nft.Range(uint32(first[0]), uint32(last[0]))
	case n == 0 && len(first) == 4 && len(last) == 4:
		x.Value = nft.Range(binary.NativeEndian.Uint32(first), binary.NativeEndian.Uint32(last))
	default:
		return nil
	}
	return x
}

// prefixOfBytes is the condition that an address begins with some bytes.
func prefixOfBytes(x nft.Match, value []byte) nft.Expr {
	full := make([]byte, map[bool]int{false: 4, true: 16}[x.Field.Type() == nft.IPv6])
	if copy(full, value) < len(value) {
		return nil
	}
	a, _ := netip.AddrFromSlice(full)
	x.Value = nft.Prefix(netip.PrefixFrom(a, 8*len(value)))
	return x
}

// prefixOf is the condition that a masked address equals a value.
func prefixOf(x nft.Match, mask, value []byte) nft.Expr {
	bits := 0
	for bits < 8*len(mask) && mask[bits/8]&(0x80>>(bits%8)) != 0 {
		bits++
	}
	a, ok := netip.AddrFromSlice(value)
	if !ok {
		return nil
	}
	x.Value = nft.Prefix(netip.PrefixFrom(a, bits))
	return x
}

// bitsOf is the condition that any of some bits is set.
func bitsOf(c *content, value []byte, not bool) nft.Expr {
	if !not || len(c.mask) != 4 || slices.ContainsFunc(value, func(b byte) bool { return b != 0 }) {
		return nil
	}
	bits := binary.NativeEndian.Uint32(c.mask)
	names := func(order []string) (out []string) {
		for i, name := range order {
			if name != "" && bits&(1<<i) != 0 {
				out, bits = append(out, name), bits&^(1<<i)
			}
		}
		return out
	}
	if c.field == "ct state" {
		if list := names(nft.States()); bits == 0 {
			return nft.CTState{States: list}
		}
		return nil
	}
	if list := names(nft.Statuses()); bits == 0 {
		return nft.CTStatus{Status: list}
	}
	return nil
}

func (d *decompiler) setMark(f nft.Field, c *content) (x nft.Expr, known bool) {
	set := nft.SetMark{CT: f == nft.CTMark}
	switch {
	case set.CT && c.mapped != "":
		return nft.MarkBy{Fields: c.fields, Map: c.mapped}, true
	case set.CT && c.mask == nil && c.field.Modulus() > 0:
		return nft.MarkBy{Fields: []nft.Field{c.field}}, true
	case f != nft.MetaMark && f != nft.CTMark:
		return nil, false
	case len(c.value) == 4:
		set.Xor = binary.NativeEndian.Uint32(c.value)
	case c.field == f && len(c.mask) == 4 && len(c.xor) == 4:
		set.And, set.Xor = binary.NativeEndian.Uint32(c.mask), binary.NativeEndian.Uint32(c.xor)
	default:
		return nil, false
	}
	return set, true
}

func (d *decompiler) lookup(a attrs) (x nft.Expr, known bool) {
	set := a.Text(unix.NFTA_LOOKUP_SET)
	fields := d.key(set, a.number(unix.NFTA_LOOKUP_SREG))
	name, elements := set, []nft.Element(nil)
	if s := d.sets[set]; s.anonymous {
		name, elements = "", s.Elements
	}
	switch {
	case fields == nil:
		return nil, false
	case a[unix.NFTA_LOOKUP_DREG] == nil:
		return nft.Lookup{Fields: fields, Set: name, Elements: elements, Not: a.number(unix.NFTA_LOOKUP_FLAGS)&unix.NFT_LOOKUP_F_INV != 0}, true
	case a.number(unix.NFTA_LOOKUP_DREG) == unix.NFT_REG_VERDICT:
		return nft.VMap{Fields: fields, Map: name, Elements: elements}, true
	}
	*d.at(a.number(unix.NFTA_LOOKUP_DREG)) = content{fields: fields, mapped: set}
	return nil, true
}

// key is the fields in the registers from the first one on that are looked up in a set; nil: they
// are not what plans look up.
func (d *decompiler) key(set string, reg uint32) []nft.Field {
	s := d.sets[set].Set
	if s == nil || reg != unix.NFT_REG_1 {
		return nil
	}
	place := 0
	var fields []nft.Field
	for range s.Key {
		f := d.regs[min(place, len(d.regs)-1)].field
		if f == "" {
			return nil
		}
		fields = append(fields, f)
		place += registers(f)
	}
	return fields
}

func (d *decompiler) update(a attrs) (x nft.Expr, known bool) {
	set := a.Text(unix.NFTA_DYNSET_SET_NAME)
	fields := d.key(set, a.number(unix.NFTA_DYNSET_SREG_KEY))
	plain := a[unix.NFTA_DYNSET_SREG_DATA] == nil && a[unix.NFTA_DYNSET_EXPR] == nil && a.number(unix.NFTA_DYNSET_OP) == unix.NFT_DYNSET_OP_UPDATE
	return nft.Update{Fields: fields, Set: set}, fields != nil && plain
}

func (d *decompiler) nat(a attrs) (x nft.Expr, known bool) {
	addr := d.at(a.number(unix.NFTA_NAT_REG_ADDR_MIN))
	dnat := nft.DNAT{IPv6: a.number(unix.NFTA_NAT_FAMILY) == unix.NFPROTO_IPV6, OneFamily: d.family != unix.NFPROTO_INET}
	const given = 1 | 2 // NF_NAT_RANGE_MAP_IPS and _PROTO_SPECIFIED, which the kernel adds itself
	bits := map[bool]int{false: 32, true: 128}[dnat.IPv6]
	switch {
	case a.number(unix.NFTA_NAT_TYPE) != unix.NFT_NAT_DNAT || a.number(unix.NFTA_NAT_FLAGS)&^given != 0:
		return nil, false
	case addr.mapped != "":
		dnat.Fields, dnat.Map = addr.fields, addr.mapped
	case len(addr.value)*8 == bits:
		to, _ := netip.AddrFromSlice(addr.value)
		dnat.To = nft.Addr(to)
		if a[unix.NFTA_NAT_REG_PROTO_MIN] != nil {
			if port := d.at(a.number(unix.NFTA_NAT_REG_PROTO_MIN)).value; len(port) == 2 {
				dnat.Port = binary.BigEndian.Uint16(port)
			}
		}
	default:
		return nil, false
	}
	return dnat, true
}
