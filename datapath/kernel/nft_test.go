//go:build linux

package kernel

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/netlab/netlab/datapath/debian"
	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/datapath/plan/feature"
	"github.com/netlab/netlab/datapath/plan/nft"
)

func num(n uint32) nft.Value { return nft.Number(n) }

// nftTable has every expression, and sets of all kinds.
func nftTable() nft.Table {
	tcp := nft.Match{Field: nft.L4Proto, Value: nft.Protocol("tcp")}
	accept := nft.Verdict{Kind: "accept"}
	match := func(f nft.Field, v nft.Value) nft.Match { return nft.Match{Field: f, Value: v} }
	not := func(f nft.Field, v nft.Value) nft.Match {
		return nft.Match{Field: f, Not: true, Value: v}
	}
	address := func(s string) nft.Value { return nft.Addr(ip(s)) }
	block := func(s string) nft.Value { return nft.Prefix(pfx(s)) }
	var rules []nft.Rule
	for i, exprs := range [][]nft.Expr{
		{nft.CTState{States: []string{"established", "related"}}, accept},
		{nft.CTState{States: []string{"invalid", "untracked", "new"}}, nft.Counter{}, nft.Verdict{Kind: "return"}},
		{nft.CTStatus{Status: []string{"dnat"}}, accept},
		{match(nft.FamilyOf, num(10)), tcp, accept},
		{not(nft.FamilyOf, num(2)), accept},
		{match(nft.IIfName, nft.Name("eth0")), match(nft.OIfName, nft.Name("veth*")), not(nft.IIfName, nft.Name("lo")), accept},
		{nft.Match{Field: nft.MetaMark, Mask: 0x4000, Value: num(0x4000)}, nft.OrMark(1), accept},
		{nft.Match{Field: nft.CTMark, Mask: 0x7, Value: num(1), Not: true}, nft.SetMark{Xor: 5}, nft.SetMark{CT: true, Xor: 7}},
		{nft.SetMark{And: 0xf}, nft.SetMark{And: 0xffffffff, Xor: 1}, nft.SetMark{CT: true, And: 0xff, Xor: 0x100}},
		{match(nft.IPSrc, address("10.0.0.1")), not(nft.IPDst, block("10.0.0.0/9")), accept},
		{match(nft.IP6Src, block("fd00::/63")), match(nft.IP6Dst, address("fd00::1")), accept},
		{tcp, match(nft.DPort, num(80)), match(nft.SPort, nft.Range(1024, 65535)), accept},
		{tcp, not(nft.DPort, nft.Range(1, 2)), accept},
		{match(nft.ICMPType, num(8)), accept},
		{match(nft.ICMPv6Type, nft.Range(133, 136)), accept},
		{match(nft.FibSrcType, num(nft.Local)), not(nft.FibDstType, num(nft.Local)), accept},
		{tcp, match(nft.OrigDst, address("10.96.0.1")), match(nft.OrigDPort, num(80)), accept},
		{match(nft.OrigDst6, address("fd00::96")), accept},
		{match(nft.Random(3), num(0)), nft.Verdict{Kind: "continue"}},
		{nft.Lookup{Fields: []nft.Field{nft.IPSrc}, Set: "blocks"}, accept},
		{nft.Lookup{Fields: []nft.Field{nft.IP6Dst, nft.L4Proto, nft.DPort}, Set: "ports6"}, accept},
		{nft.Lookup{Fields: []nft.Field{nft.L4Proto, nft.DPort}, Set: "ports", Not: true}, accept},
		{nft.Lookup{Fields: []nft.Field{nft.IIfName, nft.MetaMark}, Set: "links"}, accept},
		{nft.VMap{Fields: []nft.Field{nft.IPDst}, Map: "pods"}},
		{tcp, nft.Reject{With: "tcp reset"}},
		{nft.Reject{With: "icmpx port-unreachable"}},
		{nft.Reject{With: "icmpx admin-prohibited"}},
		{nft.Verdict{Kind: "drop"}},
		{nft.Jump("other")},
		{nft.Goto("other")},
	} {
		rules = append(rules, nft.Rule{Exprs: exprs, Comment: fmt.Sprintf("rule %d", i)})
	}
	three := []nft.Field{nft.IPDst, nft.L4Proto, nft.DPort}
	nat := []nft.Rule{
		{Exprs: []nft.Expr{nft.DNAT{Fields: three, Map: "endpoints"}}},
		{Exprs: []nft.Expr{tcp, nft.DNAT{To: address("10.0.0.1"), Port: 80}}},
		{Exprs: []nft.Expr{nft.DNAT{To: address("10.0.0.1")}}},
		{Exprs: []nft.Expr{tcp, nft.DNAT{IPv6: true, To: address("fd00::1"), Port: 80}}},
	}
	t := nft.Table{Family: "inet", Name: "try", Sets: []nft.Set{
		{Name: "blocks", Key: []nft.Type{nft.IPv4}, Interval: true, Elements: []nft.Element{
			{Key: []nft.Value{block("10.0.0.0/24")}}, {Key: []nft.Value{block("10.0.1.0/24")}}, {Key: []nft.Value{address("10.1.0.1")}}, {Key: []nft.Value{block("255.0.0.0/8")}}}},
		{Name: "ports", Key: []nft.Type{nft.Proto, nft.Port}, Interval: true, Elements: []nft.Element{
			{Key: []nft.Value{num(6), nft.Range(80, 90)}}, {Key: []nft.Value{num(17), num(53)}}}},
		{Name: "ports6", Key: []nft.Type{nft.IPv6, nft.Proto, nft.Port}, Elements: []nft.Element{
			{Key: []nft.Value{address("fd00::1"), num(6), num(80)}}, {Key: []nft.Value{address("fd00::1"), num(132), num(80)}}}},
		{Name: "links", Key: []nft.Type{nft.IfName, nft.Mark}, Elements: []nft.Element{{Key: []nft.Value{nft.Name("eth0"), num(0x4000)}}}},
		{Name: "pods", Key: []nft.Type{nft.IPv4}, Data: []nft.Type{nft.VerdictData}, Elements: []nft.Element{
			{Key: []nft.Value{address("10.0.0.1")}, Verdict: nft.Goto("other")}, {Key: []nft.Value{address("10.0.0.2")}, Verdict: nft.Verdict{Kind: "drop"}}}},
		{Name: "endpoints", Key: []nft.Type{nft.IPv4, nft.Proto, nft.Port}, Data: []nft.Type{nft.IPv4, nft.Port}, Elements: []nft.Element{
			{Key: []nft.Value{address("10.96.0.1"), num(6), num(80)}, Data: []nft.Value{address("10.0.0.1"), num(8080)}}}},
	}, Chains: []nft.Chain{
		{Name: "begin", Type: "filter", Hook: "forward", Priority: -1, Policy: "accept", Rules: rules},
		{Name: "other", Rules: []nft.Rule{{Exprs: []nft.Expr{nft.Counter{}}}}},
		{Name: "before", Type: "nat", Hook: "prerouting", Priority: -100, Policy: "accept", Rules: nat},
		{Name: "after", Type: "nat", Hook: "postrouting", Priority: 100, Policy: "accept", Rules: []nft.Rule{
			{Exprs: []nft.Expr{nft.Masquerade{FullyRandom: true}}}, {Exprs: []nft.Expr{nft.Masquerade{}}}}},
		{Name: "first", Type: "filter", Hook: "output", Priority: -300, Policy: "drop", Rules: []nft.Rule{{Exprs: []nft.Expr{nft.NoTrack{}}}}},
	}}
	t.Sort()
	return t
}

// nftOneFamily is a table of one family, with what the tables of kube-proxy have besides.
func nftOneFamily() nft.Table {
	key := func(v ...nft.Value) []nft.Value { return v }
	service := func(s string) []nft.Value { return key(nft.Addr(ip(s)), num(6), num(80)) }
	rule := func(exprs ...nft.Expr) nft.Rule { return nft.Rule{Exprs: exprs} }
	picks := func(n uint32) (list []nft.Element) {
		for i := range n {
			list = append(list, nft.Element{Key: key(num(i)), Verdict: nft.Goto("endpoint")})
		}
		return list
	}
	source := []nft.Field{nft.IPSrc}
	t := nft.Table{Family: "ip", Name: "kube-proxy", Comment: "rules for kube-proxy", Sets: []nft.Set{
		{Name: "affinity-a", Key: []nft.Type{nft.IPv4}, Timeout: 10800},
		{Name: "cluster-ips", Key: []nft.Type{nft.IPv4}, Comment: "Active ClusterIPs", Elements: []nft.Element{{Key: key(nft.Addr(ip("10.96.0.1")))}}},
		{Name: "no-endpoint-services", Key: []nft.Type{nft.IPv4, nft.Proto, nft.Port}, Data: []nft.Type{nft.VerdictData}, Comment: "none", Elements: []nft.Element{
			{Key: service("10.96.0.2"), Verdict: nft.Goto("reject-chain"), Comment: "default/web"}, {Key: service("10.96.0.3"), Verdict: nft.Verdict{Kind: "drop"}}}},
		{Name: "services", Key: []nft.Type{nft.IPv4, nft.Proto, nft.Port}, Data: []nft.Type{nft.Mark}, Elements: []nft.Element{
			{Key: service("10.96.0.1"), Data: key(num(0x200003))}}},
		{Name: "slots", Key: []nft.Type{nft.IPv4, nft.Proto, nft.Port, nft.Mark}, Data: []nft.Type{nft.IPv4, nft.Port}, Elements: []nft.Element{
			{Key: append(service("10.96.0.1"), num(0)), Data: key(nft.Addr(ip("10.0.0.1")), num(80))},
			{Key: append(service("10.96.0.1"), num(256)), Data: key(nft.Addr(ip("10.0.0.2")), num(8080))}}},
	}, Chains: []nft.Chain{
		{Name: "check", Type: "filter", Hook: "forward", Priority: 0, Policy: "accept", Rules: []nft.Rule{
			rule(nft.VMap{Fields: []nft.Field{nft.IPDst, nft.L4Proto, nft.DPort}, Map: "no-endpoint-services"}),
			rule(nft.Lookup{Fields: source, Not: true, Elements: []nft.Element{{Key: key(nft.Prefix(pfx("10.0.0.0/8")))}, {Key: key(nft.Addr(ip("192.0.2.1")))}}}, nft.Verdict{Kind: "drop"})}},
		{Name: "early", Type: "filter", Hook: "prerouting", Priority: -110, Policy: "accept"},
		{Name: "endpoint", Rules: []nft.Rule{
			rule(nft.Update{Fields: source, Set: "affinity-a"}),
			rule(nft.Match{Field: nft.L4Proto, Value: num(6)}, nft.DNAT{To: nft.Addr(ip("10.0.0.1")), Port: 80, OneFamily: true})}},
		{Name: "flat", Rules: []nft.Rule{
			rule(nft.MarkBy{Fields: []nft.Field{nft.IPDst, nft.L4Proto, nft.DPort}, Map: "services"}),
			rule(nft.MarkBy{Fields: []nft.Field{nft.RandomFrom(3, 0x200000)}},
				nft.DNAT{Fields: []nft.Field{nft.IPDst, nft.L4Proto, nft.DPort, nft.CTMark}, Map: "slots", OneFamily: true})}},
		{Name: "prerouting", Type: "nat", Hook: "prerouting", Priority: -100, Policy: "accept", Rules: []nft.Rule{rule(nft.Jump("service"))}},
		{Name: "reject-chain", Comment: "helper", Rules: []nft.Rule{rule(nft.Reject{})}},
		{Name: "service", Rules: []nft.Rule{
			rule(nft.Lookup{Fields: source, Set: "affinity-a"}, nft.Goto("endpoint")),
			rule(nft.VMap{Fields: []nft.Field{nft.Random(3)}, Elements: picks(3)})}},
	}}
	t.Sort()
	return t
}

func nftOneFamilyChanges() map[string]func(t *nft.Table) {
	return map[string]func(t *nft.Table){
		"another time":      func(t *nft.Table) { t.Sets[0].Timeout = 90061 },
		"another comment":   func(t *nft.Table) { t.Sets[1].Comment = "other" },
		"an element's":      func(t *nft.Table) { t.Sets[2].Elements[0].Comment = "default/api" },
		"one endpoint less": func(t *nft.Table) { pick(t, 2) },
		"one endpoint":      func(t *nft.Table) { pick(t, 1) },
		"no endpoint":       func(t *nft.Table) { c := chain(t, "service"); c.Rules = c.Rules[:1] },
		// nft loads only the first bytes of an address for a prefix that ends with one.
		"prefixes": func(t *nft.Table) {
			c := chain(t, "early")
			for _, p := range []string{"10.0.0.0/8", "10.244.0.0/16", "10.244.1.0/24", "10.244.16.0/20", "192.0.2.1/32"} {
				c.Rules = append(c.Rules, nft.Rule{Exprs: []nft.Expr{nft.Match{Field: nft.IPSrc, Value: nft.Prefix(pfx(p))}, nft.Verdict{Kind: "drop"}}},
					nft.Rule{Exprs: []nft.Expr{nft.Match{Field: nft.IPDst, Not: true, Value: nft.Prefix(pfx(p))}, nft.Verdict{Kind: "accept"}}})
			}
		},
		"another source": func(t *nft.Table) { sources(t).Elements[0].Key[0] = nft.Prefix(pfx("10.0.0.0/9")) },
		"not that source": func(t *nft.Table) {
			chain(t, "check").Rules[1].Exprs[0] = nft.Lookup{Fields: sources(t).Fields, Elements: sources(t).Elements}
		},
		"no client sticks": func(t *nft.Table) {
			t.Sets = t.Sets[1:]
			chain(t, "service").Rules, chain(t, "endpoint").Rules = nil, nil
		},
		"another class":   func(t *nft.Table) { t.Sets[3].Elements[0].Data[0] = num(0x200002) },
		"another slot":    func(t *nft.Table) { t.Sets[4].Elements[1].Key[3] = num(2) },
		"another backend": func(t *nft.Table) { t.Sets[4].Elements[0].Data[1] = num(81) },
		"a larger choice": func(t *nft.Table) {
			chain(t, "flat").Rules[1].Exprs[0] = nft.MarkBy{Fields: []nft.Field{nft.RandomFrom(4, 0x200000)}}
		},
		"another offset": func(t *nft.Table) {
			chain(t, "flat").Rules[1].Exprs[0] = nft.MarkBy{Fields: []nft.Field{nft.Random(3)}}
		},
		"a chain's comment":   func(t *nft.Table) { t.Chains = append(t.Chains, nft.Chain{Name: "more", Comment: "why"}) },
		"a map's other entry": func(t *nft.Table) { t.Sets[2].Elements[1].Verdict = nft.Goto("reject-chain") },
	}
}

func sources(t *nft.Table) nft.Lookup { return chain(t, "check").Rules[1].Exprs[0].(nft.Lookup) }

func pick(t *nft.Table, n int) {
	x := &chain(t, "service").Rules[1].Exprs[0]
	*x = nft.VMap{Fields: []nft.Field{nft.Random(n)}, Elements: (*x).(nft.VMap).Elements[:n]}
}

func withNFT(tables ...nft.Table) *plan.Plan {
	p := small()
	p.Netns[1].NFT = tables
	p.Sort()
	return p
}

func TestNFTablesAreAppliedAndReadBack(t *testing.T) {
	requires(t, feature.NFT, feature.NFTRanges, feature.NFTFib, feature.NFTNumgen, feature.NFTNAT, feature.NFTReject)
	want := withNFT(nftTable(), nftOneFamily())
	k := applied(t, want)
	noDrift(t, k, want)
	if c := mustApply(t, k, want); !c.Empty() {
		t.Errorf("applied again: %s", c.Summary())
	}
	mustApply(t, k, small())
	noDrift(t, k, small())
}

// A table that is too large for one part of its creation is whole in the end, and a change of it finds
// all that earlier parts made.
func TestLargeNFTablesAreBuiltInParts(t *testing.T) {
	requires(t, feature.NFT, feature.NFTNumgen)
	table := func() nft.Table {
		x := nft.Table{Family: "ip", Name: "many", Chains: []nft.Chain{{Name: "begin", Type: "filter", Hook: "input", Policy: "drop"}}}
		for i := range 800 {
			c := nft.Chain{Name: fmt.Sprintf("pick%03d", i), Rules: []nft.Rule{{Exprs: []nft.Expr{nft.VMap{Fields: []nft.Field{nft.Random(2)}, Elements: []nft.Element{
				{Key: []nft.Value{num(0)}, Verdict: nft.Verdict{Kind: "accept"}}, {Key: []nft.Value{num(1)}, Verdict: nft.Verdict{Kind: "drop"}}}}}}}}
			x.Chains = append(x.Chains, c)
			x.Chains[0].Rules = append(x.Chains[0].Rules, nft.Rule{Exprs: []nft.Expr{nft.Match{Field: nft.MetaMark, Value: num(uint32(i))}, nft.Goto(c.Name)}})
		}
		return x
	}
	want := withNFT(table())
	k := applied(t, want)
	noDrift(t, k, want)
	x := table()
	pick := &chain(&x, "pick400").Rules[0].Exprs[0]
	*pick = nft.VMap{Fields: []nft.Field{nft.Random(1)}, Elements: (*pick).(nft.VMap).Elements[:1]}
	want = withNFT(x)
	mustApply(t, k, want)
	noDrift(t, k, want)
}

// nftChanges are changes of the table.
func nftChanges() map[string]func(t *nft.Table) {
	return map[string]func(t *nft.Table){
		"elements":           func(t *nft.Table) { t.Sets[0].Elements = t.Sets[0].Elements[1:] },
		"a prefix grows":     func(t *nft.Table) { t.Sets[0].Elements[2].Key[0] = nft.Prefix(pfx("10.1.0.0/24")) },
		"another verdict":    func(t *nft.Table) { set(t, "pods").Elements[0].Verdict = nft.Jump("other") },
		"other data":         func(t *nft.Table) { set(t, "endpoints").Elements[0].Data[1] = num(81) },
		"another type":       func(t *nft.Table) { s := set(t, "blocks"); s.Interval, s.Elements = false, s.Elements[2:3] },
		"another range":      func(t *nft.Table) { set(t, "ports").Elements[0].Key[1] = nft.Range(80, 99) },
		"rules":              func(t *nft.Table) { c := chain(t, "begin"); c.Rules = c.Rules[3:] },
		"another policy":     func(t *nft.Table) { chain(t, "begin").Policy = "drop" },
		"another priority":   func(t *nft.Table) { chain(t, "begin").Priority = -2 },
		"a set and its rule": func(t *nft.Table) { t.Sets = t.Sets[1:]; chain(t, "begin").Rules = nil },
		"another name":       func(t *nft.Table) { t.Name = "another" },
		"a chain is removed": func(t *nft.Table) {
			t.Chains = slices.DeleteFunc(t.Chains, func(c nft.Chain) bool { return c.Name == "first" })
		},
	}
}

// Whatever the change between two states, the kernel ends up as planned.
func TestNFTablesChangeInPlace(t *testing.T) {
	requires(t, feature.NFT, feature.NFTRanges)
	k := applied(t, small())
	for _, of := range []struct {
		table   func() nft.Table
		changes map[string]func(t *nft.Table)
	}{{nftTable, nftChanges()}, {nftOneFamily, nftOneFamilyChanges()}} {
		mustApply(t, k, withNFT(of.table()))
		for name, change := range of.changes {
			x := of.table()
			change(&x)
			for _, want := range []*plan.Plan{withNFT(x), withNFT(of.table())} {
				if c := mustApply(t, k, want); c.Empty() {
					t.Errorf("%s: nothing changed", name)
				}
				noDrift(t, k, want)
			}
		}
	}
}

func set(t *nft.Table, name string) *nft.Set {
	return &t.Sets[slices.IndexFunc(t.Sets, func(s nft.Set) bool { return s.Name == name })]
}

func chain(t *nft.Table, name string) *nft.Chain {
	return &t.Chains[slices.IndexFunc(t.Chains, func(c nft.Chain) bool { return c.Name == name })]
}

func TestDamagedNFTablesAreDriftAndRepaired(t *testing.T) {
	requires(t, feature.NFT, feature.NFTRanges)
	debian.Require(t, "nft")
	want := withNFT(nftTable(), nftOneFamily())
	k := applied(t, want)
	for _, damage := range []struct{ command, drift string }{
		{"delete element inet try blocks { 10.1.0.1 }", "set blocks: element 10.1.0.1 missing"},
		{"add element inet try pods { 10.0.0.9 : accept }", "element 10.0.0.9 : accept not in the plan"},
		{"flush chain inet try other", "try other: rule missing: counter"},
		{"add rule inet try other meta length 5 drop", "try other: rule not in the plan"},
		{"add chain inet try more", "try more: chain not in the plan"},
		{"add table inet more", "table inet more not in the plan"},
		{"delete table inet try", "table inet try missing"},
		{"delete element ip kube-proxy cluster-ips { 10.96.0.1 }", "set cluster-ips: element 10.96.0.1 missing"},
		{"flush chain ip kube-proxy service", "kube-proxy service: rule missing: numgen random mod 3 vmap { 0 : goto endpoint, 1 : goto endpoint, 2 : goto endpoint }"},
	} {
		output(t, k, "node.n1", append([]string{"nft"}, strings.Fields(damage.command)...)...)
		have, err := k.Read(t.Context(), want)
		if err != nil {
			t.Fatal(err)
		}
		if lines := strings.Join(plan.Drift(have, want), "\n"); !strings.Contains(lines, damage.drift) {
			t.Errorf("%s: drift is\n%s\nwant %s", damage.command, lines, damage.drift)
		}
		mustApply(t, k, want)
		noDrift(t, k, want)
	}
}

// nft accepts the text of plans and creates the same rules as we do, except for a few
// conditions that it compiles differently.
func TestNFTakesTheTextOfPlans(t *testing.T) {
	requires(t, feature.NFT, feature.NFTRanges)
	debian.Require(t, "nft")
	table := func() nft.Table {
		x := nftTable()
		c := chain(&x, "begin")
		c.Rules = slices.DeleteFunc(c.Rules, func(r nft.Rule) bool {
			return strings.Contains(r.Words(), "1024-65535") || strings.Contains(r.Words(), "133-136") || strings.Contains(r.Words(), "!= @ports")
		})
		return x
	}
	k := applied(t, small())
	have := small()
	follow := func(name string, want *plan.Plan) {
		t.Helper()
		for _, e := range plan.Diff(have, want).Edit[0].NFT {
			var text strings.Builder
			for _, c := range e.Commands() {
				text.WriteString(strings.TrimPrefix(c.String(), "nft ") + "\n")
			}
			output(t, k, "node.n1", "sh", "-c", `printf %s "$0" | nft -f -`, text.String())
		}
		got, err := k.Read(t.Context(), want)
		if err != nil {
			t.Fatal(err)
		}
		if lines := plan.Drift(got, want); len(lines) > 0 {
			t.Errorf("%s:\n%s", name, strings.Join(lines, "\n"))
		}
		have = want
	}
	follow("from nothing", withNFT(table()))
	for name, change := range nftChanges() {
		x := table()
		change(&x)
		follow(name, withNFT(x))
		follow(name+", reverted", withNFT(table()))
	}
	follow("another table", withNFT(nftOneFamily()))
	for name, change := range nftOneFamilyChanges() {
		x := nftOneFamily()
		change(&x)
		follow(name, withNFT(x))
		follow(name+", reverted", withNFT(nftOneFamily()))
	}
}

func TestRefusedNFTablesNameTheLine(t *testing.T) {
	requires(t, feature.NFT)
	x := nft.Table{Family: "inet", Name: "try", Chains: []nft.Chain{{Name: "c", Rules: []nft.Rule{
		{Exprs: []nft.Expr{nft.Verdict{Kind: "accept"}}}, {Exprs: []nft.Expr{nft.Jump("nowhere")}}}}}}
	k := applied(t, small())
	_, err := k.Apply(t.Context(), withNFT(x))
	if err == nil || !strings.Contains(err.Error(), "node.n1: nft add rule inet try c jump nowhere: no such file or directory") {
		t.Errorf("got %v", err)
	}
}

func BenchmarkNFTElements(b *testing.B) {
	set := nft.Set{Name: "pods", Key: []nft.Type{nft.IPv4}}
	for i := range 10_000 {
		a := netip.AddrFrom4([4]byte{10, 1, byte(i / 256), byte(i)})
		set.Elements = append(set.Elements, nft.Element{Key: []nft.Value{nft.Addr(a)}})
	}
	p := &plan.Plan{Netns: []plan.Netns{{Name: "node.a", Kind: plan.Node, NFT: []nft.Table{{Family: "inet", Name: "try", Sets: []nft.Set{set}}}}}}
	benchApply(b, "10000 elements", p, func(p *plan.Plan) {
		less := set
		less.Elements = set.Elements[1:]
		p.Netns[0].NFT = []nft.Table{{Family: "inet", Name: "try", Sets: []nft.Set{less}}}
	})
}
