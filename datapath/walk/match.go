package walk

import (
	"fmt"
	"math"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/datapath/plan/ipset"
	"github.com/netlab/netlab/datapath/plan/iptables"
	"github.com/netlab/netlab/datapath/walk/network"
)

// visit is a packet at a hook, as rules see it.
type visit struct {
	r       *run
	h       *network.Host
	hook    string
	table   string
	in, out *network.Link // nil if the hook has none
	p       *packet
	to      network.Hop   // next hop, at POSTROUTING
	port    *network.Link // of a bridge: the output port of a bridged packet
	bases   int           // base chains of nf_tables traversed so far
	chance  float64       // of the last random match
}

// matches reports whether a packet meets a condition. To add a condition: a case here,
// and a function below that evaluates it.
func (v *visit) matches(m iptables.Match) (bool, error) {
	switch m := m.(type) {
	case iptables.Src:
		return m.Prefix.Contains(v.p.src.Addr()) != m.Not, nil
	case iptables.Dst:
		return m.Prefix.Contains(v.p.dst.Addr()) != m.Not, nil
	case iptables.InIf:
		return linkIs(v.in, m.Name) != m.Not, nil
	case iptables.OutIf:
		return linkIs(v.out, m.Name) != m.Not, nil
	case iptables.Proto:
		return v.proto(m), nil
	case iptables.DPort:
		return v.p.quoted == nil && v.p.dst.Port() == m.Port, nil
	case iptables.SPort:
		return v.p.quoted == nil && v.p.src.Port() == m.Port, nil
	case iptables.DPorts:
		return v.p.quoted == nil && m.First <= v.p.dst.Port() && v.p.dst.Port() <= m.Last, nil
	case iptables.MultiPort:
		return v.multiPort(m)
	case iptables.ICMPType:
		return v.icmpType(m), nil
	case iptables.Limit:
		return true, nil // there was no earlier traffic to use it up
	case iptables.Physdev:
		return v.physdev(m), nil
	case iptables.AddrType:
		return v.addrType(m)
	case iptables.Mark:
		return v.mark(m), nil
	case iptables.CTState:
		return v.ctState(m)
	case iptables.State:
		return v.ctState(iptables.CTState{States: []string{m.State}})
	case iptables.Random:
		return v.random(m), nil
	case iptables.Recent:
		return v.recent(m), nil
	case iptables.MatchSet:
		return v.matchSet(m)
	case iptables.IPVS:
		return v.byVirtual(m), nil
	case iptables.PhysdevIsIn:
		return v.fromBridge() != m.Not, nil
	case iptables.Comment, iptables.NFAcct:
		return true, nil
	}
	return false, fmt.Errorf("unknown match %T", m)
}

func (v *visit) multiPort(m iptables.MultiPort) (bool, error) {
	hit := false
	for _, word := range strings.Split(m.Ports, ",") {
		low, high, isRange := strings.Cut(word, ":")
		if !isRange {
			high = low
		}
		first, err1 := strconv.ParseUint(low, 10, 16)
		last, err2 := strconv.ParseUint(high, 10, 16)
		if err1 != nil || err2 != nil {
			return false, fmt.Errorf("%q is not a list of ports", m.Ports)
		}
		port := uint64(v.p.dst.Port())
		hit = hit || first <= port && port <= last
	}
	return hit && v.p.quoted == nil, nil
}

// icmpType compares the type of an ICMP message. Only errors occur here.
func (v *visit) icmpType(m iptables.ICMPType) bool {
	if v.p.quoted == nil || m.IPv6 != v.p.ipv6() {
		return false
	}
	kind, code := v.p.code.numbers()
	return m.Type == kind && (m.AnyCode || m.Code == code)
}

// physdev matches the ports of a bridge. A packet routed out through a bridge has no
// output port yet.
func (v *visit) physdev(m iptables.Physdev) bool {
	var in *network.Link
	if v.fromBridge() {
		in = v.p.port
	}
	switch {
	case m.Bridged && v.port == nil:
		return false
	case m.In != "" && (in == nil || !linkIs(in, m.In)):
		return false
	}
	return m.Out == "" || v.port != nil && linkIs(v.port, m.Out)
}

func linkIs(l *network.Link, name string) bool {
	if l == nil {
		return name == ""
	}
	if n := len(name); n > 0 && name[n-1] == '+' {
		return len(l.Name) >= n-1 && l.Name[:n-1] == name[:n-1]
	}
	return l.Name == name
}

func (v *visit) proto(m iptables.Proto) bool {
	switch m.Name {
	case "", "all":
		return true
	case "icmp", "icmpv6", "ipv6-icmp":
		return v.p.quoted != nil && (m.Name == "icmp") == !v.p.ipv6()
	case iptables.IPIP:
		return v.p.proto == ipInIP
	}
	return v.p.quoted == nil && m.Name == string(v.p.proto)
}

func (v *visit) addrType(m iptables.AddrType) (bool, error) {
	for _, c := range []struct {
		want string
		addr netip.Addr
		not  bool
	}{{m.Src, v.p.src.Addr(), m.NotSrc}, {m.Dst, v.p.dst.Addr(), false}} {
		switch {
		case c.want == "":
		case c.want != "LOCAL":
			return false, fmt.Errorf("unknown address type %q", c.want)
		case v.h.IsLocal(c.addr) == c.not:
			return false, nil
		}
	}
	return true, nil
}

// fromBridge reports whether a packet arrived on a port of a bridge whose frames go
// through iptables.
func (v *visit) fromBridge() bool {
	return v.in != nil && v.in.Type == plan.Bridge && v.h.FiltersBridged(v.p.ipv6())
}

func (v *visit) mark(m iptables.Mark) bool {
	mask := m.Mask
	if mask == 0 {
		mask = math.MaxUint32
	}
	return (v.p.mark&mask == m.Value) != m.Not
}

func (v *visit) ctState(m iptables.CTState) (bool, error) {
	hit := false
	for _, s := range m.States {
		switch s {
		case "NEW", "ESTABLISHED", "RELATED", "INVALID", "UNTRACKED":
			hit = hit || v.p.state == s
		case "DNAT":
			hit = hit || v.p.conn != nil && v.p.conn.dnat
		case "SNAT":
			hit = hit || v.p.conn != nil && v.p.conn.snat
		default:
			return false, fmt.Errorf("unknown connection state %q", s)
		}
	}
	return hit != m.Not, nil
}

func (v *visit) random(m iptables.Random) bool {
	p := m.Effective()
	if !v.r.decide(p) {
		return false
	}
	v.chance = p
	return true
}

func (v *visit) recent(m iptables.Recent) bool {
	s, src := v.r.state, v.p.src.Addr()
	if m.Set {
		s.Record(v.h.Name, m.List, src)
		return true
	}
	return s.Seen(v.h.Name, m.List, src, m.Seconds, m.Reap)
}

// all reports whether a packet meets all conditions of a rule. The kernel checks those of
// the header before the extensions, whatever order they are written in (ipt_do_table).
func (v *visit) all(r *iptables.Rule) (bool, error) {
	if r.Raw != "" && len(r.Matches) == 0 && r.Target == nil {
		return false, fmt.Errorf("rule %q is only text", r.Raw)
	}
	v.chance = 0
	for _, header := range []bool{true, false} {
		if !header && !slices.ContainsFunc(r.Matches, func(m iptables.Match) bool { return iptables.HeaderPlace(m) < 0 }) {
			break
		}
		for _, m := range r.Matches {
			if iptables.HeaderPlace(m) >= 0 != header {
				continue
			}
			if ok, err := v.matches(m); !ok || err != nil {
				return false, err
			}
		}
	}
	return true, nil
}

// matchSet looks parts of the packet up in a set. A set of the other IP family, a rule
// with fewer parts than the set has, and a packet without ports that is looked up by
// its port do not match (ip_set_test in net/netfilter/ipset/ip_set_core.c).
func (v *visit) matchSet(m iptables.MatchSet) (bool, error) {
	s := v.h.Set(m.Set)
	if s == nil {
		return false, fmt.Errorf("set %q does not exist", m.Set)
	}
	parts := strings.Split(m.Parts, ",")
	for _, part := range parts {
		if part != "src" && part != "dst" {
			return false, fmt.Errorf("set %q: unknown part %q", m.Set, part)
		}
	}
	hit, err := v.inSet(s, parts)
	return hit != m.Not, err
}

func (v *visit) inSet(s *network.Set, parts []string) (bool, error) {
	if s.Type != ipset.BitmapPort && s.IPv6 != v.p.ipv6() {
		return false, nil
	}
	end := func(i int) netip.AddrPort {
		if parts[i] == "src" {
			return v.p.src
		}
		return v.p.dst
	}
	proto := string(v.p.proto)
	ports := v.p.quoted == nil // ICMP errors have none
	switch s.Type {
	case ipset.HashIP, ipset.HashNet:
		return s.Holds(end(0).Addr(), netip.Addr{}, "", 0), nil
	case ipset.BitmapPort:
		return ports && (proto == "tcp" || proto == "udp") && s.Holds(netip.Addr{}, netip.Addr{}, "", end(0).Port()), nil
	case ipset.HashIPPort, ipset.HashNetPort:
		return ports && len(parts) >= 2 && s.Holds(end(0).Addr(), netip.Addr{}, proto, end(1).Port()), nil
	case ipset.HashIPPortIP, ipset.HashIPPortNet:
		return ports && len(parts) >= 3 && s.Holds(end(0).Addr(), end(2).Addr(), proto, end(1).Port()), nil
	}
	return false, fmt.Errorf("set %q: unknown type %q", s.Name, s.Type)
}
