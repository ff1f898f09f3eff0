package plan

import (
	"bytes"
	"encoding/json"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/netlab/netlab/datapath/plan/feature"
	"github.com/netlab/netlab/datapath/plan/nft"
)

// nftRows are expressions in Go and in nft syntax.
var nftRows = []struct {
	words string
	exprs []nft.Expr
}{
	{"ct state established,related accept", []nft.Expr{nft.CTState{States: []string{"related", "established"}}, nft.Verdict{Kind: "accept"}}},
	{"ct status snat,dnat counter", []nft.Expr{nft.CTStatus{Status: []string{"dnat", "snat"}}, nft.Counter{}}},
	{"ip saddr 10.0.0.0/8 ip daddr != 10.0.0.1", []nft.Expr{nft.Match{Field: nft.IPSrc, Value: nft.Prefix(prefix("10.1.0.0/8"))}, nft.Match{Field: nft.IPDst, Not: true, Value: nft.Addr(netip.MustParseAddr("10.0.0.1"))}}},
	{"sctp dport 80-90", []nft.Expr{nft.Match{Field: nft.L4Proto, Value: nft.Protocol("sctp")}, nft.Match{Field: nft.DPort, Value: nft.Range(80, 90)}}},
	{"ip6 saddr fd00::1 drop", []nft.Expr{nft.Match{Field: nft.FamilyOf, Value: nft.Number(10)}, nft.Match{Field: nft.IP6Src, Value: nft.Addr(netip.MustParseAddr("fd00::1"))}, nft.Verdict{Kind: "drop"}}},
	{"meta nfproto ipv6 drop", []nft.Expr{nft.Match{Field: nft.FamilyOf, Value: nft.Number(10)}, nft.Verdict{Kind: "drop"}}},
	{"meta mark & 0x00004000 == 0x00004000 meta mark set meta mark | 0x00000001", []nft.Expr{nft.Match{Field: nft.MetaMark, Mask: 0x4000, Value: nft.Number(0x4000)}, nft.OrMark(1)}},
	{"ct mark & 0x00000007 != 0x00000001 ct mark set 0x00000002", []nft.Expr{nft.Match{Field: nft.CTMark, Mask: 7, Not: true, Value: nft.Number(1)}, nft.SetMark{CT: true, Xor: 2}}},
	{"meta iifname \"veth*\" fib daddr type local goto own", []nft.Expr{nft.Match{Field: nft.IIfName, Value: nft.Name("veth*")}, nft.Match{Field: nft.FibDstType, Value: nft.Number(nft.Local)}, nft.Goto("own")}},
	{"ip saddr . meta l4proto . th dport != @s jump own", []nft.Expr{nft.Lookup{Fields: []nft.Field{nft.IPSrc, nft.L4Proto, nft.DPort}, Set: "s", Not: true}, nft.Jump("own")}},
	{"ip daddr vmap @v", []nft.Expr{nft.VMap{Fields: []nft.Field{nft.IPDst}, Map: "v"}}},
	{"numgen random mod 3 0 dnat ip to 10.0.0.1:80", []nft.Expr{nft.Match{Field: nft.Random(3), Value: nft.Number(0)}, nft.DNAT{To: nft.Addr(netip.MustParseAddr("10.0.0.1")), Port: 80}}},
	{"dnat ip6 to [fd00::1]:80", []nft.Expr{nft.DNAT{IPv6: true, To: nft.Addr(netip.MustParseAddr("fd00::1")), Port: 80}}},
	{"dnat ip addr . port to ip daddr . th dport map @m", []nft.Expr{nft.DNAT{Fields: []nft.Field{nft.IPDst, nft.DPort}, Map: "m"}}},
	{"masquerade fully-random", []nft.Expr{nft.Masquerade{FullyRandom: true}}},
	{"notrack", []nft.Expr{nft.NoTrack{}}},
	{"reject with tcp reset", []nft.Expr{nft.Reject{With: "tcp reset"}}},
	{"numgen random mod 2 vmap { 0 : goto own, 1 : drop }", []nft.Expr{nft.VMap{Fields: []nft.Field{nft.Random(2)}, Elements: []nft.Element{
		{Key: []nft.Value{nft.Number(0)}, Verdict: nft.Goto("own")}, {Key: []nft.Value{nft.Number(1)}, Verdict: nft.Verdict{Kind: "drop"}}}}}},
	{"ip saddr != { 10.0.0.0/8, 192.168.0.1 } drop", []nft.Expr{nft.Lookup{Fields: []nft.Field{nft.IPSrc}, Not: true, Elements: []nft.Element{
		{Key: []nft.Value{nft.Prefix(prefix("10.0.0.0/8"))}}, {Key: []nft.Value{nft.Addr(netip.MustParseAddr("192.168.0.1"))}}}}, nft.Verdict{Kind: "drop"}}},
	{"update @sticky { ip saddr }", []nft.Expr{nft.Update{Fields: []nft.Field{nft.IPSrc}, Set: "sticky"}}},
	{"meta l4proto tcp dnat to 10.0.0.1:80", []nft.Expr{nft.Match{Field: nft.L4Proto, Value: nft.Protocol("tcp")}, nft.DNAT{To: nft.Addr(netip.MustParseAddr("10.0.0.1")), Port: 80, OneFamily: true}}},
	{"reject", []nft.Expr{nft.Reject{}}},
	{"ct mark set ip daddr . meta l4proto . th dport map @classes", []nft.Expr{nft.MarkBy{Fields: []nft.Field{nft.IPDst, nft.L4Proto, nft.DPort}, Map: "classes"}}},
	{"ct mark set numgen random mod 3 offset 4096 dnat ip addr . port to ip daddr . ct mark map @slots", []nft.Expr{
		nft.MarkBy{Fields: []nft.Field{nft.RandomFrom(3, 4096)}}, nft.DNAT{Fields: []nft.Field{nft.IPDst, nft.CTMark}, Map: "slots", OneFamily: true}}},
}

func TestRulesAreWrittenAsNFTakesThem(t *testing.T) {
	for _, row := range nftRows {
		r := nft.Rule{Exprs: row.exprs}
		if got := r.Words(); got != row.words {
			t.Errorf("got  %s\nwant %s", got, row.words)
		}
	}
	r := nft.Rule{Exprs: []nft.Expr{nft.NoTrack{}}, Comment: "why"}
	if raw := nft.Raw([]string{"notrack"}, "why"); r.Words() != raw.Words() {
		t.Errorf("read %s, written %s", raw.Words(), r.Words())
	}
}

// guardedPair is a plan with a table of all rows.
func guardedPair() *Plan {
	chain := nft.Chain{Name: "own", Comment: "of pods"}
	for i, row := range nftRows {
		chain.Rules = append(chain.Rules, nft.Rule{Exprs: row.exprs, Comment: strings.Repeat("c", i%3), Origin: Origin{Object: "policy a", File: "a.hcl", Line: i / 2}})
	}
	addr := func(s string) nft.Value { return nft.Addr(netip.MustParseAddr(s)) }
	t := nft.Table{Family: "inet", Name: "t", Comment: "a try", Origin: Origin{Object: "policies", File: "a.hcl", Line: 1}, Sets: []nft.Set{
		{Name: "v", Key: []nft.Type{nft.IPv4}, Data: []nft.Type{nft.VerdictData}, Elements: []nft.Element{
			{Key: []nft.Value{addr("10.0.0.2")}, Verdict: nft.Goto("own"), Comment: "a/b"}, {Key: []nft.Value{addr("10.0.0.1")}, Verdict: nft.Verdict{Kind: "drop"}}}},
		{Name: "sticky", Key: []nft.Type{nft.IPv4}, Timeout: 9000, Comment: "clients"},
		{Name: "m", Key: []nft.Type{nft.IPv4, nft.Port}, Data: []nft.Type{nft.IPv4, nft.Port}, Elements: []nft.Element{
			{Key: []nft.Value{addr("10.0.0.2"), nft.Number(80)}, Data: []nft.Value{addr("10.0.0.3"), nft.Number(81)}}}},
		{Name: "s", Key: []nft.Type{nft.IPv4, nft.Proto, nft.Port}, Interval: true, Origin: Origin{Object: "policy b", File: "a.hcl", Line: 2}, Elements: []nft.Element{
			{Key: []nft.Value{nft.Prefix(prefix("10.0.0.0/8")), nft.Protocol("tcp"), nft.Range(80, 90)}}}},
	}, Chains: []nft.Chain{chain, {Name: "begin", Type: "filter", Hook: "forward", Priority: -10, Policy: "accept", Rules: []nft.Rule{{Exprs: []nft.Expr{nft.Jump("own")}}}}}}
	p := pair()
	p.Netns[0].NFT = []nft.Table{t}
	p.Sort()
	return p
}

func TestNFTablesSurviveEncoding(t *testing.T) {
	p := guardedPair()
	encoded, err := Encode(p)
	if err != nil {
		t.Fatal(err)
	}
	got, err := Decode(string(encoded))
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, p) {
		t.Errorf("got\n%+v\nwant\n%+v", got, p)
	}
	for n := range encoded {
		if _, err := Decode(string(encoded[:n])); err == nil {
			t.Fatalf("no error for the first %d of %d bytes", n, len(encoded))
		}
		damaged := bytes.Clone(encoded)
		damaged[n] ^= 0x80
		_, _ = Decode(string(damaged)) // must not panic
	}
}

func TestNFTEditsTouchWhatChanged(t *testing.T) {
	for _, row := range []struct {
		name   string
		change func(t *nft.Table)
		want   string // the commands
	}{
		{"nothing", func(*nft.Table) {}, ""},
		{"an element is removed", func(t *nft.Table) { t.Sets[3].Elements = t.Sets[3].Elements[1:] }, "delete element inet t v { 10.0.0.1 }\n"},
		{"another verdict", func(t *nft.Table) { t.Sets[3].Elements[0].Verdict = nft.Goto("own") },
			"delete element inet t v { 10.0.0.1 }\nadd element inet t v { 10.0.0.1 : goto own }\n"},
		{"a rule", func(t *nft.Table) { t.Chains[0].Rules[0].Exprs = []nft.Expr{nft.NoTrack{}} },
			"add chain inet t begin { type filter hook forward priority filter - 10; policy accept; }\nflush chain inet t begin\nadd rule inet t begin notrack\n"},
		{"another priority", func(t *nft.Table) { t.Chains[0].Priority, t.Chains[0].Rules = 0, nil },
			"flush chain inet t begin\ndelete chain inet t begin\nadd chain inet t begin { type filter hook forward priority filter; policy accept; }\nflush chain inet t begin\n"},
		{"a set is removed, with the chains", func(t *nft.Table) { t.Sets, t.Chains = t.Sets[:1], nil },
			"flush chain inet t begin\nflush chain inet t own\ndelete set inet t s\ndelete set inet t sticky\ndelete map inet t v\ndelete chain inet t begin\ndelete chain inet t own\n"},
		{"another table", func(t *nft.Table) { *t = nft.Table{Family: "ip", Name: "t"} }, "delete table inet t\ntable ip t {\n}\n"},
	} {
		have, want := guardedPair(), guardedPair()
		row.change(&want.Netns[0].NFT[0])
		var got string
		for _, e := range Diff(have, want).Edit {
			for i := range e.NFT {
				got += string(e.NFT[i].AppendText(nil, false))
			}
		}
		if got != row.want {
			t.Errorf("%s:\ngot\n%s\nwant\n%s", row.name, got, row.want)
		}
	}
}

// A set of another type is recreated, and the chains that reference it are filled
// again.
func TestReplacingAnNFTSetRefillsItsChains(t *testing.T) {
	have, want := guardedPair(), guardedPair()
	s := &want.Netns[0].NFT[0].Sets[1]
	s.Interval, s.Elements = false, nil
	e := Diff(have, want).Edit[0].NFT[0]
	if s.Name != "s" || len(e.DeleteSets) != 1 || len(e.Sets) != 1 || len(e.Chains) != 1 || e.Chains[0].Name != "own" {
		t.Errorf("got %s", e.Commands())
	}
}

func TestDriftOfNFTablesNamesElementsAndRules(t *testing.T) {
	have, want := guardedPair(), guardedPair()
	table := &have.Netns[0].NFT[0]
	table.Sets[3].Elements = table.Sets[3].Elements[1:]
	table.Chains[1].Rules = table.Chains[1].Rules[1:]
	table.Chains = append(table.Chains, nft.Chain{Name: "strange"})
	lines := strings.Join(Drift(have, want), "\n")
	for _, part := range []string{"map v: element 10.0.0.1 : drop missing", "inet t own: rule missing: ct state established,related accept (a.hcl:0 policy a)", "inet t strange: chain not in the plan"} {
		if !strings.Contains(lines, part) {
			t.Errorf("drift lacks %q:\n%s", part, lines)
		}
	}
}

func TestNFTablesRequireWhatTheyUse(t *testing.T) {
	p := guardedPair()
	got := Requires(p)
	for _, f := range []feature.Feature{feature.NFT, feature.NFTRanges, feature.NFTCT, feature.NFTFib, feature.NFTNumgen, feature.NFTNAT, feature.NFTReject} {
		if !slices.Contains(got, f) {
			t.Errorf("%s is not required", f)
		}
	}
	less := guardedPair()
	less.Netns[0].NFT[0].Sets[1].Elements = nil
	if got := Diff(p, less).Requires(); !slices.Contains(got, feature.NFTRanges) || slices.Contains(got, feature.NFTFib) {
		t.Errorf("the change needs %v", got)
	}
}

func TestNFTablesAsJSON(t *testing.T) {
	b, err := json.Marshal(guardedPair())
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{`"spec":"type ipv4_addr : verdict"`, `"10.0.0.2 comment \"a/b\" : goto own"`, `"hook":"forward","priority":-10,"policy":"accept"`, `"rule":"notrack"`} {
		if !strings.Contains(string(b), part) {
			t.Errorf("no %s in %s", part, b)
		}
	}
}
