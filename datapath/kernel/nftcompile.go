//go:build linux

package kernel

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/netlab/netlab/datapath/plan"
)

// rules appends the rules of a chain.
func (w *nftWork) rules(c *plan.NFTChain) error {
	for i := range c.Rules {
		r := &c.Rules[i]
		m := w.start(unix.NFT_MSG_NEWRULE, unix.NLM_F_CREATE|unix.NLM_F_APPEND, unix.NFTA_RULE_TABLE)
		m.text(unix.NFTA_RULE_CHAIN, c.Name)
		code := nftCode{m: m, family: w.family}
		m.nest(unix.NFTA_RULE_EXPRESSIONS, func() {
			for _, x := range r.Exprs {
				code.expr(x)
			}
		})
		if code.err != nil {
			return fmt.Errorf("%s: %w", r.Words(), code.err)
		}
		if r.Comment != "" {
			// A type (0: comment), a length, and the text with its end (libnftnl udata.h).
			text := r.Comment[:min(len(r.Comment), plan.MaxNFTComment)]
			m.attr(unix.NFTA_RULE_USERDATA, append(append([]byte{0, byte(len(text) + 1)}, text...), 0)...)
		}
		w.add(m, "add rule %s %s %s", c.Name, r.Words())
	}
	return nil
}

// nftCode writes the instructions of a rule. Values are compared in register 1, and
// longer keys begin there.
type nftCode struct {
	m      *nftMessage
	family uint8 // of the table
	ip, l4 uint8 // what the rule has asked for: the IP family, the protocol
	err    error
}

func (c *nftCode) fail(format string, args ...any) {
	if c.err == nil {
		c.err = fmt.Errorf(format, args...)
	}
}

// insn writes one instruction.
func (c *nftCode) insn(name string, attrs func()) {
	c.m.nest(unix.NFTA_LIST_ELEM, func() {
		c.m.text(unix.NFTA_EXPR_NAME, name)
		c.m.nest(unix.NFTA_EXPR_DATA, attrs)
	})
}

// word is the register at a place of four bytes.
func word(place int) uint32 {
	if place == 0 {
		return unix.NFT_REG_1
	}
	return unix.NFT_REG32_00 + uint32(place)
}

func (c *nftCode) data(kind int, value []byte) {
	c.m.nest(kind, func() { c.m.attr(unix.NFTA_DATA_VALUE, value...) })
}

func (c *nftCode) expr(x plan.NFTExpr) {
	m := c.m
	switch x := x.(type) {
	case plan.NFTMatch:
		c.match(x)
	case plan.NFTCTState:
		c.load(plan.NFTField("ct state"), 0)
		c.anyBit(x.States, plan.NFTStates())
	case plan.NFTCTStatus:
		c.load(plan.NFTField("ct status"), 0)
		c.anyBit(x.Status, plan.NFTStatuses())
	case plan.NFTLookup:
		c.key(x.Fields)
		c.insn("lookup", func() {
			m.text(unix.NFTA_LOOKUP_SET, x.Set)
			m.number(unix.NFTA_LOOKUP_SREG, unix.NFT_REG_1)
			if x.Not {
				m.number(unix.NFTA_LOOKUP_FLAGS, unix.NFT_LOOKUP_F_INV)
			}
		})
	case plan.NFTVMap:
		c.key(x.Fields)
		c.mapped(x.Map, unix.NFT_REG_VERDICT)
	case plan.NFTSetMark:
		c.setMark(x)
	case plan.NFTCounter:
		c.insn("counter", func() {})
	case plan.NFTNoTrack:
		c.insn("notrack", func() {})
	case plan.NFTVerdict:
		c.insn("immediate", func() {
			m.number(unix.NFTA_IMMEDIATE_DREG, unix.NFT_REG_VERDICT)
			m.nest(unix.NFTA_IMMEDIATE_DATA, func() {
				if err := m.verdict(x); err != nil {
					c.fail("%w", err)
				}
			})
		})
	case plan.NFTReject:
		c.reject(x)
	case plan.NFTDNAT:
		c.dnat(x)
	case plan.NFTMasquerade:
		c.insn("masq", func() {
			if x.FullyRandom {
				m.number(unix.NFTA_MASQ_FLAGS, unix.NF_NAT_RANGE_PROTO_RANDOM_FULLY)
			}
		})
	default:
		c.fail("unknown expression %T", x)
	}
}

func (c *nftCode) match(x plan.NFTMatch) {
	c.key([]plan.NFTField{x.Field})
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
		mask := make([]byte, len(first))
		for i := range bits {
			mask[i/8] |= 0x80 >> (i % 8)
		}
		c.bitwise(mask, make([]byte, len(first)))
	case ranged:
		if t := x.Field.Type(); t != plan.NFTPort && len(first) > 1 {
			c.fail("%s cannot be compared with a range", x.Field)
		}
		c.insn("range", func() { // its operators are numbered as those of cmp
			c.m.number(unix.NFTA_RANGE_SREG, unix.NFT_REG_1)
			c.m.number(nftRangeOp, op)
			c.data(nftRangeFrom, first)
			c.data(nftRangeTo, last)
		})
		return
	}
	c.compare(op, first)
	if !x.Not && x.Mask == 0 && len(first) == 1 {
		switch x.Field {
		case plan.NFTFamilyOf:
			c.ip = first[0]
		case plan.NFTL4Proto:
			c.l4 = first[0]
		}
	}
}

func (c *nftCode) compare(op uint32, value []byte) {
	c.insn("cmp", func() {
		c.m.number(unix.NFTA_CMP_SREG, unix.NFT_REG_1)
		c.m.number(unix.NFTA_CMP_OP, op)
		c.data(unix.NFTA_CMP_DATA, value)
	})
}

// bitwise changes register 1 to register & mask ^ xor.
func (c *nftCode) bitwise(mask, xor []byte) {
	c.insn("bitwise", func() {
		c.m.number(unix.NFTA_BITWISE_SREG, unix.NFT_REG_1)
		c.m.number(unix.NFTA_BITWISE_DREG, unix.NFT_REG_1)
		c.m.number(unix.NFTA_BITWISE_LEN, uint32(len(mask)))
		c.data(unix.NFTA_BITWISE_MASK, mask)
		c.data(unix.NFTA_BITWISE_XOR, xor)
	})
}

// anyBit asks register 1 for any of some named bits.
func (c *nftCode) anyBit(names, order []string) {
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

// key loads fields one behind the other, from register 1 on, after it has made sure that
// packets have them.
func (c *nftCode) key(fields []plan.NFTField) {
	for _, f := range fields {
		c.guard(f)
	}
	place := 0
	for _, f := range fields {
		c.load(f, place)
		if _, n := nftTypeOf(f.Type()); n > 4 {
			place += int(n) / 4
		} else {
			place++
		}
	}
}

// guard asks for what a field implies.
func (c *nftCode) guard(f plan.NFTField) {
	ip, l4 := f.Implies()
	if ip != 0 && c.ip != uint8(ip) {
		if c.family == unix.NFPROTO_INET {
			c.expr(plan.NFTMatch{Field: plan.NFTFamilyOf, Value: plan.NFTNumber(ip)})
		} else if uint32(c.family) != ip {
			c.fail("%s in a table of the other family", f)
		}
	}
	if l4 != 0 && c.l4 != uint8(l4) {
		c.expr(plan.NFTMatch{Field: plan.NFTL4Proto, Value: plan.NFTNumber(l4)})
	}
}

// nftSource is how a field is loaded.
type nftSource struct {
	insn string
	// The attributes: of meta and ct a key, of ct the direction (1: original), of payload
	// base, offset and length, of fib the flags.
	key, direction       uint32
	base, offset, length uint32
	flags                uint32
}

// nftSources says how fields are loaded. Numbers are those of nf_tables.h.
func nftSources() map[plan.NFTField]nftSource {
	const network, transport = unix.NFT_PAYLOAD_NETWORK_HEADER, unix.NFT_PAYLOAD_TRANSPORT_HEADER
	const dstIP, dstIP6 = 20, 22 // NFT_CT_DST_IP, NFT_CT_DST_IP6
	return map[plan.NFTField]nftSource{
		plan.NFTFamilyOf:   {insn: "meta", key: unix.NFT_META_NFPROTO},
		plan.NFTL4Proto:    {insn: "meta", key: unix.NFT_META_L4PROTO},
		plan.NFTIIfName:    {insn: "meta", key: unix.NFT_META_IIFNAME},
		plan.NFTOIfName:    {insn: "meta", key: unix.NFT_META_OIFNAME},
		plan.NFTMetaMark:   {insn: "meta", key: unix.NFT_META_MARK},
		plan.NFTIPSrc:      {insn: "payload", base: network, offset: 12, length: 4},
		plan.NFTIPDst:      {insn: "payload", base: network, offset: 16, length: 4},
		plan.NFTIP6Src:     {insn: "payload", base: network, offset: 8, length: 16},
		plan.NFTIP6Dst:     {insn: "payload", base: network, offset: 24, length: 16},
		plan.NFTSPort:      {insn: "payload", base: transport, offset: 0, length: 2},
		plan.NFTDPort:      {insn: "payload", base: transport, offset: 2, length: 2},
		plan.NFTICMPType:   {insn: "payload", base: transport, offset: 0, length: 1},
		plan.NFTICMPv6Type: {insn: "payload", base: transport, offset: 0, length: 1},
		plan.NFTFibSrcType: {insn: "fib", flags: unix.NFTA_FIB_F_SADDR},
		plan.NFTFibDstType: {insn: "fib", flags: unix.NFTA_FIB_F_DADDR},
		"ct state":         {insn: "ct", key: unix.NFT_CT_STATE},
		"ct status":        {insn: "ct", key: unix.NFT_CT_STATUS},
		plan.NFTCTMark:     {insn: "ct", key: unix.NFT_CT_MARK},
		plan.NFTOrigDst:    {insn: "ct", key: dstIP, direction: 1},
		plan.NFTOrigDst6:   {insn: "ct", key: dstIP6, direction: 1},
		plan.NFTOrigDPort:  {insn: "ct", key: unix.NFT_CT_PROTO_DST, direction: 1},
	}
}

// load puts a field into a register.
func (c *nftCode) load(f plan.NFTField, place int) {
	m, reg := c.m, word(place)
	if n := f.Modulus(); n > 0 {
		c.insn("numgen", func() {
			m.number(unix.NFTA_NG_DREG, reg)
			m.number(unix.NFTA_NG_MODULUS, n)
			m.number(unix.NFTA_NG_TYPE, unix.NFT_NG_RANDOM)
		})
		return
	}
	s, ok := nftSources()[f]
	if !ok {
		c.fail("unknown field %q", f)
		return
	}
	c.insn(s.insn, func() {
		switch s.insn {
		case "meta":
			m.number(unix.NFTA_META_DREG, reg)
			m.number(unix.NFTA_META_KEY, s.key)
		case "payload":
			m.number(unix.NFTA_PAYLOAD_DREG, reg)
			m.number(unix.NFTA_PAYLOAD_BASE, s.base)
			m.number(unix.NFTA_PAYLOAD_OFFSET, s.offset)
			m.number(unix.NFTA_PAYLOAD_LEN, s.length)
		case "fib":
			m.number(unix.NFTA_FIB_DREG, reg)
			m.number(unix.NFTA_FIB_RESULT, unix.NFT_FIB_RESULT_ADDRTYPE)
			m.number(unix.NFTA_FIB_FLAGS, s.flags)
		case "ct":
			m.number(unix.NFTA_CT_DREG, reg)
			m.number(unix.NFTA_CT_KEY, s.key)
			if s.direction > 0 {
				m.attr(unix.NFTA_CT_DIRECTION, byte(s.direction-1))
			}
		}
	})
}

// mapped looks the key up in a map, and puts what it finds into a register.
func (c *nftCode) mapped(name string, reg uint32) {
	c.insn("lookup", func() {
		c.m.text(unix.NFTA_LOOKUP_SET, name)
		c.m.number(unix.NFTA_LOOKUP_SREG, unix.NFT_REG_1)
		c.m.number(unix.NFTA_LOOKUP_DREG, reg)
	})
}

func (c *nftCode) immediate(place int, value []byte) {
	c.insn("immediate", func() {
		c.m.number(unix.NFTA_IMMEDIATE_DREG, word(place))
		c.data(unix.NFTA_IMMEDIATE_DATA, value)
	})
}

func (c *nftCode) setMark(x plan.NFTSetMark) {
	field, insn, key, sreg := plan.NFTMetaMark, "meta", uint32(unix.NFT_META_MARK), unix.NFTA_META_SREG
	keyAttr := unix.NFTA_META_KEY
	if x.CT {
		field, insn, key, sreg, keyAttr = plan.NFTCTMark, "ct", unix.NFT_CT_MARK, unix.NFTA_CT_SREG, unix.NFTA_CT_KEY
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

// nftRejects are the type and code of rejects.
func nftRejects() map[string][2]uint32 {
	const icmpx = unix.NFT_REJECT_ICMPX_UNREACH
	return map[string][2]uint32{
		"tcp reset":              {unix.NFT_REJECT_TCP_RST, 0},
		"icmpx no-route":         {icmpx, unix.NFT_REJECT_ICMPX_NO_ROUTE},
		"icmpx port-unreachable": {icmpx, unix.NFT_REJECT_ICMPX_PORT_UNREACH},
		"icmpx host-unreachable": {icmpx, unix.NFT_REJECT_ICMPX_HOST_UNREACH},
		"icmpx admin-prohibited": {icmpx, unix.NFT_REJECT_ICMPX_ADMIN_PROHIBITED},
	}
}

func (c *nftCode) reject(x plan.NFTReject) {
	with, ok := nftRejects()[x.With]
	if !ok {
		c.fail("unknown reject %q", x.With)
		return
	}
	if x.With == "tcp reset" && c.l4 != unix.IPPROTO_TCP {
		c.fail("a rule that rejects by tcp reset has to ask for tcp first")
	}
	if strings.HasPrefix(x.With, "icmpx") && c.family != unix.NFPROTO_INET {
		c.fail("icmpx is for tables of the family inet")
	}
	c.insn("reject", func() {
		c.m.number(unix.NFTA_REJECT_TYPE, with[0])
		c.m.attr(unix.NFTA_REJECT_ICMP_CODE, byte(with[1]))
	})
}

func (c *nftCode) dnat(x plan.NFTDNAT) {
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

// nftVerdicts are the codes of verdicts.
func nftVerdicts() map[string]int32 {
	return map[string]int32{"drop": nfDrop, "accept": nfAccept, "continue": unix.NFT_CONTINUE,
		"jump": unix.NFT_JUMP, "goto": unix.NFT_GOTO, "return": unix.NFT_RETURN}
}

func (m *nftMessage) verdict(v plan.NFTVerdict) error {
	code, ok := nftVerdicts()[v.Kind]
	if !ok {
		return fmt.Errorf("unknown verdict %q", v.Kind)
	}
	m.nest(unix.NFTA_DATA_VERDICT, func() {
		m.number(unix.NFTA_VERDICT_CODE, uint32(code))
		if v.Chain != "" {
			m.text(unix.NFTA_VERDICT_CHAIN, v.Chain)
		}
	})
	return nil
}

// nftFieldValue are the bytes with which a field is compared.
func nftFieldValue(f plan.NFTField, v plan.NFTValue) (first, last []byte, err error) {
	t := f.Type()
	switch {
	case t == plan.NFTIfName && strings.HasSuffix(v.Name, "*"):
		b := []byte(strings.TrimSuffix(v.Name, "*"))
		return b, b, nil
	case f == plan.NFTFamilyOf || f == plan.NFTICMPType || f == plan.NFTICMPv6Type:
		return []byte{byte(v.First)}, []byte{byte(v.Last)}, nil
	case f == plan.NFTFibSrcType || f == plan.NFTFibDstType || f.Modulus() > 0:
		return binary.NativeEndian.AppendUint32(nil, v.First), binary.NativeEndian.AppendUint32(nil, v.Last), nil
	case t == "":
		return nil, nil, fmt.Errorf("unknown field")
	}
	return nftAppendValue(nil, nil, t, v, false)
}
