package walk

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/netlab/netlab/datapath/plan/iptables"
	"github.com/netlab/netlab/datapath/plan/nft"
	"github.com/netlab/netlab/datapath/walk/network"
)

// nftExpr evaluates one expression of a rule. A condition that is met has no effect;
// one on a field that the packet does not have is not met, even if negated. To add an
// expression: a case here, and a function below.
func (v *visit) nftExpr(t *network.NFTTable, e nft.Expr) (hit bool, did verdict, err error) {
	switch e := e.(type) {
	case nft.Match:
		hit, err = v.nftMatch(e)
	case nft.CTState:
		hit, err = v.nftState(e)
	case nft.CTStatus:
		hit, err = v.nftStatus(e)
	case nft.Lookup:
		in, ok, err := v.nftHas(t, e)
		return ok && in != e.Not, did, err
	case nft.Update:
		s, key, ok, err := v.nftKey(t, e, e.Fields)
		if ok {
			v.r.state.Keep(v.h.Name, t.Family+" "+t.Name+" "+s.Name, fmt.Sprint(key))
			did.word = "update"
		}
		return ok, did, err
	case nft.VMap:
		el, ok, err := v.nftFind(t, e, e.Fields)
		if !ok || el == nil || err != nil {
			return true, did, err // the rule continues
		}
		did, err = nftVerdict(el.Verdict)
		return true, did, err
	case nft.SetMark:
		mark := &v.p.mark
		if e.CT && v.p.conn == nil {
			return false, did, nil
		} else if e.CT {
			mark = &v.p.conn.mark
		}
		*mark = *mark&e.And ^ e.Xor
		return true, verdict{word: "mark"}, nil
	case nft.MarkBy:
		return v.nftMarkBy(t, e)
	case nft.Counter:
		return true, did, nil
	case nft.NoTrack:
		v.p.untrack()
		return true, verdict{word: "notrack"}, nil
	case nft.Verdict:
		did, err = nftVerdict(e)
		return true, did, err
	case nft.Reject:
		did, err = v.nftReject(e)
		return true, did, err
	case nft.DNAT:
		return v.nftDNAT(t, e)
	case nft.Masquerade:
		return true, v.inNAT(v.masquerade).as("masquerade"), nil
	default:
		err = fmt.Errorf("unknown expression %T", e)
	}
	return hit, did, err
}

func nftVerdict(e nft.Verdict) (verdict, error) {
	act := map[string]action{"accept": accept, "drop": drop, "return": back, "jump": jump, "goto": jumpAway}[e.Kind]
	switch {
	case e.Kind == "continue":
		return verdict{}, nil
	case act == next:
		return verdict{}, fmt.Errorf("unknown verdict %q", e.Kind)
	}
	return verdict{action: act, word: strings.TrimSpace(e.Kind + " " + e.Chain), chain: e.Chain}, nil
}

func (v *visit) nftMatch(e nft.Match) (bool, error) {
	got, ok, err := v.nftField(e.Field)
	if !ok || err != nil {
		return false, err
	}
	if e.Mask != 0 {
		got.First &= e.Mask
		got.Last = got.First
	}
	return network.Holds(e.Value, got) != e.Not, nil
}

// nftField is the packet's value of a field; false: it has no such field.
func (v *visit) nftField(f nft.Field) (nft.Value, bool, error) {
	p := v.p
	addr := func(a netip.Addr, ipv6 bool) (nft.Value, bool, error) {
		return nft.Addr(a), p.ipv6() == ipv6, nil
	}
	number := func(n int, ok bool) (nft.Value, bool, error) { return nft.Number(uint32(n)), ok, nil }
	link := func(l *network.Link) (nft.Value, bool, error) { return nft.Name(name(l)), l != nil, nil }
	switch f {
	case nft.FamilyOf:
		return number(map[bool]int{false: 2, true: 10}[p.ipv6()], true)
	case nft.L4Proto:
		return v.nftProtocol(), true, nil
	case nft.IIfName:
		return link(v.in)
	case nft.OIfName:
		return link(v.out)
	case nft.MetaMark:
		return nft.Number(p.mark), true, nil
	case nft.CTMark:
		if p.conn == nil {
			return number(0, false)
		}
		return nft.Number(p.conn.mark), true, nil
	case nft.IPSrc:
		return addr(p.src.Addr(), false)
	case nft.IPDst:
		return addr(p.dst.Addr(), false)
	case nft.IP6Src:
		return addr(p.src.Addr(), true)
	case nft.IP6Dst:
		return addr(p.dst.Addr(), true)
	case nft.SPort:
		return number(int(p.src.Port()), p.quoted == nil)
	case nft.DPort:
		return number(int(p.dst.Port()), p.quoted == nil)
	case nft.ICMPType, nft.ICMPv6Type:
		if p.quoted == nil || p.ipv6() != (f == nft.ICMPv6Type) {
			return number(0, false)
		}
		kind, _ := p.code.numbers()
		return number(int(kind), true)
	case nft.FibSrcType:
		return number(addressType(v.h, p.src.Addr()), true)
	case nft.FibDstType:
		return number(addressType(v.h, p.dst.Addr()), true)
	case nft.OrigDst, nft.OrigDst6, nft.OrigDPort:
		return v.nftOriginal(f)
	}
	if n, offset := f.Range(); n > 0 {
		return nft.Number(offset + v.choose(n)), true, nil
	}
	return nft.Value{}, false, fmt.Errorf("unknown field %q", f)
}

// addressType is the type of an address in the routing table: local or unicast.
func addressType(h *network.Host, a netip.Addr) int {
	if h.IsLocal(a) {
		return nft.Local
	}
	return 1 // RTN_UNICAST
}

func (v *visit) nftProtocol() nft.Value {
	switch {
	case v.p.quoted == nil:
		return nft.Protocol(string(v.p.proto))
	case v.p.ipv6():
		return nft.Protocol("ipv6-icmp")
	}
	return nft.Protocol("icmp")
}

// nftOriginal is the original destination of the packet's connection.
func (v *visit) nftOriginal(f nft.Field) (nft.Value, bool, error) {
	c := v.p.conn
	if c == nil {
		return nft.Value{}, false, nil
	}
	if f == nft.OrigDPort {
		return nft.Number(uint32(c.orig.dst.Port())), true, nil
	}
	a := c.orig.dst.Addr()
	return nft.Addr(a), a.Is6() == (f == nft.OrigDst6), nil
}

// nftKey is the set that an expression looks up, and the fields of the packet for which it does;
// false: the packet lacks some of them.
func (v *visit) nftKey(t *network.NFTTable, e nft.Expr, fields []nft.Field) (s *network.NFTSet, key []nft.Value, ok bool, err error) {
	if s = t.Lookup(e); s == nil {
		_, set := nft.LookedUp(e)
		return nil, nil, false, fmt.Errorf("set %s does not exist", set)
	}
	for _, f := range fields {
		value, ok, err := v.nftField(f)
		if !ok || err != nil {
			return nil, nil, false, err
		}
		key = append(key, value)
	}
	return s, key, true, nil
}

// nftFind is the element of the packet's fields, or nil.
func (v *visit) nftFind(t *network.NFTTable, e nft.Expr, fields []nft.Field) (el *nft.Element, ok bool, err error) {
	s, key, ok, err := v.nftKey(t, e, fields)
	if !ok || err != nil {
		return nil, ok, err
	}
	return s.Find(key), true, nil
}

// nftMarkBy sets the mark of the packet's connection.
func (v *visit) nftMarkBy(t *network.NFTTable, e nft.MarkBy) (hit bool, did verdict, err error) {
	var mark nft.Value
	if v.p.conn == nil {
		return false, did, nil
	}
	if e.Map == "" {
		mark, _, err = v.nftField(e.Fields[0])
	} else {
		el, ok, err := v.nftFind(t, e, e.Fields)
		if !ok || el == nil || err != nil {
			return false, did, err
		}
		mark = el.Data[0]
	}
	v.p.conn.mark = mark.First
	return true, verdict{word: "mark"}, err
}

// nftHas reports whether a set has the packet's fields: as an element of the plan, or as one that
// rules added a short time ago.
func (v *visit) nftHas(t *network.NFTTable, e nft.Lookup) (in, ok bool, err error) {
	s, key, ok, err := v.nftKey(t, e, e.Fields)
	if !ok || err != nil {
		return false, ok, err
	}
	if s.Timeout > 0 {
		return v.r.state.Kept(v.h.Name, t.Family+" "+t.Name+" "+s.Name, fmt.Sprint(key), s.Timeout), true, nil
	}
	return s.Find(key) != nil, true, nil
}

// choose picks one of n numbers with equal probability.
func (v *visit) choose(n uint32) uint32 {
	v.chance = 1 / float64(n)
	for i := range n - 1 {
		if v.r.decide(1 / float64(n-i)) {
			return i
		}
	}
	return n - 1
}

func (v *visit) nftState(e nft.CTState) (bool, error) {
	for _, s := range e.States {
		if s == "" || !slices.Contains(nft.States(), s) {
			return false, fmt.Errorf("unknown connection state %q", s)
		}
		if v.p.state == strings.ToUpper(s) {
			return true, nil
		}
	}
	return false, nil
}

func (v *visit) nftStatus(e nft.CTStatus) (bool, error) {
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

func (v *visit) nftReject(e nft.Reject) (verdict, error) {
	codes := map[string]Code{
		"tcp reset": TCPReset, "icmpx port-unreachable": PortUnreachable, "icmpx host-unreachable": HostUnreachable,
		"icmpx no-route": NetUnreachable, "icmpx admin-prohibited": "icmp-admin-prohibited", "": PortUnreachable,
	}
	code, ok := codes[e.With]
	switch {
	case !ok:
		return verdict{}, fmt.Errorf("unknown answer %q", e.With)
	case v.p.ipv6() && code == "icmp-admin-prohibited":
		code = "icmp6-adm-prohibited"
	}
	return v.reject(iptables.Reject{With: string(code.family(v.p.ipv6()))}).as(nft.Words(e)), nil
}

// nftDNAT changes the destination of packets of its family.
func (v *visit) nftDNAT(t *network.NFTTable, e nft.DNAT) (hit bool, did verdict, err error) {
	if e.IPv6 != v.p.ipv6() {
		return false, did, nil
	}
	to := netip.AddrPortFrom(e.To.Prefix.Addr(), e.Port)
	if e.Map != "" {
		el, ok, err := v.nftFind(t, e, e.Fields)
		if !ok || el == nil || err != nil {
			return false, did, err
		}
		if len(el.Data) != 2 {
			return false, did, fmt.Errorf("map %s has no address and port", e.Map)
		}
		to = netip.AddrPortFrom(el.Data[0].Prefix.Addr(), uint16(el.Data[1].First))
	}
	return true, v.inNAT(func() verdict { return v.dnat(iptables.DNAT{To: to}) }).as("dnat"), nil
}

// inNAT does what only NAT chains may do: elsewhere the kernel refuses it.
func (v *visit) inNAT(do func() verdict) verdict {
	table := v.table
	defer func() { v.table = table }()
	v.table = "nat"
	return do()
}
