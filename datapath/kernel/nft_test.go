//go:build linux

package kernel

import (
	"fmt"
	"net/netip"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/netlab/netlab/datapath/plan"
)

func num(n uint32) plan.NFTValue { return plan.NFTNumber(n) }

// nftTable has every expression, and sets of all kinds.
func nftTable() plan.NFTTable {
	tcp := plan.NFTMatch{Field: plan.NFTL4Proto, Value: plan.NFTProtocol("tcp")}
	accept := plan.NFTVerdict{Kind: "accept"}
	match := func(f plan.NFTField, v plan.NFTValue) plan.NFTMatch { return plan.NFTMatch{Field: f, Value: v} }
	not := func(f plan.NFTField, v plan.NFTValue) plan.NFTMatch {
		return plan.NFTMatch{Field: f, Not: true, Value: v}
	}
	address := func(s string) plan.NFTValue { return plan.NFTAddr(ip(s)) }
	block := func(s string) plan.NFTValue { return plan.NFTPrefix(pfx(s)) }
	var rules []plan.NFTRule
	for i, exprs := range [][]plan.NFTExpr{
		{plan.NFTCTState{States: []string{"established", "related"}}, accept},
		{plan.NFTCTState{States: []string{"invalid", "untracked", "new"}}, plan.NFTCounter{}, plan.NFTVerdict{Kind: "return"}},
		{plan.NFTCTStatus{Status: []string{"dnat"}}, accept},
		{match(plan.NFTFamilyOf, num(10)), tcp, accept},
		{not(plan.NFTFamilyOf, num(2)), accept},
		{match(plan.NFTIIfName, plan.NFTName("eth0")), match(plan.NFTOIfName, plan.NFTName("veth*")), not(plan.NFTIIfName, plan.NFTName("lo")), accept},
		{plan.NFTMatch{Field: plan.NFTMetaMark, Mask: 0x4000, Value: num(0x4000)}, plan.NFTOrMark(1), accept},
		{plan.NFTMatch{Field: plan.NFTCTMark, Mask: 0x7, Value: num(1), Not: true}, plan.NFTSetMark{Xor: 5}, plan.NFTSetMark{CT: true, Xor: 7}},
		{plan.NFTSetMark{And: 0xf}, plan.NFTSetMark{And: 0xffffffff, Xor: 1}, plan.NFTSetMark{CT: true, And: 0xff, Xor: 0x100}},
		{match(plan.NFTIPSrc, address("10.0.0.1")), not(plan.NFTIPDst, block("10.0.0.0/9")), accept},
		{match(plan.NFTIP6Src, block("fd00::/63")), match(plan.NFTIP6Dst, address("fd00::1")), accept},
		{tcp, match(plan.NFTDPort, num(80)), match(plan.NFTSPort, plan.NFTRange(1024, 65535)), accept},
		{tcp, not(plan.NFTDPort, plan.NFTRange(1, 2)), accept},
		{match(plan.NFTICMPType, num(8)), accept},
		{match(plan.NFTICMPv6Type, plan.NFTRange(133, 136)), accept},
		{match(plan.NFTFibSrcType, num(plan.NFTLocal)), not(plan.NFTFibDstType, num(plan.NFTLocal)), accept},
		{tcp, match(plan.NFTOrigDst, address("10.96.0.1")), match(plan.NFTOrigDPort, num(80)), accept},
		{match(plan.NFTOrigDst6, address("fd00::96")), accept},
		{match(plan.NFTRandom(3), num(0)), plan.NFTVerdict{Kind: "continue"}},
		{plan.NFTLookup{Fields: []plan.NFTField{plan.NFTIPSrc}, Set: "blocks"}, accept},
		{plan.NFTLookup{Fields: []plan.NFTField{plan.NFTIP6Dst, plan.NFTL4Proto, plan.NFTDPort}, Set: "ports6"}, accept},
		{plan.NFTLookup{Fields: []plan.NFTField{plan.NFTL4Proto, plan.NFTDPort}, Set: "ports", Not: true}, accept},
		{plan.NFTLookup{Fields: []plan.NFTField{plan.NFTIIfName, plan.NFTMetaMark}, Set: "links"}, accept},
		{plan.NFTVMap{Fields: []plan.NFTField{plan.NFTIPDst}, Map: "pods"}},
		{tcp, plan.NFTReject{With: "tcp reset"}},
		{plan.NFTReject{With: "icmpx port-unreachable"}},
		{plan.NFTReject{With: "icmpx admin-prohibited"}},
		{plan.NFTVerdict{Kind: "drop"}},
		{plan.NFTJump("other")},
		{plan.NFTGoto("other")},
	} {
		rules = append(rules, plan.NFTRule{Exprs: exprs, Comment: fmt.Sprintf("rule %d", i)})
	}
	three := []plan.NFTField{plan.NFTIPDst, plan.NFTL4Proto, plan.NFTDPort}
	nat := []plan.NFTRule{
		{Exprs: []plan.NFTExpr{plan.NFTDNAT{Fields: three, Map: "endpoints"}}},
		{Exprs: []plan.NFTExpr{tcp, plan.NFTDNAT{To: address("10.0.0.1"), Port: 80}}},
		{Exprs: []plan.NFTExpr{plan.NFTDNAT{To: address("10.0.0.1")}}},
		{Exprs: []plan.NFTExpr{tcp, plan.NFTDNAT{IPv6: true, To: address("fd00::1"), Port: 80}}},
	}
	t := plan.NFTTable{Family: "inet", Name: "try", Sets: []plan.NFTSet{
		{Name: "blocks", Key: []plan.NFTType{plan.NFTIPv4}, Interval: true, Elements: []plan.NFTElement{
			{Key: []plan.NFTValue{block("10.0.0.0/24")}}, {Key: []plan.NFTValue{block("10.0.1.0/24")}}, {Key: []plan.NFTValue{address("10.1.0.1")}}, {Key: []plan.NFTValue{block("255.0.0.0/8")}}}},
		{Name: "ports", Key: []plan.NFTType{plan.NFTProto, plan.NFTPort}, Interval: true, Elements: []plan.NFTElement{
			{Key: []plan.NFTValue{num(6), plan.NFTRange(80, 90)}}, {Key: []plan.NFTValue{num(17), num(53)}}}},
		{Name: "ports6", Key: []plan.NFTType{plan.NFTIPv6, plan.NFTProto, plan.NFTPort}, Elements: []plan.NFTElement{
			{Key: []plan.NFTValue{address("fd00::1"), num(6), num(80)}}, {Key: []plan.NFTValue{address("fd00::1"), num(132), num(80)}}}},
		{Name: "links", Key: []plan.NFTType{plan.NFTIfName, plan.NFTMark}, Elements: []plan.NFTElement{{Key: []plan.NFTValue{plan.NFTName("eth0"), num(0x4000)}}}},
		{Name: "pods", Key: []plan.NFTType{plan.NFTIPv4}, Data: []plan.NFTType{plan.NFTVerdictData}, Elements: []plan.NFTElement{
			{Key: []plan.NFTValue{address("10.0.0.1")}, Verdict: plan.NFTGoto("other")}, {Key: []plan.NFTValue{address("10.0.0.2")}, Verdict: plan.NFTVerdict{Kind: "drop"}}}},
		{Name: "endpoints", Key: []plan.NFTType{plan.NFTIPv4, plan.NFTProto, plan.NFTPort}, Data: []plan.NFTType{plan.NFTIPv4, plan.NFTPort}, Elements: []plan.NFTElement{
			{Key: []plan.NFTValue{address("10.96.0.1"), num(6), num(80)}, Data: []plan.NFTValue{address("10.0.0.1"), num(8080)}}}},
	}, Chains: []plan.NFTChain{
		{Name: "begin", Type: "filter", Hook: "forward", Priority: -1, Policy: "accept", Rules: rules},
		{Name: "other", Rules: []plan.NFTRule{{Exprs: []plan.NFTExpr{plan.NFTCounter{}}}}},
		{Name: "before", Type: "nat", Hook: "prerouting", Priority: -100, Policy: "accept", Rules: nat},
		{Name: "after", Type: "nat", Hook: "postrouting", Priority: 100, Policy: "accept", Rules: []plan.NFTRule{
			{Exprs: []plan.NFTExpr{plan.NFTMasquerade{FullyRandom: true}}}, {Exprs: []plan.NFTExpr{plan.NFTMasquerade{}}}}},
		{Name: "first", Type: "filter", Hook: "output", Priority: -300, Policy: "drop", Rules: []plan.NFTRule{{Exprs: []plan.NFTExpr{plan.NFTNoTrack{}}}}},
	}}
	t.Sort()
	return t
}

func withNFT(tables ...plan.NFTTable) *plan.Plan {
	p := small()
	p.Netns[1].NFT = tables
	p.Sort()
	return p
}

func TestNFTablesAreAppliedAndReadBack(t *testing.T) {
	requires(t, plan.FeatureNFT, plan.FeatureNFTRanges, plan.FeatureNFTFib, plan.FeatureNFTNumgen, plan.FeatureNFTNAT, plan.FeatureNFTReject)
	want := withNFT(nftTable())
	k := applied(t, want)
	noDrift(t, k, want)
	if c := mustApply(t, k, want); !c.Empty() {
		t.Errorf("applied again: %s", c.Summary())
	}
	mustApply(t, k, small())
	noDrift(t, k, small())
}

// nftChanges are changes of the table.
func nftChanges() map[string]func(t *plan.NFTTable) {
	return map[string]func(t *plan.NFTTable){
		"elements":           func(t *plan.NFTTable) { t.Sets[0].Elements = t.Sets[0].Elements[1:] },
		"a prefix grows":     func(t *plan.NFTTable) { t.Sets[0].Elements[2].Key[0] = plan.NFTPrefix(pfx("10.1.0.0/24")) },
		"another verdict":    func(t *plan.NFTTable) { set(t, "pods").Elements[0].Verdict = plan.NFTJump("other") },
		"other data":         func(t *plan.NFTTable) { set(t, "endpoints").Elements[0].Data[1] = num(81) },
		"another type":       func(t *plan.NFTTable) { s := set(t, "blocks"); s.Interval, s.Elements = false, s.Elements[2:3] },
		"another range":      func(t *plan.NFTTable) { set(t, "ports").Elements[0].Key[1] = plan.NFTRange(80, 99) },
		"rules":              func(t *plan.NFTTable) { c := chain(t, "begin"); c.Rules = c.Rules[3:] },
		"another policy":     func(t *plan.NFTTable) { chain(t, "begin").Policy = "drop" },
		"another priority":   func(t *plan.NFTTable) { chain(t, "begin").Priority = -2 },
		"a set and its rule": func(t *plan.NFTTable) { t.Sets = t.Sets[1:]; chain(t, "begin").Rules = nil },
		"another name":       func(t *plan.NFTTable) { t.Name = "another" },
		"a chain goes": func(t *plan.NFTTable) {
			t.Chains = slices.DeleteFunc(t.Chains, func(c plan.NFTChain) bool { return c.Name == "first" })
		},
	}
}

// Whatever leads from one state to another, the kernel ends up where the plan is.
func TestNFTablesChangeInPlace(t *testing.T) {
	requires(t, plan.FeatureNFT, plan.FeatureNFTRanges)
	k := applied(t, withNFT(nftTable()))
	for name, change := range nftChanges() {
		x := nftTable()
		change(&x)
		for _, want := range []*plan.Plan{withNFT(x), withNFT(nftTable())} {
			if c := mustApply(t, k, want); c.Empty() {
				t.Errorf("%s: nothing changed", name)
			}
			noDrift(t, k, want)
		}
	}
}

func set(t *plan.NFTTable, name string) *plan.NFTSet {
	return &t.Sets[slices.IndexFunc(t.Sets, func(s plan.NFTSet) bool { return s.Name == name })]
}

func chain(t *plan.NFTTable, name string) *plan.NFTChain {
	return &t.Chains[slices.IndexFunc(t.Chains, func(c plan.NFTChain) bool { return c.Name == name })]
}

func TestDamagedNFTablesAreDriftAndRepaired(t *testing.T) {
	requires(t, plan.FeatureNFT, plan.FeatureNFTRanges)
	if _, err := exec.LookPath("nft"); err != nil {
		t.Skip("nft is not installed")
	}
	want := withNFT(nftTable())
	k := applied(t, want)
	for _, damage := range []struct{ command, drift string }{
		{"delete element inet try blocks { 10.1.0.1 }", "set blocks: element 10.1.0.1 missing"},
		{"add element inet try pods { 10.0.0.9 : accept }", "element 10.0.0.9 : accept not in the plan"},
		{"flush chain inet try other", "try other: rule missing: counter"},
		{"add rule inet try other meta length 5 drop", "try other: rule not in the plan"},
		{"add chain inet try more", "try more: chain not in the plan"},
		{"add table inet more", "table inet more not in the plan"},
		{"delete table inet try", "table inet try missing"},
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

// The text that plans show is what nft takes, and what it makes is what we make; but for
// a few conditions that it has other instructions for.
func TestNFTakesTheTextOfPlans(t *testing.T) {
	requires(t, plan.FeatureNFT, plan.FeatureNFTRanges)
	if _, err := exec.LookPath("nft"); err != nil {
		t.Skip("nft is not installed")
	}
	table := func() plan.NFTTable {
		x := nftTable()
		c := chain(&x, "begin")
		c.Rules = slices.DeleteFunc(c.Rules, func(r plan.NFTRule) bool {
			return strings.Contains(r.Words(), "1024-65535") || strings.Contains(r.Words(), "133-136") || strings.Contains(r.Words(), "!= @ports")
		})
		return x
	}
	k := applied(t, small())
	have := small()
	follow := func(name string, want *plan.Plan) {
		t.Helper()
		for _, e := range plan.Diff(have, want).Edit[0].NFT {
			output(t, k, "node.n1", "sh", "-c", `printf %s "$0" | nft -f -`, e.Commands())
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
		follow(name+", and back", withNFT(table()))
	}
}

func TestRefusedNFTablesNameTheLine(t *testing.T) {
	requires(t, plan.FeatureNFT)
	x := plan.NFTTable{Family: "inet", Name: "try", Chains: []plan.NFTChain{{Name: "c", Rules: []plan.NFTRule{
		{Exprs: []plan.NFTExpr{plan.NFTVerdict{Kind: "accept"}}}, {Exprs: []plan.NFTExpr{plan.NFTJump("nowhere")}}}}}}
	k := applied(t, small())
	_, err := k.Apply(t.Context(), withNFT(x))
	if err == nil || !strings.Contains(err.Error(), "node.n1: nft add rule inet try c jump nowhere: no such file or directory") {
		t.Errorf("got %v", err)
	}
}

func BenchmarkNFTElements(b *testing.B) {
	set := plan.NFTSet{Name: "pods", Key: []plan.NFTType{plan.NFTIPv4}}
	for i := range 10_000 {
		a := netip.AddrFrom4([4]byte{10, 1, byte(i / 256), byte(i)})
		set.Elements = append(set.Elements, plan.NFTElement{Key: []plan.NFTValue{plan.NFTAddr(a)}})
	}
	p := &plan.Plan{Netns: []plan.Netns{{Name: "node.a", Kind: plan.Node, NFT: []plan.NFTTable{{Family: "inet", Name: "try", Sets: []plan.NFTSet{set}}}}}}
	benchApply(b, "10000 elements", p, func(p *plan.Plan) {
		less := set
		less.Elements = set.Elements[1:]
		p.Netns[0].NFT = []plan.NFTTable{{Family: "inet", Name: "try", Sets: []plan.NFTSet{less}}}
	})
}
