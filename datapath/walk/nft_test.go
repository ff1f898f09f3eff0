package walk_test

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/netlab/netlab/datapath/flow"
	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/datapath/plan/iptables"
	"github.com/netlab/netlab/datapath/plan/nft"
	"github.com/netlab/netlab/datapath/walk"
	"github.com/netlab/netlab/datapath/walk/render"
)

// inTable appends rules to a chain of table inet try in a namespace, and returns the
// table. base names base chains after their type, hook and priority.
func inTable(n *plan.Netns, chain nft.Chain, list ...[]nft.Expr) *nft.Table {
	if len(n.NFT) == 0 {
		n.NFT = []nft.Table{{Family: "inet", Name: "try"}}
	}
	t := &n.NFT[0]
	i := slices.IndexFunc(t.Chains, func(c nft.Chain) bool { return c.Name == chain.Name })
	if i < 0 {
		i = len(t.Chains)
		t.Chains = append(t.Chains, chain)
	}
	for _, exprs := range list {
		t.Chains[i].Rules = append(t.Chains[i].Rules, nft.Rule{Exprs: exprs})
	}
	return t
}

func base(kind, hook string, priority int) nft.Chain {
	return nft.Chain{Name: "my-" + kind + "-" + hook, Type: kind, Hook: hook, Priority: priority, Policy: "accept"}
}

// atForward is a filter chain before that of iptables on the router.
func atForward(list ...[]nft.Expr) func(a, r, b *plan.Netns) {
	return func(_, r, _ *plan.Netns) { inTable(r, base("filter", "forward", -1), list...) }
}

func exprs(list ...nft.Expr) []nft.Expr { return list }

func is(f nft.Field, v nft.Value) nft.Expr { return nft.Match{Field: f, Value: v} }

func isNot(f nft.Field, v nft.Value) nft.Expr {
	return nft.Match{Field: f, Not: true, Value: v}
}

func address(s string) nft.Value { return nft.Addr(netip.MustParseAddr(s)) }

func block(s string) nft.Value { return nft.Prefix(netip.MustParsePrefix(s)) }

// filled adds a set to the table of the router.
func filled(s nft.Set, keys ...[]nft.Value) func(r *plan.Netns) {
	return func(r *plan.Netns) {
		for _, k := range keys {
			s.Elements = append(s.Elements, nft.Element{Key: k})
		}
		t := inTable(r, base("filter", "forward", -1))
		t.Sets = append(t.Sets, s)
	}
}

func both(set func(r *plan.Netns), rules func(a, r, b *plan.Netns)) func(a, r, b *plan.Netns) {
	return func(a, r, b *plan.Netns) { set(r); rules(a, r, b) }
}

var (
	nftDrop   = nft.Verdict{Kind: "drop"}
	nftAccept = nft.Verdict{Kind: "accept"}
	nftReturn = nft.Verdict{Kind: "return"}
)

// nftRows test nf_tables, mostly on the router.
func nftRows() []row {
	return slices.Concat(nftMatchRows(), nftSetRows(), nftVerdictRows(), nftNATRows())
}

func nftMatchRows() []row {
	tcp := is(nft.L4Proto, nft.Protocol("tcp"))
	number, ports := nft.Number, nft.Range
	state := func(s ...string) nft.Expr { return nft.CTState{States: s} }
	marked := nft.Match{Field: nft.MetaMark, Mask: 0xf, Value: number(5)}
	own := func(list ...[]nft.Expr) func(a, r, b *plan.Netns) {
		return func(a, _, _ *plan.Netns) { inTable(a, base("filter", "input", 0), list...) }
	}
	onLoad := func(mark nft.SetMark, field nft.Field, want uint32) func(a, r, b *plan.Netns) {
		return func(_, r, _ *plan.Netns) {
			inTable(r, base("filter", "prerouting", -150), exprs(nft.SetMark{Xor: 0xff}), exprs(nft.SetMark{CT: true, Xor: 0xff}), exprs(mark))
			inTable(r, base("filter", "forward", 0), exprs(state("new"), isNot(field, number(want)), nftDrop))
		}
	}
	return []row{
		{name: "nft: drop", change: atForward(exprs(nftDrop)), want: "timeout"},
		{name: "nft: outgoing datagram dropped", proto: flow.UDP, change: func(a, _, _ *plan.Netns) { inTable(a, base("filter", "output", 0), exprs(nftDrop)) }, want: "timeout"},
		{name: "nft: source", change: atForward(exprs(is(nft.IPSrc, address("10.0.1.2")), nftDrop)), want: "timeout"},
		{name: "nft: another source", change: atForward(exprs(is(nft.IPSrc, address("10.0.1.3")), nftDrop)), want: "b from a"},
		{name: "nft: not a block", change: atForward(exprs(isNot(nft.IPDst, block("10.0.2.0/30")), is(nft.IPSrc, block("10.0.1.0/24")), nftDrop)), want: "b from a"},
		{name: "nft: a block", change: atForward(exprs(is(nft.IPDst, block("10.0.2.0/30")), nftDrop)), want: "timeout"},
		{name: "nft: the other family", change: atForward(exprs(is(nft.IP6Src, block("::/1")), nftDrop), exprs(is(nft.FamilyOf, number(10)), nftDrop)), want: "b from a"},
		{name: "nft: the family", change: atForward(exprs(is(nft.FamilyOf, number(2)), nftDrop)), want: "timeout"},
		{name: "nft: port", change: atForward(exprs(tcp, is(nft.DPort, number(80)), nftDrop)), want: "timeout"},
		{name: "nft: range of ports", change: atForward(exprs(tcp, is(nft.DPort, ports(79, 80)), nftDrop)), want: "timeout"},
		{name: "nft: another range of ports", change: atForward(exprs(tcp, is(nft.DPort, ports(81, 90)), nftDrop)), want: "b from a"},
		{name: "nft: not a range of ports", change: atForward(exprs(tcp, state("new"), isNot(nft.DPort, ports(80, 81)), nftDrop)), want: "b from a"},
		{name: "nft: port of the reply", change: atForward(exprs(tcp, is(nft.SPort, number(80)), nftDrop)), want: "timeout"},
		{name: "nft: protocol", change: atForward(exprs(tcp, nftDrop)), proto: flow.UDP, want: "b from a"},
		{name: "nft: links", change: atForward(exprs(is(nft.IIfName, nft.Name("a")), is(nft.OIfName, nft.Name("b*")), nftDrop)), want: "timeout"},
		{name: "nft: another link", change: atForward(exprs(state("new"), isNot(nft.IIfName, nft.Name("a")), nftDrop)), want: "b from a"},
		{name: "nft: answers", change: atForward(exprs(state("established"), nftDrop)), want: "timeout"},
		{name: "nft: only replies accepted", change: own(exprs(state("established", "related"), nftAccept), exprs(nftDrop)), want: "b from a"},
		{name: "nft: errors are related", to: "10.0.2.2:81", proto: flow.UDP, change: own(exprs(state("related"), nftAccept), exprs(nftDrop)), want: "refused"},
		{name: "nft: ICMP type", to: "10.0.2.2:81", proto: flow.UDP, change: own(exprs(is(nft.ICMPType, number(3)), nftDrop)), want: "timeout"},
		{name: "nft: ICMP protocol", to: "10.0.2.2:81", proto: flow.UDP, change: own(exprs(is(nft.L4Proto, nft.Protocol("icmp")), nftDrop)), want: "timeout"},
		{name: "nft: another ICMP type", to: "10.0.2.2:81", proto: flow.UDP, change: own(exprs(is(nft.ICMPType, ports(4, 11)), nftDrop), exprs(is(nft.ICMPv6Type, number(3)), nftDrop)), want: "refused"},
		{name: "nft: sources that are not local", change: atForward(exprs(is(nft.FibSrcType, number(nft.Local)), nftDrop)), want: "b from a"},
		{name: "nft: to the node itself", to: "10.0.1.1:80", change: func(_, r, _ *plan.Netns) {
			inTable(r, base("filter", "prerouting", -300), exprs(is(nft.FibDstType, number(nft.Local)), nftDrop))
		}, want: "timeout"},
		{name: "nft: marks persist between hooks", change: func(_, r, _ *plan.Netns) {
			inTable(r, base("filter", "prerouting", -150), exprs(nft.SetMark{Xor: 0x15}))
			inTable(r, base("filter", "forward", 0), exprs(marked, nftDrop))
		}, want: "timeout"},
		{name: "nft: marks and iptables", change: func(_, r, _ *plan.Netns) {
			inTable(r, base("filter", "prerouting", -300), exprs(nft.OrMark(4)))
			rules(r, "mangle", "PREROUTING", rule(iptables.OrMark{Bits: 1}))
			inTable(r, base("filter", "forward", 0), exprs(marked, nftDrop))
		}, want: "timeout"},
		{name: "nft: bits of a mark cleared", change: onLoad(nft.SetMark{And: 0xf}, nft.MetaMark, 0xf), want: "b from a"},
		{name: "nft: bits of a mark flipped", change: onLoad(nft.SetMark{And: ^uint32(0), Xor: 0xf}, nft.MetaMark, 0xf0), want: "b from a"},
		{name: "nft: bits of a mark cleared and set", change: onLoad(nft.SetMark{And: 0xf, Xor: 0x100}, nft.MetaMark, 0x10f), want: "b from a"},
		{name: "nft: bits of a connection's mark", change: onLoad(nft.SetMark{CT: true, And: 0xf, Xor: 0x100}, nft.CTMark, 0x10f), want: "b from a"},
		{name: "nft: replies have the connection's mark", change: func(_, r, _ *plan.Netns) {
			inTable(r, base("filter", "forward", 0), exprs(is(nft.IPSrc, address("10.0.1.2")), nft.SetMark{CT: true, Xor: 7}),
				exprs(is(nft.IPSrc, address("10.0.2.2")), is(nft.CTMark, number(7)), nftDrop))
		}, want: "timeout"},
		{name: "nft: at random", change: atForward(exprs(state("new"), is(nft.Random(2), number(1)), nft.Reject{With: "icmpx host-unreachable"})), proto: flow.UDP, want: "b from a, unreachable"},
		{name: "nft: a counter", change: atForward(exprs(nft.Counter{}, nftDrop)), want: "timeout"},
		{name: "nft: untracked", change: func(_, r, _ *plan.Netns) {
			inTable(r, base("filter", "prerouting", -300), exprs(nft.NoTrack{}))
			inTable(r, base("filter", "forward", 0), exprs(state("untracked"), nftDrop))
		}, want: "timeout"},
	}
}

func nftSetRows() []row {
	ipv4, proto, port := nft.IPv4, nft.Proto, nft.Port
	single := nft.Set{Name: "s", Key: []nft.Type{ipv4}}
	blocks := nft.Set{Name: "s", Key: []nft.Type{ipv4}, Interval: true}
	three := nft.Set{Name: "s", Key: []nft.Type{ipv4, proto, port}}
	ranges := nft.Set{Name: "s", Key: []nft.Type{proto, port}, Interval: true}
	fields := func(list ...nft.Field) []nft.Field { return list }
	dropIn := func(not bool, list ...nft.Field) func(a, r, b *plan.Netns) {
		return atForward(exprs(nft.CTState{States: []string{"new"}}, nft.Lookup{Fields: list, Set: "s", Not: not}, nftDrop))
	}
	key := func(v ...nft.Value) []nft.Value { return v }
	tcp, udp, eighty := nft.Protocol("tcp"), nft.Protocol("udp"), nft.Number(80)
	to := fields(nft.IPDst, nft.L4Proto, nft.DPort)
	service := fields(nft.L4Proto, nft.DPort)
	verdicts := func(elements map[string]nft.Verdict, list ...[]nft.Expr) func(a, r, b *plan.Netns) {
		return func(a, r, b *plan.Netns) {
			s := nft.Set{Name: "v", Key: []nft.Type{ipv4}, Data: []nft.Type{nft.VerdictData}}
			for k, v := range elements {
				s.Elements = append(s.Elements, nft.Element{Key: key(address(k)), Verdict: v})
			}
			t := inTable(r, nft.Chain{Name: "own"}, exprs(nft.Reject{With: "icmpx port-unreachable"}))
			t.Sets = append(t.Sets, s)
			atForward(list...)(a, r, b)
		}
	}
	vmap := nft.VMap{Fields: fields(nft.IPDst), Map: "v"}
	return []row{
		{name: "nft: an element", change: both(filled(single, key(address("10.0.1.2"))), dropIn(false, nft.IPSrc)), want: "timeout"},
		{name: "nft: no element", change: both(filled(single, key(address("10.0.1.3"))), dropIn(false, nft.IPSrc)), want: "b from a"},
		{name: "nft: no element, negated", change: both(filled(single, key(address("10.0.1.3"))), dropIn(true, nft.IPSrc)), want: "timeout"},
		{name: "nft: in a block", change: both(filled(blocks, key(block("10.0.0.0/24")), key(block("10.0.1.0/24"))), dropIn(false, nft.IPSrc)), want: "timeout"},
		{name: "nft: between blocks", change: both(filled(blocks, key(block("10.0.0.0/24")), key(block("10.0.2.0/24"))), dropIn(false, nft.IPSrc)), want: "b from a"},
		{name: "nft: address, protocol and port", change: both(filled(three, key(address("10.0.2.2"), tcp, eighty)), dropIn(false, to...)), want: "timeout"},
		{name: "nft: another protocol", change: both(filled(three, key(address("10.0.2.2"), udp, eighty)), dropIn(false, to...)), want: "b from a"},
		{name: "nft: in a rule's own set", change: atForward(exprs(nft.Lookup{Fields: fields(nft.IPSrc), Elements: []nft.Element{{Key: key(block("10.0.1.0/24"))}, {Key: key(address("10.0.3.1"))}}}, nftDrop)), want: "timeout"},
		{name: "nft: not in a rule's own set", change: atForward(exprs(nft.CTState{States: []string{"new"}}, nft.Lookup{Fields: fields(nft.IPSrc), Not: true, Elements: []nft.Element{{Key: key(block("10.0.1.0/30"))}, {Key: key(address("10.0.3.1"))}}}, nftDrop)), want: "b from a"},
		{name: "nft: a rule's own map", change: func(a, r, b *plan.Netns) {
			inTable(r, nft.Chain{Name: "own"}, exprs(nft.Reject{With: "icmpx port-unreachable"}))
			atForward(exprs(nft.VMap{Fields: fields(nft.Random(1)), Elements: []nft.Element{{Key: key(nft.Number(0)), Verdict: nft.Goto("own")}}}))(a, r, b)
		}, want: "refused"},
		{name: "nft: added to a set by a rule", change: func(_, r, _ *plan.Netns) {
			t := inTable(r, base("filter", "prerouting", -150), exprs(nft.Update{Fields: fields(nft.IPSrc), Set: "kept"}))
			t.Sets = append(t.Sets, nft.Set{Name: "kept", Key: []nft.Type{ipv4}, Timeout: 60})
			inTable(r, base("filter", "forward", 0), exprs(nft.Lookup{Fields: fields(nft.IPSrc), Set: "kept"}, nftDrop))
		}, want: "timeout"},
		{name: "nft: not added to a set by a rule", change: func(_, r, _ *plan.Netns) {
			t := inTable(r, base("filter", "prerouting", -150), exprs(is(nft.IPSrc, address("10.0.9.9")), nft.Update{Fields: fields(nft.IPSrc), Set: "kept"}))
			t.Sets = append(t.Sets, nft.Set{Name: "kept", Key: []nft.Type{ipv4}, Timeout: 60})
			inTable(r, base("filter", "forward", 0), exprs(nft.Lookup{Fields: fields(nft.IPSrc), Set: "kept"}, nftDrop))
		}, want: "b from a"},
		{name: "nft: one of several ranges", change: both(filled(ranges, key(tcp, nft.Range(70, 90)), key(tcp, nft.Number(443)), key(udp, nft.Range(0, 65535))), dropIn(false, service...)), want: "timeout"},
		{name: "nft: outside several ranges", change: both(filled(ranges, key(tcp, nft.Range(81, 90)), key(udp, nft.Range(0, 65535))), dropIn(false, service...)), want: "b from a"},
		{name: "nft: the range of another protocol", proto: flow.UDP, change: both(filled(ranges, key(tcp, nft.Range(81, 90)), key(udp, nft.Range(0, 65535))), dropIn(false, service...)), want: "timeout"},
		{name: "nft: a verdict", change: verdicts(map[string]nft.Verdict{"10.0.2.2": nftDrop}, exprs(vmap)), want: "timeout"},
		{name: "nft: a jump verdict", change: verdicts(map[string]nft.Verdict{"10.0.2.2": nft.Jump("own"), "10.0.2.3": nftDrop}, exprs(vmap)), want: "refused"},
		{name: "nft: no verdict", change: verdicts(map[string]nft.Verdict{"10.0.2.3": nftDrop}, exprs(vmap), exprs(nft.Reject{With: "icmpx admin-prohibited"})), want: "unreachable"},
	}
}

func nftVerdictRows() []row {
	own := nft.Chain{Name: "own"}
	refuse := nft.Reject{With: "icmpx port-unreachable"}
	tcp := is(nft.L4Proto, nft.Protocol("tcp"))
	return []row{
		{name: "nft: accept ends one base chain", change: func(_, r, _ *plan.Netns) {
			inTable(r, base("filter", "forward", -1), exprs(nftAccept))
			rules(r, "filter", "FORWARD", rule(iptables.Reject{}))
		}, want: "refused"},
		{name: "nft: iptables accepts, nft drops", change: func(_, r, _ *plan.Netns) {
			rules(r, "filter", "FORWARD", rule(iptables.Accept{}))
			inTable(r, base("filter", "forward", 1), exprs(nftDrop))
		}, want: "timeout"},
		{name: "nft: drop is final", change: func(_, r, _ *plan.Netns) {
			inTable(r, base("filter", "forward", -1), exprs(nftDrop))
			rules(r, "filter", "FORWARD", rule(iptables.Reject{}))
		}, want: "timeout"},
		{name: "nft: the first to reject answers", change: func(_, r, _ *plan.Netns) {
			inTable(r, base("filter", "forward", 1), exprs(nftDrop))
			rules(r, "filter", "FORWARD", rule(iptables.Reject{}))
		}, want: "refused"},
		{name: "nft: between mangle and filter", change: func(_, r, _ *plan.Netns) {
			rules(r, "mangle", "FORWARD", rule(iptables.OrMark{Bits: 1}))
			inTable(r, base("filter", "forward", -100), exprs(is(nft.MetaMark, nft.Number(1)), nftDrop))
			rules(r, "filter", "FORWARD", rule(iptables.Reject{}))
		}, want: "timeout"},
		{name: "nft: a policy", change: func(_, r, _ *plan.Netns) {
			c := base("filter", "forward", 0)
			c.Policy = "drop"
			inTable(r, c, exprs(is(nft.IPSrc, address("10.0.1.3")), nftAccept))
		}, want: "timeout"},
		{name: "nft: jump and return", change: func(_, r, _ *plan.Netns) {
			inTable(r, own, exprs(nftReturn), exprs(nftDrop))
			inTable(r, base("filter", "forward", 0), exprs(nft.Jump("own")), exprs(refuse))
		}, want: "refused"},
		{name: "nft: goto does not return", change: func(_, r, _ *plan.Netns) {
			inTable(r, own, exprs(tcp, nftReturn), exprs(nftDrop))
			inTable(r, base("filter", "forward", 0), exprs(nft.Goto("own")), exprs(refuse))
		}, want: "b from a"},
		{name: "nft: goto inside a jumped-to chain", change: func(_, r, _ *plan.Netns) {
			inTable(r, nft.Chain{Name: "other"}, exprs(nftReturn))
			inTable(r, own, exprs(nft.Goto("other")), exprs(nftDrop))
			inTable(r, base("filter", "forward", 0), exprs(nft.Jump("own")), exprs(refuse))
		}, want: "refused"},
		{name: "nft: continue", change: atForward(exprs(nft.Verdict{Kind: "continue"}), exprs(nftDrop)), want: "timeout"},
		{name: "nft: reject", change: atForward(exprs(refuse)), want: "refused"},
		{name: "nft: reject of datagrams", proto: flow.UDP, change: atForward(exprs(refuse)), want: "refused"},
		{name: "nft: reset", change: atForward(exprs(tcp, nft.Reject{With: "tcp reset"})), want: "refused"},
		{name: "nft: no route", change: atForward(exprs(nft.Reject{With: "icmpx no-route"})), want: "unreachable"},
		{name: "nft: bridged packets", change: func(a, r, b *plan.Netns) {
			bridged(iptables.InIf{Name: "none"})(a, r, b)
			inTable(r, base("filter", "forward", -1), exprs(is(nft.IPDst, address("10.0.1.3")), nftDrop))
		}, to: "10.0.1.3:80", want: "timeout"},
		{name: "nft: bridged packets bypassing the hooks", change: func(a, r, b *plan.Netns) {
			bridged(iptables.InIf{Name: "none"})(a, r, b)
			r.Sysctls = slices.DeleteFunc(r.Sysctls, func(s plan.Sysctl) bool { return s.Key == "net.bridge.bridge-nf-call-iptables" })
			setSysctl(r, "net.bridge.bridge-nf-call-iptables", "0")
			inTable(r, base("filter", "forward", -1), exprs(is(nft.IPDst, address("10.0.1.3")), nftDrop))
		}, to: "10.0.1.3:80", want: "b from a"},
		{name: "nft: bridged packets rejected", change: func(a, r, b *plan.Netns) {
			bridged(iptables.InIf{Name: "none"})(a, r, b)
			inTable(r, base("filter", "forward", -1), exprs(tcp, nft.Reject{With: "tcp reset"}))
		}, to: "10.0.1.3:80", want: "refused"},
	}
}

func nftNATRows() []row {
	tcp := is(nft.L4Proto, nft.Protocol("tcp"))
	vip := is(nft.IPDst, address("10.9.9.9"))
	toB := nft.DNAT{To: address("10.0.2.2"), Port: 80}
	to := []nft.Field{nft.IPDst, nft.L4Proto, nft.DPort}
	pre, post, out := base("nat", "prerouting", -100), base("nat", "postrouting", 100), base("nat", "output", -100)
	dnat := func(r *plan.Netns) { inTable(r, pre, exprs(vip, tcp, toB)) }
	status := func(s string) nft.Expr { return nft.CTStatus{Status: []string{s}} }
	return []row{
		{name: "nft: DNAT", change: func(_, r, _ *plan.Netns) { dnat(r) }, to: "10.9.9.9:81", want: "b from a"},
		{name: "nft: DNAT of the address alone", change: func(_, r, _ *plan.Netns) {
			inTable(r, pre, exprs(vip, nft.DNAT{To: address("10.0.2.2")}))
		}, to: "10.9.9.9:80", want: "b from a"},
		{name: "nft: DNAT by a map", change: func(_, r, _ *plan.Netns) {
			t := inTable(r, pre, exprs(nft.DNAT{Fields: to, Map: "m"}))
			t.Sets = append(t.Sets, nft.Set{Name: "m", Key: []nft.Type{nft.IPv4, nft.Proto, nft.Port},
				Data: []nft.Type{nft.IPv4, nft.Port}, Elements: []nft.Element{{
					Key:  []nft.Value{address("10.9.9.9"), nft.Protocol("tcp"), nft.Number(81)},
					Data: []nft.Value{address("10.0.2.2"), nft.Number(80)}}}})
		}, to: "10.9.9.9:81", want: "b from a"},
		{name: "nft: DNAT of local packets", change: func(a, _, _ *plan.Netns) { inTable(a, out, exprs(vip, tcp, toB)) }, to: "10.9.9.9:81", want: "b from a"},
		{name: "nft: DNAT of local packets to another link", from: "node.r", change: func(_, r, _ *plan.Netns) {
			r.Routes = append(r.Routes, plan.Route{To: netip.MustParsePrefix("10.9.9.9/32"), Via: netip.MustParseAddr("10.0.1.2"), Dev: "a"})
			inTable(r, out, exprs(vip, tcp, toB))
			inTable(r, post, exprs(nft.Masquerade{}))
		}, to: "10.9.9.9:81", want: "b from 10.0.2.1"},
		{name: "nft: masquerade", change: func(_, r, _ *plan.Netns) { inTable(r, post, exprs(nft.Masquerade{FullyRandom: true})) }, want: "b from 10.0.2.1"},
		{name: "nft: DNAT and masquerade", change: func(_, r, _ *plan.Netns) {
			dnat(r)
			inTable(r, post, exprs(status("dnat"), nft.Masquerade{}))
		}, to: "10.9.9.9:81", want: "b from 10.0.2.1"},
		{name: "nft: DNAT, seen by filters", change: func(_, r, _ *plan.Netns) {
			dnat(r)
			inTable(r, base("filter", "forward", 0), exprs(status("dnat"), nft.CTState{States: []string{"new"}}, is(nft.OrigDst, address("10.9.9.9")), tcp, is(nft.OrigDPort, nft.Number(81)), nft.Reject{With: "icmpx admin-prohibited"}))
		}, to: "10.9.9.9:81", want: "unreachable"},
		{name: "nft: without NAT there is no status", change: atForward(exprs(nft.CTStatus{Status: []string{"dnat", "snat"}}, nftDrop)), want: "b from a"},
		{name: "nft: before DNAT", change: func(_, r, _ *plan.Netns) {
			dnat(r)
			inTable(r, base("filter", "prerouting", -110), exprs(vip, nftDrop))
		}, to: "10.9.9.9:81", want: "timeout"},
		{name: "nft: after DNAT", change: func(_, r, _ *plan.Netns) {
			dnat(r)
			inTable(r, base("filter", "prerouting", -90), exprs(vip, nftDrop))
		}, to: "10.9.9.9:81", want: "b from a"},
		{name: "nft: iptables' NAT goes first, by priority", change: func(_, r, _ *plan.Netns) {
			rules(r, "nat", "PREROUTING", rule(iptables.DNAT{To: addrPort("10.0.2.2:80")}, iptables.Dst{Prefix: netip.MustParsePrefix("10.9.9.9/32")}, iptables.Proto{Name: "tcp"}))
			inTable(r, base("nat", "prerouting", -90), exprs(vip, tcp, nft.DNAT{To: address("10.0.2.77"), Port: 80}))
		}, to: "10.9.9.9:81", want: "b from a"},
		{name: "nft: iptables' NAT goes second, by priority", change: func(_, r, _ *plan.Netns) {
			rules(r, "nat", "PREROUTING", rule(iptables.DNAT{To: addrPort("10.0.2.77:80")}, iptables.Dst{Prefix: netip.MustParsePrefix("10.9.9.9/32")}, iptables.Proto{Name: "tcp"}))
			inTable(r, base("nat", "prerouting", -110), exprs(vip, tcp, toB))
		}, to: "10.9.9.9:81", want: "b from a"},
		{name: "nft: iptables translates what nft does not", change: func(_, r, _ *plan.Netns) {
			rules(r, "nat", "PREROUTING", rule(iptables.DNAT{To: addrPort("10.0.2.2:80")}, iptables.Dst{Prefix: netip.MustParsePrefix("10.9.9.9/32")}, iptables.Proto{Name: "tcp"}))
			inTable(r, base("nat", "prerouting", -110), exprs(nftAccept))
		}, to: "10.9.9.9:81", want: "b from a"},
	}
}

func TestNFTRows(t *testing.T) {
	for _, r := range nftRows() {
		t.Run(r.name, r.check)
	}
}

func TestRulesOfNFTablesAreShown(t *testing.T) {
	r := row{change: atForward(exprs(is(nft.L4Proto, nft.Protocol("tcp")), nft.Reject{With: "tcp reset"}))}
	const want = "forward #1 meta l4proto tcp reject with tcp reset"
	if got := render.Text(walk.New(r.plan()).Walk(r.flow()), render.Brief); !strings.Contains(got, want) {
		t.Errorf("no %q in\n%s", want, got)
	}
}
