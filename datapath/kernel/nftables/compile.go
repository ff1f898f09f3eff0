//go:build linux

package nftables

import (
	"encoding/binary"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/netlab/netlab/datapath/plan/nft"
)

func (w *work) rule(c *nft.Chain, r *nft.Rule) error {
	var own []uint32 // the numbers of anonymous sets
	for _, x := range r.Exprs {
		if s := nft.Anonymous(x); s != nil {
			id, err := w.anonymous(s)
			if err != nil {
				return err
			}
			own = append(own, id)
		}
	}
	m := w.start(unix.NFT_MSG_NEWRULE, unix.NLM_F_CREATE|unix.NLM_F_APPEND)
	m.Text(unix.NFTA_RULE_CHAIN, c.Name)
	code := code{m: m, family: w.family, own: own}
	m.nest(unix.NFTA_RULE_EXPRESSIONS, func() {
		for _, x := range r.Exprs {
			code.expr(x)
		}
	})
	if code.err != nil {
		return code.err
	}
	m.comment(unix.NFTA_RULE_USERDATA, commentOf, r.Comment)
	w.add(m)
	return nil
}

// code writes the instructions of a rule. Values are compared in register 1, where
// longer keys begin, too.
type code struct {
	m      *message
	family uint8    // of the table
	ip, l4 uint8    // what the rule has matched: the IP family, the protocol
	own    []uint32 // the anonymous sets of the expressions that come next
	err    error
}

func (c *code) fail(format string, args ...any) {
	if c.err == nil {
		c.err = fmt.Errorf(format, args...)
	}
}

func (c *code) insn(name string, attrs func()) {
	c.m.nest(unix.NFTA_LIST_ELEM, func() {
		c.m.Text(unix.NFTA_EXPR_NAME, name)
		c.m.nest(unix.NFTA_EXPR_DATA, attrs)
	})
}

// word is the register at a four-byte position.
func word(place int) uint32 {
	if place == 0 {
		return unix.NFT_REG_1
	}
	return unix.NFT_REG32_00 + uint32(place)
}

func (c *code) Data(kind int, value []byte) {
	c.m.nest(kind, func() { c.m.Attr(unix.NFTA_DATA_VALUE, value...) })
}

func (c *code) expr(x nft.Expr) {
	m := c.m
	switch x := x.(type) {
	case nft.Match:
		c.match(x)
	case nft.CTState:
		c.load(nft.Field("ct state"), 0)
		c.anyBit(x.States, nft.States())
	case nft.CTStatus:
		c.load(nft.Field("ct status"), 0)
		c.anyBit(x.Status, nft.Statuses())
	case nft.Lookup:
		c.key(x.Fields)
		c.insn("lookup", func() {
			c.setName(x.Set)
			m.number(unix.NFTA_LOOKUP_SREG, unix.NFT_REG_1)
			if x.Not {
				m.number(unix.NFTA_LOOKUP_FLAGS, unix.NFT_LOOKUP_F_INV)
			}
		})
	case nft.VMap:
		c.key(x.Fields)
		c.mapped(x.Map, unix.NFT_REG_VERDICT)
	case nft.Update:
		c.key(x.Fields)
		c.insn("dynset", func() {
			m.Text(unix.NFTA_DYNSET_SET_NAME, x.Set)
			m.number(unix.NFTA_DYNSET_OP, unix.NFT_DYNSET_OP_UPDATE)
			m.number(unix.NFTA_DYNSET_SREG_KEY, unix.NFT_REG_1)
		})
	case nft.SetMark:
		c.setMark(x)
	case nft.MarkBy:
		if c.key(x.Fields); x.Map != "" {
			c.mapped(x.Map, unix.NFT_REG_1)
		}
		c.insn("ct", func() {
			m.number(unix.NFTA_CT_KEY, unix.NFT_CT_MARK)
			m.number(unix.NFTA_CT_SREG, unix.NFT_REG_1)
		})
	case nft.Counter:
		c.insn("counter", func() {})
	case nft.NoTrack:
		c.insn("notrack", func() {})
	case nft.Verdict:
		c.insn("immediate", func() {
			m.number(unix.NFTA_IMMEDIATE_DREG, unix.NFT_REG_VERDICT)
			m.nest(unix.NFTA_IMMEDIATE_DATA, func() {
				if err := m.verdict(x); err != nil {
					c.fail("%w", err)
				}
			})
		})
	case nft.Reject:
		c.reject(x)
	case nft.DNAT:
		c.dnat(x)
	case nft.Masquerade:
		c.insn("masq", func() {
			if x.FullyRandom {
				m.number(unix.NFTA_MASQ_FLAGS, unix.NF_NAT_RANGE_PROTO_RANDOM_FULLY)
			}
		})
	default:
		c.fail("unknown expression %T", x)
	}
}

func (c *code) match(x nft.Match) {
	c.key([]nft.Field{x.Field})
	first, last, err := nftFieldValue(x.Field, x.Value)
	if err != nil {
		c.fail("%s: %w", x.Field, err)
		return
	}
	op := uint32(unix.NFT_CMP_EQ)
	if x.Not {
		op = unix.NFT_CMP_NEQ
	}
	ranged := string(first) != string(last)
	switch bits := x.Value.Prefix.Bits(); {
	case x.Mask != 0:
		mask := binary.NativeEndian.AppendUint32(nil, x.Mask)
		c.bitwise(mask, make([]byte, 4))
	case ranged && x.Value.Prefix.IsValid():
		c.bitwise(net.CIDRMask(bits, 8*len(first)), make([]byte, len(first)))
	case ranged:
		if t := x.Field.Type(); t != nft.Port && len(first) > 1 {
			c.fail("%s cannot be compared with a range", x.Field)
		}
		c.insn("range", func() { // its operators have the same numbers as those of cmp
			c.m.number(unix.NFTA_RANGE_SREG, unix.NFT_REG_1)
			c.m.number(rangeOp, op)
			c.Data(rangeFrom, first)
			c.Data(rangeTo, last)
		})
		return
	}
	c.compare(op, first)
	if !x.Not && x.Mask == 0 && len(first) == 1 {
		switch x.Field {
		case nft.FamilyOf:
			c.ip = first[0]
		case nft.L4Proto:
			c.l4 = first[0]
		}
	}
}

func (c *code) compare(op uint32, value []byte) {
	c.insn("cmp", func() {
		c.m.number(unix.NFTA_CMP_SREG, unix.NFT_REG_1)
		c.m.number(unix.NFTA_CMP_OP, op)
		c.Data(unix.NFTA_CMP_DATA, value)
	})
}

// bitwise changes register 1 to register & mask ^ xor.
func (c *code) bitwise(mask, xor []byte) {
	c.insn("bitwise", func() {
		c.m.number(unix.NFTA_BITWISE_SREG, unix.NFT_REG_1)
		c.m.number(unix.NFTA_BITWISE_DREG, unix.NFT_REG_1)
		c.m.number(unix.NFTA_BITWISE_LEN, uint32(len(mask)))
		c.Data(unix.NFTA_BITWISE_MASK, mask)
		c.Data(unix.NFTA_BITWISE_XOR, xor)
	})
}

// anyBit tests register 1 for any of some named bits.
func (c *code) anyBit(names, order []string) {
	var bits uint32
	for _, name := range names {
		i := slices.Index(order, name)
		if i < 0 || name == "" {
			c.fail("unknown %q", name)
			return
		}
		bits |= 1 << i
	}
	c.bitwise(binary.NativeEndian.AppendUint32(nil, bits), make([]byte, 4))
	c.compare(unix.NFT_CMP_NEQ, make([]byte, 4))
}

// key loads fields in sequence from register 1 on, after matching that packets have
// them.
func (c *code) key(fields []nft.Field) {
	for _, f := range fields {
		c.guard(f)
	}
	place := 0
	for _, f := range fields {
		c.load(f, place)
		place += registers(f)
	}
}

// registers is how many registers of four bytes a field takes.
func registers(f nft.Field) int {
	_, n := typeOf(f.Type())
	return max(int(n)/4, 1)
}

// guard matches what a field implies.
func (c *code) guard(f nft.Field) {
	ip, l4 := f.Implies()
	if ip != 0 && c.ip != uint8(ip) {
		if c.family == unix.NFPROTO_INET {
			c.expr(nft.Match{Field: nft.FamilyOf, Value: nft.Number(ip)})
		} else if uint32(c.family) != ip {
			c.fail("%s in a table of the other family", f)
		}
	}
	if l4 != 0 && c.l4 != uint8(l4) {
		c.expr(nft.Match{Field: nft.L4Proto, Value: nft.Number(l4)})
	}
}

// toRegister is the attribute of every loading instruction for the register to load
// into: NFTA_META_DREG and its likes.
const toRegister = unix.NFTA_META_DREG

// nftSource is how a field is loaded: an instruction and its other attributes.
type nftSource struct {
	insn  string
	attrs []nftAttr
}

type nftAttr struct {
	kind  int
	value uint32
}

// sources maps fields to how they are loaded.
var sources = sync.OnceValue(func() map[nft.Field]nftSource {
	meta := func(key uint32) nftSource { return nftSource{"meta", []nftAttr{{unix.NFTA_META_KEY, key}}} }
	payload := func(base, offset, length uint32) nftSource {
		return nftSource{"payload", []nftAttr{{unix.NFTA_PAYLOAD_BASE, base}, {unix.NFTA_PAYLOAD_OFFSET, offset}, {unix.NFTA_PAYLOAD_LEN, length}}}
	}
	fib := func(flags uint32) nftSource {
		return nftSource{"fib", []nftAttr{{unix.NFTA_FIB_RESULT, unix.NFT_FIB_RESULT_ADDRTYPE}, {unix.NFTA_FIB_FLAGS, flags}}}
	}
	ct := func(key uint32, direction ...nftAttr) nftSource {
		return nftSource{"ct", append([]nftAttr{{unix.NFTA_CT_KEY, key}}, direction...)}
	}
	const network, transport = unix.NFT_PAYLOAD_NETWORK_HEADER, unix.NFT_PAYLOAD_TRANSPORT_HEADER
	const dstIP, dstIP6 = 20, 22 // NFT_CT_DST_IP, NFT_CT_DST_IP6 of nf_tables.h
	original := nftAttr{unix.NFTA_CT_DIRECTION, 0}
	return map[nft.Field]nftSource{
		nft.FamilyOf:   meta(unix.NFT_META_NFPROTO),
		nft.L4Proto:    meta(unix.NFT_META_L4PROTO),
		nft.IIfName:    meta(unix.NFT_META_IIFNAME),
		nft.OIfName:    meta(unix.NFT_META_OIFNAME),
		nft.MetaMark:   meta(unix.NFT_META_MARK),
		nft.IPSrc:      payload(network, 12, 4),
		nft.IPDst:      payload(network, 16, 4),
		nft.IP6Src:     payload(network, 8, 16),
		nft.IP6Dst:     payload(network, 24, 16),
		nft.SPort:      payload(transport, 0, 2),
		nft.DPort:      payload(transport, 2, 2),
		nft.ICMPType:   payload(transport, 0, 1),
		nft.ICMPv6Type: payload(transport, 0, 1),
		nft.FibSrcType: fib(unix.NFTA_FIB_F_SADDR),
		nft.FibDstType: fib(unix.NFTA_FIB_F_DADDR),
		"ct state":     ct(unix.NFT_CT_STATE),
		"ct status":    ct(unix.NFT_CT_STATUS),
		nft.CTMark:     ct(unix.NFT_CT_MARK),
		nft.OrigDst:    ct(dstIP, original),
		nft.OrigDst6:   ct(dstIP6, original),
		nft.OrigDPort:  ct(unix.NFT_CT_PROTO_DST, original),
	}
})

func (c *code) load(f nft.Field, place int) {
	s, ok := sources()[f]
	if n, offset := f.Range(); n > 0 {
		s, ok = nftSource{"numgen", []nftAttr{{unix.NFTA_NG_MODULUS, n}, {unix.NFTA_NG_TYPE, unix.NFT_NG_RANDOM}, {unix.NFTA_NG_OFFSET, offset}}}, true
	}
	if !ok {
		c.fail("unknown field %q", f)
		return
	}
	c.insn(s.insn, func() {
		c.m.number(toRegister, word(place))
		for _, a := range s.attrs {
			if s.insn == "ct" && a.kind == unix.NFTA_CT_DIRECTION {
				c.m.Attr(a.kind, byte(a.value))
			} else {
				c.m.number(a.kind, a.value)
			}
		}
	})
}

// mapped looks the key up in a map, and puts the result into a register.
func (c *code) mapped(name string, reg uint32) {
	c.insn("lookup", func() {
		c.setName(name)
		c.m.number(unix.NFTA_LOOKUP_SREG, unix.NFT_REG_1)
		c.m.number(unix.NFTA_LOOKUP_DREG, reg)
	})
}

// setName writes which set is looked up; empty: the rule's next anonymous one.
func (c *code) setName(name string) {
	if name != "" {
		c.m.Text(unix.NFTA_LOOKUP_SET, name)
		return
	}
	if len(c.own) == 0 {
		c.fail("a lookup without a set")
		return
	}
	c.m.Text(unix.NFTA_LOOKUP_SET, "by number") // it must have a name
	c.m.number(unix.NFTA_LOOKUP_SET_ID, c.own[0])
	c.own = c.own[1:]
}

func (c *code) immediate(place int, value []byte) {
	c.insn("immediate", func() {
		c.m.number(unix.NFTA_IMMEDIATE_DREG, word(place))
		c.Data(unix.NFTA_IMMEDIATE_DATA, value)
	})
}

func (c *code) setMark(x nft.SetMark) {
	field, insn, key, sreg := nft.MetaMark, "meta", uint32(unix.NFT_META_MARK), unix.NFTA_META_SREG
	keyAttr := unix.NFTA_META_KEY
	if x.CT {
		field, insn, key, sreg, keyAttr = nft.CTMark, "ct", unix.NFT_CT_MARK, unix.NFTA_CT_SREG, unix.NFTA_CT_KEY
	}
	number := func(v uint32) []byte { return binary.NativeEndian.AppendUint32(nil, v) }
	if x.And == 0 {
		c.immediate(0, number(x.Xor))
	} else {
		c.load(field, 0)
		c.bitwise(number(x.And), number(x.Xor))
	}
	c.insn(insn, func() {
		c.m.number(keyAttr, key)
		c.m.number(sreg, unix.NFT_REG_1)
	})
}

// nftRejects are the types and codes of refusals. That without a name is port unreachable in
// the ICMP of the table's family.
func nftRejects(family uint8) map[string][2]uint32 {
	const icmpx = unix.NFT_REJECT_ICMPX_UNREACH
	switch family {
	case unix.NFPROTO_IPV4:
		return map[string][2]uint32{"": {unix.NFT_REJECT_ICMP_UNREACH, 3}, "tcp reset": {unix.NFT_REJECT_TCP_RST, 0}}
	case unix.NFPROTO_IPV6:
		return map[string][2]uint32{"": {unix.NFT_REJECT_ICMP_UNREACH, 4}, "tcp reset": {unix.NFT_REJECT_TCP_RST, 0}}
	}
	return map[string][2]uint32{
		"tcp reset":              {unix.NFT_REJECT_TCP_RST, 0},
		"icmpx no-route":         {icmpx, unix.NFT_REJECT_ICMPX_NO_ROUTE},
		"icmpx port-unreachable": {icmpx, unix.NFT_REJECT_ICMPX_PORT_UNREACH},
		"icmpx host-unreachable": {icmpx, unix.NFT_REJECT_ICMPX_HOST_UNREACH},
		"icmpx admin-prohibited": {icmpx, unix.NFT_REJECT_ICMPX_ADMIN_PROHIBITED},
	}
}

func (c *code) reject(x nft.Reject) {
	with, ok := nftRejects(c.family)[x.With]
	if !ok {
		c.fail("no reject %q in a table of this family", x.With)
		return
	}
	if x.With == "tcp reset" && c.l4 != unix.IPPROTO_TCP {
		c.fail("a rule that rejects with tcp reset has to match tcp first")
	}
	c.insn("reject", func() {
		c.m.number(unix.NFTA_REJECT_TYPE, with[0])
		c.m.Attr(unix.NFTA_REJECT_ICMP_CODE, byte(with[1]))
	})
}

func (c *code) dnat(x nft.DNAT) {
	family, words := uint32(unix.NFPROTO_IPV4), 1
	if x.IPv6 {
		family, words = unix.NFPROTO_IPV6, 4
	}
	port := x.Map != "" || x.Port != 0
	if x.Map != "" {
		c.key(x.Fields)
		c.mapped(x.Map, unix.NFT_REG_1)
	} else {
		c.immediate(0, x.To.Prefix.Addr().AsSlice())
		if port {
			c.immediate(words, binary.BigEndian.AppendUint16(nil, x.Port))
		}
	}
	c.insn("nat", func() {
		c.m.number(unix.NFTA_NAT_TYPE, unix.NFT_NAT_DNAT)
		c.m.number(unix.NFTA_NAT_FAMILY, family)
		c.m.number(unix.NFTA_NAT_REG_ADDR_MIN, unix.NFT_REG_1)
		if port {
			c.m.number(unix.NFTA_NAT_REG_PROTO_MIN, word(words))
		}
	})
}

func nftVerdicts() map[string]int32 {
	return map[string]int32{"drop": nfDrop, "accept": nfAccept, "continue": unix.NFT_CONTINUE,
		"jump": unix.NFT_JUMP, "goto": unix.NFT_GOTO, "return": unix.NFT_RETURN}
}

func (m *message) verdict(v nft.Verdict) error {
	code, ok := nftVerdicts()[v.Kind]
	if !ok {
		return fmt.Errorf("unknown verdict %q", v.Kind)
	}
	m.nest(unix.NFTA_DATA_VERDICT, func() {
		m.number(unix.NFTA_VERDICT_CODE, uint32(code))
		if v.Chain != "" {
			m.Text(unix.NFTA_VERDICT_CHAIN, v.Chain)
		}
	})
	return nil
}

// nftFieldValue are the bytes with which a field is compared.
func nftFieldValue(f nft.Field, v nft.Value) (first, last []byte, err error) {
	t := f.Type()
	switch {
	case t == nft.IfName && strings.HasSuffix(v.Name, "*"):
		b := []byte(strings.TrimSuffix(v.Name, "*"))
		return b, b, nil
	case f == nft.FamilyOf || f == nft.ICMPType || f == nft.ICMPv6Type:
		return []byte{byte(v.First)}, []byte{byte(v.Last)}, nil
	case f == nft.FibSrcType || f == nft.FibDstType || f.Modulus() > 0:
		return binary.NativeEndian.AppendUint32(nil, v.First), binary.NativeEndian.AppendUint32(nil, v.Last), nil
	case t == "":
		return nil, nil, fmt.Errorf("unknown field")
	}
	return appendValue(nil, nil, t, v, false)
}
