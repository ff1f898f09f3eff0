package walk_test

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/netlab/netlab/datapath/flow"
	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/datapath/walk"
)

// nft appends rules to a chain of the table inet try of a namespace, and returns the
// table. Base chains are named after their type, hook and priority by base.
func nft(n *plan.Netns, chain plan.NFTChain, list ...[]plan.NFTExpr) *plan.NFTTable {
	if len(n.NFT) == 0 {
		n.NFT = []plan.NFTTable{{Family: "inet", Name: "try"}}
	}
	t := &n.NFT[0]
	i := slices.IndexFunc(t.Chains, func(c plan.NFTChain) bool { return c.Name == chain.Name })
	if i < 0 {
		i = len(t.Chains)
		t.Chains = append(t.Chains, chain)
	}
	for _, exprs := range list {
		t.Chains[i].Rules = append(t.Chains[i].Rules, plan.NFTRule{Exprs: exprs})
	}
	return t
}

func base(kind, hook string, priority int) plan.NFTChain {
	return plan.NFTChain{Name: "my-" + kind + "-" + hook, Type: kind, Hook: hook, Priority: priority, Policy: "accept"}
}

// atForward is a filter chain before that of iptables on the router.
func atForward(list ...[]plan.NFTExpr) func(a, r, b *plan.Netns) {
	return func(_, r, _ *plan.Netns) { nft(r, base("filter", "forward", -1), list...) }
}

func exprs(list ...plan.NFTExpr) []plan.NFTExpr { return list }

func is(f plan.NFTField, v plan.NFTValue) plan.NFTExpr { return plan.NFTMatch{Field: f, Value: v} }

func isNot(f plan.NFTField, v plan.NFTValue) plan.NFTExpr {
	return plan.NFTMatch{Field: f, Not: true, Value: v}
}

func address(s string) plan.NFTValue { return plan.NFTAddr(netip.MustParseAddr(s)) }

func block(s string) plan.NFTValue { return plan.NFTPrefix(netip.MustParsePrefix(s)) }

// filled adds a set to the table of the router.
func filled(s plan.NFTSet, keys ...[]plan.NFTValue) func(r *plan.Netns) {
	return func(r *plan.Netns) {
		for _, k := range keys {
			s.Elements = append(s.Elements, plan.NFTElement{Key: k})
		}
		t := nft(r, base("filter", "forward", -1))
		t.Sets = append(t.Sets, s)
	}
}

func both(set func(r *plan.Netns), rules func(a, r, b *plan.Netns)) func(a, r, b *plan.Netns) {
	return func(a, r, b *plan.Netns) { set(r); rules(a, r, b) }
}

var (
	nftDrop   = plan.NFTVerdict{Kind: "drop"}
	nftAccept = plan.NFTVerdict{Kind: "accept"}
	nftReturn = plan.NFTVerdict{Kind: "return"}
)

// nftRows are about nf_tables, mostly on the router.
func nftRows() []row {
	return slices.Concat(nftMatchRows(), nftSetRows(), nftVerdictRows(), nftNATRows())
}

func nftMatchRows() []row {
	tcp := is(plan.NFTL4Proto, plan.NFTProtocol("tcp"))
	number, ports := plan.NFTNumber, plan.NFTRange
	state := func(s ...string) plan.NFTExpr { return plan.NFTCTState{States: s} }
	marked := plan.NFTMatch{Field: plan.NFTMetaMark, Mask: 0xf, Value: number(5)}
	own := func(list ...[]plan.NFTExpr) func(a, r, b *plan.Netns) {
		return func(a, _, _ *plan.Netns) { nft(a, base("filter", "input", 0), list...) }
	}
	onLoad := func(mark plan.NFTSetMark, field plan.NFTField, want uint32) func(a, r, b *plan.Netns) {
		return func(_, r, _ *plan.Netns) {
			nft(r, base("filter", "prerouting", -150), exprs(plan.NFTSetMark{Xor: 0xff}), exprs(plan.NFTSetMark{CT: true, Xor: 0xff}), exprs(mark))
			nft(r, base("filter", "forward", 0), exprs(state("new"), isNot(field, number(want)), nftDrop))
		}
	}
	return []row{
		{name: "nft: drop", change: atForward(exprs(nftDrop)), want: "timeout"},
		{name: "nft: drop of a datagram on the way out", proto: flow.UDP, change: func(a, _, _ *plan.Netns) { nft(a, base("filter", "output", 0), exprs(nftDrop)) }, want: "unreachable"},
		{name: "nft: source", change: atForward(exprs(is(plan.NFTIPSrc, address("10.0.1.2")), nftDrop)), want: "timeout"},
		{name: "nft: another source", change: atForward(exprs(is(plan.NFTIPSrc, address("10.0.1.3")), nftDrop)), want: "b from a"},
		{name: "nft: not a block", change: atForward(exprs(isNot(plan.NFTIPDst, block("10.0.2.0/30")), is(plan.NFTIPSrc, block("10.0.1.0/24")), nftDrop)), want: "b from a"},
		{name: "nft: a block", change: atForward(exprs(is(plan.NFTIPDst, block("10.0.2.0/30")), nftDrop)), want: "timeout"},
		{name: "nft: the other family", change: atForward(exprs(is(plan.NFTIP6Src, block("::/1")), nftDrop), exprs(is(plan.NFTFamilyOf, number(10)), nftDrop)), want: "b from a"},
		{name: "nft: the family", change: atForward(exprs(is(plan.NFTFamilyOf, number(2)), nftDrop)), want: "timeout"},
		{name: "nft: port", change: atForward(exprs(tcp, is(plan.NFTDPort, number(80)), nftDrop)), want: "timeout"},
		{name: "nft: range of ports", change: atForward(exprs(tcp, is(plan.NFTDPort, ports(79, 80)), nftDrop)), want: "timeout"},
		{name: "nft: another range of ports", change: atForward(exprs(tcp, is(plan.NFTDPort, ports(81, 90)), nftDrop)), want: "b from a"},
		{name: "nft: not a range of ports", change: atForward(exprs(tcp, state("new"), isNot(plan.NFTDPort, ports(80, 81)), nftDrop)), want: "b from a"},
		{name: "nft: port of the answer", change: atForward(exprs(tcp, is(plan.NFTSPort, number(80)), nftDrop)), want: "timeout"},
		{name: "nft: protocol", change: atForward(exprs(tcp, nftDrop)), proto: flow.UDP, want: "b from a"},
		{name: "nft: links", change: atForward(exprs(is(plan.NFTIIfName, plan.NFTName("a")), is(plan.NFTOIfName, plan.NFTName("b*")), nftDrop)), want: "timeout"},
		{name: "nft: another link", change: atForward(exprs(state("new"), isNot(plan.NFTIIfName, plan.NFTName("a")), nftDrop)), want: "b from a"},
		{name: "nft: answers", change: atForward(exprs(state("established"), nftDrop)), want: "timeout"},
		{name: "nft: only answers get in", change: own(exprs(state("established", "related"), nftAccept), exprs(nftDrop)), want: "b from a"},
		{name: "nft: errors are related", to: "10.0.2.2:81", proto: flow.UDP, change: own(exprs(state("related"), nftAccept), exprs(nftDrop)), want: "refused"},
		{name: "nft: ICMP type", to: "10.0.2.2:81", proto: flow.UDP, change: own(exprs(is(plan.NFTICMPType, number(3)), nftDrop)), want: "timeout"},
		{name: "nft: ICMP protocol", to: "10.0.2.2:81", proto: flow.UDP, change: own(exprs(is(plan.NFTL4Proto, plan.NFTProtocol("icmp")), nftDrop)), want: "timeout"},
		{name: "nft: another ICMP type", to: "10.0.2.2:81", proto: flow.UDP, change: own(exprs(is(plan.NFTICMPType, ports(4, 11)), nftDrop), exprs(is(plan.NFTICMPv6Type, number(3)), nftDrop)), want: "refused"},
		{name: "nft: sources that are not the node's", change: atForward(exprs(is(plan.NFTFibSrcType, number(plan.NFTLocal)), nftDrop)), want: "b from a"},
		{name: "nft: to the node itself", to: "10.0.1.1:80", change: func(_, r, _ *plan.Netns) {
			nft(r, base("filter", "prerouting", -300), exprs(is(plan.NFTFibDstType, number(plan.NFTLocal)), nftDrop))
		}, want: "timeout"},
		{name: "nft: marks go from hook to hook", change: func(_, r, _ *plan.Netns) {
			nft(r, base("filter", "prerouting", -150), exprs(plan.NFTSetMark{Xor: 0x15}))
			nft(r, base("filter", "forward", 0), exprs(marked, nftDrop))
		}, want: "timeout"},
		{name: "nft: marks and iptables", change: func(_, r, _ *plan.Netns) {
			nft(r, base("filter", "prerouting", -300), exprs(plan.NFTOrMark(4)))
			rules(r, "mangle", "PREROUTING", rule(plan.OrMark{Bits: 1}))
			nft(r, base("filter", "forward", 0), exprs(marked, nftDrop))
		}, want: "timeout"},
		{name: "nft: bits of a mark go", change: onLoad(plan.NFTSetMark{And: 0xf}, plan.NFTMetaMark, 0xf), want: "b from a"},
		{name: "nft: bits of a mark turn", change: onLoad(plan.NFTSetMark{And: ^uint32(0), Xor: 0xf}, plan.NFTMetaMark, 0xf0), want: "b from a"},
		{name: "nft: bits of a mark go and come", change: onLoad(plan.NFTSetMark{And: 0xf, Xor: 0x100}, plan.NFTMetaMark, 0x10f), want: "b from a"},
		{name: "nft: bits of a connection's mark", change: onLoad(plan.NFTSetMark{CT: true, And: 0xf, Xor: 0x100}, plan.NFTCTMark, 0x10f), want: "b from a"},
		{name: "nft: answers know the connection's mark", change: func(_, r, _ *plan.Netns) {
			nft(r, base("filter", "forward", 0), exprs(is(plan.NFTIPSrc, address("10.0.1.2")), plan.NFTSetMark{CT: true, Xor: 7}),
				exprs(is(plan.NFTIPSrc, address("10.0.2.2")), is(plan.NFTCTMark, number(7)), nftDrop))
		}, want: "timeout"},
		{name: "nft: by chance", change: atForward(exprs(state("new"), is(plan.NFTRandom(2), number(1)), plan.NFTReject{With: "icmpx host-unreachable"})), proto: flow.UDP, want: "b from a, unreachable"},
		{name: "nft: a counter", change: atForward(exprs(plan.NFTCounter{}, nftDrop)), want: "timeout"},
		{name: "nft: untracked", change: func(_, r, _ *plan.Netns) {
			nft(r, base("filter", "prerouting", -300), exprs(plan.NFTNoTrack{}))
			nft(r, base("filter", "forward", 0), exprs(state("untracked"), nftDrop))
		}, want: "timeout"},
	}
}

func nftSetRows() []row {
	ipv4, proto, port := plan.NFTIPv4, plan.NFTProto, plan.NFTPort
	single := plan.NFTSet{Name: "s", Key: []plan.NFTType{ipv4}}
	blocks := plan.NFTSet{Name: "s", Key: []plan.NFTType{ipv4}, Interval: true}
	three := plan.NFTSet{Name: "s", Key: []plan.NFTType{ipv4, proto, port}}
	ranges := plan.NFTSet{Name: "s", Key: []plan.NFTType{proto, port}, Interval: true}
	fields := func(list ...plan.NFTField) []plan.NFTField { return list }
	dropIn := func(not bool, list ...plan.NFTField) func(a, r, b *plan.Netns) {
		return atForward(exprs(plan.NFTCTState{States: []string{"new"}}, plan.NFTLookup{Fields: list, Set: "s", Not: not}, nftDrop))
	}
	key := func(v ...plan.NFTValue) []plan.NFTValue { return v }
	tcp, udp, eighty := plan.NFTProtocol("tcp"), plan.NFTProtocol("udp"), plan.NFTNumber(80)
	to := fields(plan.NFTIPDst, plan.NFTL4Proto, plan.NFTDPort)
	service := fields(plan.NFTL4Proto, plan.NFTDPort)
	verdicts := func(elements map[string]plan.NFTVerdict, list ...[]plan.NFTExpr) func(a, r, b *plan.Netns) {
		return func(a, r, b *plan.Netns) {
			s := plan.NFTSet{Name: "v", Key: []plan.NFTType{ipv4}, Data: []plan.NFTType{plan.NFTVerdictData}}
			for k, v := range elements {
				s.Elements = append(s.Elements, plan.NFTElement{Key: key(address(k)), Verdict: v})
			}
			t := nft(r, plan.NFTChain{Name: "own"}, exprs(plan.NFTReject{With: "icmpx port-unreachable"}))
			t.Sets = append(t.Sets, s)
			atForward(list...)(a, r, b)
		}
	}
	vmap := plan.NFTVMap{Fields: fields(plan.NFTIPDst), Map: "v"}
	return []row{
		{name: "nft: an element", change: both(filled(single, key(address("10.0.1.2"))), dropIn(false, plan.NFTIPSrc)), want: "timeout"},
		{name: "nft: no element", change: both(filled(single, key(address("10.0.1.3"))), dropIn(false, plan.NFTIPSrc)), want: "b from a"},
		{name: "nft: no element, asked for that", change: both(filled(single, key(address("10.0.1.3"))), dropIn(true, plan.NFTIPSrc)), want: "timeout"},
		{name: "nft: in a block", change: both(filled(blocks, key(block("10.0.0.0/24")), key(block("10.0.1.0/24"))), dropIn(false, plan.NFTIPSrc)), want: "timeout"},
		{name: "nft: between blocks", change: both(filled(blocks, key(block("10.0.0.0/24")), key(block("10.0.2.0/24"))), dropIn(false, plan.NFTIPSrc)), want: "b from a"},
		{name: "nft: address, protocol and port", change: both(filled(three, key(address("10.0.2.2"), tcp, eighty)), dropIn(false, to...)), want: "timeout"},
		{name: "nft: another protocol", change: both(filled(three, key(address("10.0.2.2"), udp, eighty)), dropIn(false, to...)), want: "b from a"},
		{name: "nft: one of several ranges", change: both(filled(ranges, key(tcp, plan.NFTRange(70, 90)), key(tcp, plan.NFTNumber(443)), key(udp, plan.NFTRange(0, 65535))), dropIn(false, service...)), want: "timeout"},
		{name: "nft: outside several ranges", change: both(filled(ranges, key(tcp, plan.NFTRange(81, 90)), key(udp, plan.NFTRange(0, 65535))), dropIn(false, service...)), want: "b from a"},
		{name: "nft: the range of another protocol", proto: flow.UDP, change: both(filled(ranges, key(tcp, plan.NFTRange(81, 90)), key(udp, plan.NFTRange(0, 65535))), dropIn(false, service...)), want: "timeout"},
		{name: "nft: a verdict", change: verdicts(map[string]plan.NFTVerdict{"10.0.2.2": nftDrop}, exprs(vmap)), want: "timeout"},
		{name: "nft: a chain by its verdict", change: verdicts(map[string]plan.NFTVerdict{"10.0.2.2": plan.NFTJump("own"), "10.0.2.3": nftDrop}, exprs(vmap)), want: "refused"},
		{name: "nft: no verdict", change: verdicts(map[string]plan.NFTVerdict{"10.0.2.3": nftDrop}, exprs(vmap), exprs(plan.NFTReject{With: "icmpx admin-prohibited"})), want: "unreachable"},
	}
}

func nftVerdictRows() []row {
	own := plan.NFTChain{Name: "own"}
	refuse := plan.NFTReject{With: "icmpx port-unreachable"}
	tcp := is(plan.NFTL4Proto, plan.NFTProtocol("tcp"))
	return []row{
		{name: "nft: accept ends one base chain", change: func(_, r, _ *plan.Netns) {
			nft(r, base("filter", "forward", -1), exprs(nftAccept))
			rules(r, "filter", "FORWARD", rule(plan.Reject{}))
		}, want: "refused"},
		{name: "nft: iptables accepts, nft drops", change: func(_, r, _ *plan.Netns) {
			rules(r, "filter", "FORWARD", rule(plan.Accept{}))
			nft(r, base("filter", "forward", 1), exprs(nftDrop))
		}, want: "timeout"},
		{name: "nft: drop is final", change: func(_, r, _ *plan.Netns) {
			nft(r, base("filter", "forward", -1), exprs(nftDrop))
			rules(r, "filter", "FORWARD", rule(plan.Reject{}))
		}, want: "timeout"},
		{name: "nft: who comes first answers", change: func(_, r, _ *plan.Netns) {
			nft(r, base("filter", "forward", 1), exprs(nftDrop))
			rules(r, "filter", "FORWARD", rule(plan.Reject{}))
		}, want: "refused"},
		{name: "nft: between mangle and filter", change: func(_, r, _ *plan.Netns) {
			rules(r, "mangle", "FORWARD", rule(plan.OrMark{Bits: 1}))
			nft(r, base("filter", "forward", -100), exprs(is(plan.NFTMetaMark, plan.NFTNumber(1)), nftDrop))
			rules(r, "filter", "FORWARD", rule(plan.Reject{}))
		}, want: "timeout"},
		{name: "nft: a policy", change: func(_, r, _ *plan.Netns) {
			c := base("filter", "forward", 0)
			c.Policy = "drop"
			nft(r, c, exprs(is(plan.NFTIPSrc, address("10.0.1.3")), nftAccept))
		}, want: "timeout"},
		{name: "nft: jump and return", change: func(_, r, _ *plan.Netns) {
			nft(r, own, exprs(nftReturn), exprs(nftDrop))
			nft(r, base("filter", "forward", 0), exprs(plan.NFTJump("own")), exprs(refuse))
		}, want: "refused"},
		{name: "nft: goto does not come back", change: func(_, r, _ *plan.Netns) {
			nft(r, own, exprs(tcp, nftReturn), exprs(nftDrop))
			nft(r, base("filter", "forward", 0), exprs(plan.NFTGoto("own")), exprs(refuse))
		}, want: "b from a"},
		{name: "nft: goto in a chain that was jumped to", change: func(_, r, _ *plan.Netns) {
			nft(r, plan.NFTChain{Name: "other"}, exprs(nftReturn))
			nft(r, own, exprs(plan.NFTGoto("other")), exprs(nftDrop))
			nft(r, base("filter", "forward", 0), exprs(plan.NFTJump("own")), exprs(refuse))
		}, want: "refused"},
		{name: "nft: continue", change: atForward(exprs(plan.NFTVerdict{Kind: "continue"}), exprs(nftDrop)), want: "timeout"},
		{name: "nft: reject", change: atForward(exprs(refuse)), want: "refused"},
		{name: "nft: reject of datagrams", proto: flow.UDP, change: atForward(exprs(refuse)), want: "refused"},
		{name: "nft: reset", change: atForward(exprs(tcp, plan.NFTReject{With: "tcp reset"})), want: "refused"},
		{name: "nft: no route", change: atForward(exprs(plan.NFTReject{With: "icmpx no-route"})), want: "unreachable"},
		{name: "nft: what is bridged", change: func(a, r, b *plan.Netns) {
			bridged(plan.InIf{Name: "none"})(a, r, b)
			nft(r, base("filter", "forward", -1), exprs(is(plan.NFTIPDst, address("10.0.1.3")), nftDrop))
		}, to: "10.0.1.3:80", want: "timeout"},
		{name: "nft: what is bridged past the hooks", change: func(a, r, b *plan.Netns) {
			bridged(plan.InIf{Name: "none"})(a, r, b)
			r.Sysctls = slices.DeleteFunc(r.Sysctls, func(s plan.Sysctl) bool { return s.Key == "net.bridge.bridge-nf-call-iptables" })
			setSysctl(r, "net.bridge.bridge-nf-call-iptables", "0")
			nft(r, base("filter", "forward", -1), exprs(is(plan.NFTIPDst, address("10.0.1.3")), nftDrop))
		}, to: "10.0.1.3:80", want: "b from a"},
		{name: "nft: what is bridged is rejected", change: func(a, r, b *plan.Netns) {
			bridged(plan.InIf{Name: "none"})(a, r, b)
			nft(r, base("filter", "forward", -1), exprs(tcp, plan.NFTReject{With: "tcp reset"}))
		}, to: "10.0.1.3:80", want: "refused"},
	}
}

func nftNATRows() []row {
	tcp := is(plan.NFTL4Proto, plan.NFTProtocol("tcp"))
	vip := is(plan.NFTIPDst, address("10.9.9.9"))
	toB := plan.NFTDNAT{To: address("10.0.2.2"), Port: 80}
	to := []plan.NFTField{plan.NFTIPDst, plan.NFTL4Proto, plan.NFTDPort}
	pre, post, out := base("nat", "prerouting", -100), base("nat", "postrouting", 100), base("nat", "output", -100)
	dnat := func(r *plan.Netns) { nft(r, pre, exprs(vip, tcp, toB)) }
	status := func(s string) plan.NFTExpr { return plan.NFTCTStatus{Status: []string{s}} }
	return []row{
		{name: "nft: DNAT", change: func(_, r, _ *plan.Netns) { dnat(r) }, to: "10.9.9.9:81", want: "b from a"},
		{name: "nft: DNAT of the address alone", change: func(_, r, _ *plan.Netns) {
			nft(r, pre, exprs(vip, plan.NFTDNAT{To: address("10.0.2.2")}))
		}, to: "10.9.9.9:80", want: "b from a"},
		{name: "nft: DNAT by a map", change: func(_, r, _ *plan.Netns) {
			t := nft(r, pre, exprs(plan.NFTDNAT{Fields: to, Map: "m"}))
			t.Sets = append(t.Sets, plan.NFTSet{Name: "m", Key: []plan.NFTType{plan.NFTIPv4, plan.NFTProto, plan.NFTPort},
				Data: []plan.NFTType{plan.NFTIPv4, plan.NFTPort}, Elements: []plan.NFTElement{{
					Key:  []plan.NFTValue{address("10.9.9.9"), plan.NFTProtocol("tcp"), plan.NFTNumber(81)},
					Data: []plan.NFTValue{address("10.0.2.2"), plan.NFTNumber(80)}}}})
		}, to: "10.9.9.9:81", want: "b from a"},
		{name: "nft: DNAT of the own packets", change: func(a, _, _ *plan.Netns) { nft(a, out, exprs(vip, tcp, toB)) }, to: "10.9.9.9:81", want: "b from a"},
		{name: "nft: DNAT of the own packets to another link", from: "node.r", change: func(_, r, _ *plan.Netns) {
			r.Routes = append(r.Routes, plan.Route{To: netip.MustParsePrefix("10.9.9.9/32"), Via: netip.MustParseAddr("10.0.1.2"), Dev: "a"})
			nft(r, out, exprs(vip, tcp, toB))
			nft(r, post, exprs(plan.NFTMasquerade{}))
		}, to: "10.9.9.9:81", want: "b from 10.0.2.1"},
		{name: "nft: masquerade", change: func(_, r, _ *plan.Netns) { nft(r, post, exprs(plan.NFTMasquerade{FullyRandom: true})) }, want: "b from 10.0.2.1"},
		{name: "nft: DNAT and masquerade", change: func(_, r, _ *plan.Netns) {
			dnat(r)
			nft(r, post, exprs(status("dnat"), plan.NFTMasquerade{}))
		}, to: "10.9.9.9:81", want: "b from 10.0.2.1"},
		{name: "nft: DNAT, seen by filters", change: func(_, r, _ *plan.Netns) {
			dnat(r)
			nft(r, base("filter", "forward", 0), exprs(status("dnat"), plan.NFTCTState{States: []string{"new"}}, is(plan.NFTOrigDst, address("10.9.9.9")), tcp, is(plan.NFTOrigDPort, plan.NFTNumber(81)), plan.NFTReject{With: "icmpx admin-prohibited"}))
		}, to: "10.9.9.9:81", want: "unreachable"},
		{name: "nft: without NAT there is no status", change: atForward(exprs(plan.NFTCTStatus{Status: []string{"dnat", "snat"}}, nftDrop)), want: "b from a"},
		{name: "nft: before DNAT", change: func(_, r, _ *plan.Netns) {
			dnat(r)
			nft(r, base("filter", "prerouting", -110), exprs(vip, nftDrop))
		}, to: "10.9.9.9:81", want: "timeout"},
		{name: "nft: after DNAT", change: func(_, r, _ *plan.Netns) {
			dnat(r)
			nft(r, base("filter", "prerouting", -90), exprs(vip, nftDrop))
		}, to: "10.9.9.9:81", want: "b from a"},
		{name: "nft: iptables' NAT goes first, by priority", change: func(_, r, _ *plan.Netns) {
			rules(r, "nat", "PREROUTING", rule(plan.DNAT{To: addrPort("10.0.2.2:80")}, plan.Dst{Prefix: netip.MustParsePrefix("10.9.9.9/32")}, plan.Proto{Name: "tcp"}))
			nft(r, base("nat", "prerouting", -90), exprs(vip, tcp, plan.NFTDNAT{To: address("10.0.2.77"), Port: 80}))
		}, to: "10.9.9.9:81", want: "b from a"},
		{name: "nft: iptables' NAT goes second, by priority", change: func(_, r, _ *plan.Netns) {
			rules(r, "nat", "PREROUTING", rule(plan.DNAT{To: addrPort("10.0.2.77:80")}, plan.Dst{Prefix: netip.MustParsePrefix("10.9.9.9/32")}, plan.Proto{Name: "tcp"}))
			nft(r, base("nat", "prerouting", -110), exprs(vip, tcp, toB))
		}, to: "10.9.9.9:81", want: "b from a"},
		{name: "nft: iptables translates what nft does not", change: func(_, r, _ *plan.Netns) {
			rules(r, "nat", "PREROUTING", rule(plan.DNAT{To: addrPort("10.0.2.2:80")}, plan.Dst{Prefix: netip.MustParsePrefix("10.9.9.9/32")}, plan.Proto{Name: "tcp"}))
			nft(r, base("nat", "prerouting", -110), exprs(nftAccept))
		}, to: "10.9.9.9:81", want: "b from a"},
	}
}

func TestNFTRows(t *testing.T) {
	for _, r := range nftRows() {
		t.Run(r.name, r.check)
	}
}

func TestRulesOfNFTablesAreShown(t *testing.T) {
	r := row{change: atForward(exprs(is(plan.NFTL4Proto, plan.NFTProtocol("tcp")), plan.NFTReject{With: "tcp reset"}))}
	const want = "forward #1 meta l4proto tcp reject with tcp reset"
	if got := walk.New(r.plan()).Walk(r.flow()).Text(walk.Brief); !strings.Contains(got, want) {
		t.Errorf("no %q in\n%s", want, got)
	}
}
