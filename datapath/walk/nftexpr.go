package walk

import (
	"fmt"
	"net/netip"
	"strings"

	"github.com/netlab/netlab/datapath/plan"
)

// effect is what an expression did to a packet, and what it is called in a trace.
type effect struct {
	verdict
	word string
}

// nftExpr asks or does one expression of a rule. A condition that is met has no effect;
// one whose field the packet does not have is not met, whatever it asks for. To add an
// expression: a case here, and a function below.
func (v *visit) nftExpr(t *nftTable, e plan.NFTExpr) (hit bool, did *effect, err error) {
	switch e := e.(type) {
	case plan.NFTMatch:
		hit, err = v.nftMatch(e)
	case plan.NFTCTState:
		hit, err = v.nftState(e)
	case plan.NFTCTStatus:
		hit, err = v.nftStatus(e)
	case plan.NFTLookup:
		el, ok, err := v.nftFind(t, e.Set, e.Fields)
		return ok && (el != nil) != e.Not, nil, err
	case plan.NFTVMap:
		el, ok, err := v.nftFind(t, e.Map, e.Fields)
		if !ok || el == nil || err != nil {
			return true, nil, err // the rule goes on
		}
		did, err := nftVerdict(el.Verdict)
		return true, did, err
	case plan.NFTSetMark:
		mark := &v.p.mark
		if e.CT && v.p.conn == nil {
			return false, nil, nil
		} else if e.CT {
			mark = &v.p.conn.mark
		}
		*mark = *mark&e.And ^ e.Xor
		return true, &effect{word: "mark"}, nil
	case plan.NFTCounter:
		return true, nil, nil
	case plan.NFTNoTrack:
		v.p.conn, v.p.back, v.p.state = nil, false, "UNTRACKED"
		return true, &effect{word: "notrack"}, nil
	case plan.NFTVerdict:
		did, err := nftVerdict(e)
		return true, did, err
	case plan.NFTReject:
		did, err := v.nftReject(e)
		return true, did, err
	case plan.NFTDNAT:
		return v.nftDNAT(t, e)
	case plan.NFTMasquerade:
		return true, &effect{v.inNAT(v.masquerade), "masquerade"}, nil
	default:
		err = fmt.Errorf("unknown expression %T", e)
	}
	return hit, nil, err
}

func nftVerdict(e plan.NFTVerdict) (*effect, error) {
	act := map[string]action{"accept": accept, "drop": drop, "return": back, "jump": jump, "goto": jumpAway}[e.Kind]
	switch {
	case e.Kind == "continue":
		return nil, nil
	case act == next:
		return nil, fmt.Errorf("unknown verdict %q", e.Kind)
	}
	return &effect{verdict{action: act, chain: e.Chain}, strings.TrimSpace(e.Kind + " " + e.Chain)}, nil
}

// nftMatch compares a field with a value.
func (v *visit) nftMatch(e plan.NFTMatch) (bool, error) {
	got, ok, err := v.nftField(e.Field)
	if !ok || err != nil {
		return false, err
	}
	if e.Mask != 0 {
		got.First &= e.Mask
		got.Last = got.First
	}
	return nftHolds(e.Value, got) != e.Not, nil
}

// nftHolds reports whether what a packet has is the value, or inside of it.
func nftHolds(want, got plan.NFTValue) bool {
	switch {
	case want.Prefix.IsValid():
		return want.Prefix.Contains(got.Prefix.Addr())
	case want.Name != "":
		if rest, any := strings.CutSuffix(want.Name, "*"); any {
			return strings.HasPrefix(got.Name, rest)
		}
		return want.Name == got.Name
	}
	return want.First <= got.First && got.First <= want.Last
}

// nftField is what a packet has in a field; false: it has no such field.
func (v *visit) nftField(f plan.NFTField) (plan.NFTValue, bool, error) {
	p := v.p
	addr := func(a netip.Addr, ipv6 bool) (plan.NFTValue, bool, error) {
		return plan.NFTAddr(a), p.ipv6() == ipv6, nil
	}
	number := func(n int, ok bool) (plan.NFTValue, bool, error) { return plan.NFTNumber(uint32(n)), ok, nil }
	link := func(l *link) (plan.NFTValue, bool, error) { return plan.NFTName(name(l)), l != nil, nil }
	switch f {
	case plan.NFTFamilyOf:
		return number(map[bool]int{false: 2, true: 10}[p.ipv6()], true)
	case plan.NFTL4Proto:
		return v.nftProtocol(), true, nil
	case plan.NFTIIfName:
		return link(v.in)
	case plan.NFTOIfName:
		return link(v.out)
	case plan.NFTMetaMark:
		return plan.NFTNumber(p.mark), true, nil
	case plan.NFTCTMark:
		if p.conn == nil {
			return number(0, false)
		}
		return plan.NFTNumber(p.conn.mark), true, nil
	case plan.NFTIPSrc:
		return addr(p.src.Addr(), false)
	case plan.NFTIPDst:
		return addr(p.dst.Addr(), false)
	case plan.NFTIP6Src:
		return addr(p.src.Addr(), true)
	case plan.NFTIP6Dst:
		return addr(p.dst.Addr(), true)
	case plan.NFTSPort:
		return number(int(p.src.Port()), p.quoted == nil)
	case plan.NFTDPort:
		return number(int(p.dst.Port()), p.quoted == nil)
	case plan.NFTICMPType, plan.NFTICMPv6Type:
		if p.quoted == nil || p.ipv6() != (f == plan.NFTICMPv6Type) {
			return number(0, false)
		}
		kind, _ := p.code.numbers()
		return number(int(kind), true)
	case plan.NFTFibSrcType:
		return number(v.h.addressType(p.src.Addr()), true)
	case plan.NFTFibDstType:
		return number(v.h.addressType(p.dst.Addr()), true)
	case plan.NFTOrigDst, plan.NFTOrigDst6, plan.NFTOrigDPort:
		return v.nftOriginal(f)
	}
	if n := f.Modulus(); n > 0 {
		return plan.NFTNumber(v.choose(n)), true, nil
	}
	return plan.NFTValue{}, false, fmt.Errorf("unknown field %q", f)
}

// addressType is what the routing table says of an address: local or unicast.
func (h *host) addressType(a netip.Addr) int {
	if h.isLocal(a) {
		return plan.NFTLocal
	}
	return 1 // RTN_UNICAST
}

func (v *visit) nftProtocol() plan.NFTValue {
	switch {
	case v.p.quoted == nil:
		return plan.NFTProtocol(string(v.p.proto))
	case v.p.ipv6():
		return plan.NFTProtocol("ipv6-icmp")
	}
	return plan.NFTProtocol("icmp")
}

// nftOriginal is where the packet's connection began to go to.
func (v *visit) nftOriginal(f plan.NFTField) (plan.NFTValue, bool, error) {
	c := v.p.conn
	if c == nil {
		return plan.NFTValue{}, false, nil
	}
	if f == plan.NFTOrigDPort {
		return plan.NFTNumber(uint32(c.orig.dst.Port())), true, nil
	}
	a := c.orig.dst.Addr()
	return plan.NFTAddr(a), a.Is6() == (f == plan.NFTOrigDst6), nil
}

// choose takes one of n numbers, each with the same chance.
func (v *visit) choose(n uint32) uint32 {
	v.chance = 1 / float64(n)
	for i := range n - 1 {
		if v.r.decide(1 / float64(n-i)) {
			return i
		}
	}
	return n - 1
}

func (v *visit) nftState(e plan.NFTCTState) (bool, error) {
	for _, s := range e.States {
		switch s {
		case "new", "established", "related", "invalid", "untracked":
			if v.p.state == strings.ToUpper(s) {
				return true, nil
			}
		default:
			return false, fmt.Errorf("unknown connection state %q", s)
		}
	}
	return false, nil
}

func (v *visit) nftStatus(e plan.NFTCTStatus) (bool, error) {
	c := v.p.conn
	for _, s := range e.Status {
		switch s {
		case "dnat":
			if c != nil && c.dnat {
				return true, nil
			}
		case "snat":
			if c != nil && c.snat {
				return true, nil
			}
		default:
			return false, fmt.Errorf("connection status %q is not modelled", s)
		}
	}
	return false, nil
}

func (v *visit) nftReject(e plan.NFTReject) (*effect, error) {
	codes := map[string]Code{
		"tcp reset": TCPReset, "icmpx port-unreachable": PortUnreachable, "icmpx host-unreachable": HostUnreachable,
		"icmpx no-route": NetUnreachable, "icmpx admin-prohibited": "icmp-admin-prohibited",
	}
	code, ok := codes[e.With]
	switch {
	case !ok:
		return nil, fmt.Errorf("unknown answer %q", e.With)
	case v.p.ipv6() && code == "icmp-admin-prohibited":
		code = "icmp6-adm-prohibited"
	}
	return &effect{v.reject(plan.Reject{With: string(code.family(v.p.ipv6()))}), "reject with " + e.With}, nil
}

// nftDNAT changes the destination, of the family that it is about.
func (v *visit) nftDNAT(t *nftTable, e plan.NFTDNAT) (bool, *effect, error) {
	if e.IPv6 != v.p.ipv6() {
		return false, nil, nil
	}
	to := netip.AddrPortFrom(e.To.Prefix.Addr(), e.Port)
	if e.Map != "" {
		el, ok, err := v.nftFind(t, e.Map, e.Fields)
		if !ok || el == nil || err != nil {
			return false, nil, err
		}
		if len(el.Data) != 2 {
			return false, nil, fmt.Errorf("map %s has no address and port", e.Map)
		}
		to = netip.AddrPortFrom(el.Data[0].Prefix.Addr(), uint16(el.Data[1].First))
	}
	return true, &effect{v.inNAT(func() verdict { return v.dnat(plan.DNAT{To: to}) }), "dnat"}, nil
}

// inNAT does what only chains for NAT may: the kernel has others refused already.
func (v *visit) inNAT(do func() verdict) verdict {
	table := v.table
	defer func() { v.table = table }()
	v.table = "nat"
	return do()
}
