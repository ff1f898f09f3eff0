package plan

import (
	"bytes"
	"encoding/json"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// nftRows are expressions in Go and in the words of nft.
var nftRows = []struct {
	words string
	exprs []NFTExpr
}{
	{"ct state established,related accept", []NFTExpr{NFTCTState{States: []string{"related", "established"}}, NFTVerdict{Kind: "accept"}}},
	{"ct status snat,dnat counter", []NFTExpr{NFTCTStatus{Status: []string{"dnat", "snat"}}, NFTCounter{}}},
	{"ip saddr 10.0.0.0/8 ip daddr != 10.0.0.1", []NFTExpr{NFTMatch{Field: NFTIPSrc, Value: NFTPrefix(prefix("10.1.0.0/8"))}, NFTMatch{Field: NFTIPDst, Not: true, Value: NFTAddr(netip.MustParseAddr("10.0.0.1"))}}},
	{"meta l4proto sctp th dport 80-90", []NFTExpr{NFTMatch{Field: NFTL4Proto, Value: NFTProtocol("sctp")}, NFTMatch{Field: NFTDPort, Value: NFTRange(80, 90)}}},
	{"ip6 saddr fd00::1 drop", []NFTExpr{NFTMatch{Field: NFTFamilyOf, Value: NFTNumber(10)}, NFTMatch{Field: NFTIP6Src, Value: NFTAddr(netip.MustParseAddr("fd00::1"))}, NFTVerdict{Kind: "drop"}}},
	{"meta nfproto ipv6 drop", []NFTExpr{NFTMatch{Field: NFTFamilyOf, Value: NFTNumber(10)}, NFTVerdict{Kind: "drop"}}},
	{"meta mark & 0x00004000 == 0x00004000 meta mark set meta mark or 0x00000001", []NFTExpr{NFTMatch{Field: NFTMetaMark, Mask: 0x4000, Value: NFTNumber(0x4000)}, NFTOrMark(1)}},
	{"ct mark & 0x00000007 != 0x00000001 ct mark set 0x00000002", []NFTExpr{NFTMatch{Field: NFTCTMark, Mask: 7, Not: true, Value: NFTNumber(1)}, NFTSetMark{CT: true, Xor: 2}}},
	{"meta iifname \"veth*\" fib daddr type local goto own", []NFTExpr{NFTMatch{Field: NFTIIfName, Value: NFTName("veth*")}, NFTMatch{Field: NFTFibDstType, Value: NFTNumber(NFTLocal)}, NFTGoto("own")}},
	{"ip saddr . meta l4proto . th dport != @s jump own", []NFTExpr{NFTLookup{Fields: []NFTField{NFTIPSrc, NFTL4Proto, NFTDPort}, Set: "s", Not: true}, NFTJump("own")}},
	{"ip daddr vmap @v", []NFTExpr{NFTVMap{Fields: []NFTField{NFTIPDst}, Map: "v"}}},
	{"numgen random mod 3 0 dnat ip to 10.0.0.1:80", []NFTExpr{NFTMatch{Field: NFTRandom(3), Value: NFTNumber(0)}, NFTDNAT{To: NFTAddr(netip.MustParseAddr("10.0.0.1")), Port: 80}}},
	{"dnat ip6 to [fd00::1]:80", []NFTExpr{NFTDNAT{IPv6: true, To: NFTAddr(netip.MustParseAddr("fd00::1")), Port: 80}}},
	{"dnat ip addr . port to ip daddr . th dport map @m", []NFTExpr{NFTDNAT{Fields: []NFTField{NFTIPDst, NFTDPort}, Map: "m"}}},
	{"masquerade fully-random", []NFTExpr{NFTMasquerade{FullyRandom: true}}},
	{"notrack", []NFTExpr{NFTNoTrack{}}},
	{"reject with tcp reset", []NFTExpr{NFTReject{With: "tcp reset"}}},
}

func TestRulesAreWrittenAsNFTakesThem(t *testing.T) {
	for _, row := range nftRows {
		r := NFTRule{Exprs: row.exprs}
		if got := r.Words(); got != row.words {
			t.Errorf("got  %s\nwant %s", got, row.words)
		}
	}
	r := NFTRule{Exprs: []NFTExpr{NFTNoTrack{}}, Comment: "why"}
	if raw := NFTRaw([]string{"notrack"}, "why"); r.Words() != raw.Words() {
		t.Errorf("what is read, %s, is unlike what is written, %s", raw.Words(), r.Words())
	}
}

// guardedPair is a plan with a table of all rows.
func guardedPair() *Plan {
	chain := NFTChain{Name: "own"}
	for i, row := range nftRows {
		chain.Rules = append(chain.Rules, NFTRule{Exprs: row.exprs, Comment: strings.Repeat("c", i%3), Origin: Origin{"policy a", "a.hcl", i / 2}})
	}
	addr := func(s string) NFTValue { return NFTAddr(netip.MustParseAddr(s)) }
	t := NFTTable{Family: "inet", Name: "t", Origin: Origin{"policies", "a.hcl", 1}, Sets: []NFTSet{
		{Name: "v", Key: []NFTType{NFTIPv4}, Data: []NFTType{NFTVerdictData}, Elements: []NFTElement{
			{Key: []NFTValue{addr("10.0.0.2")}, Verdict: NFTGoto("own")}, {Key: []NFTValue{addr("10.0.0.1")}, Verdict: NFTVerdict{Kind: "drop"}}}},
		{Name: "m", Key: []NFTType{NFTIPv4, NFTPort}, Data: []NFTType{NFTIPv4, NFTPort}, Elements: []NFTElement{
			{Key: []NFTValue{addr("10.0.0.2"), NFTNumber(80)}, Data: []NFTValue{addr("10.0.0.3"), NFTNumber(81)}}}},
		{Name: "s", Key: []NFTType{NFTIPv4, NFTProto, NFTPort}, Interval: true, Origin: Origin{"policy b", "a.hcl", 2}, Elements: []NFTElement{
			{Key: []NFTValue{NFTPrefix(prefix("10.0.0.0/8")), NFTProtocol("tcp"), NFTRange(80, 90)}}}},
	}, Chains: []NFTChain{chain, {Name: "begin", Type: "filter", Hook: "forward", Priority: -10, Policy: "accept", Rules: []NFTRule{{Exprs: []NFTExpr{NFTJump("own")}}}}}}
	p := pair()
	p.Netns[0].NFT = []NFTTable{t}
	p.Sort()
	return p
}

func TestNFTablesSurviveEncoding(t *testing.T) {
	p := guardedPair()
	var buf bytes.Buffer
	if err := Encode(&buf, p); err != nil {
		t.Fatal(err)
	}
	whole := bytes.Clone(buf.Bytes())
	got, err := Decode(&buf)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, p) {
		t.Errorf("got\n%+v\nwant\n%+v", got, p)
	}
	for n := range whole {
		if _, err := Decode(bytes.NewReader(whole[:n])); err == nil {
			t.Fatalf("no error for the first %d of %d bytes", n, len(whole))
		}
		damaged := bytes.Clone(whole)
		damaged[n] ^= 0x80
		_, _ = Decode(bytes.NewReader(damaged)) // must not panic
	}
}

func TestNFTEditsTouchWhatChanged(t *testing.T) {
	for _, row := range []struct {
		name   string
		change func(t *NFTTable)
		want   string // the commands
	}{
		{"nothing", func(*NFTTable) {}, ""},
		{"an element goes", func(t *NFTTable) { t.Sets[2].Elements = t.Sets[2].Elements[1:] }, "delete element inet t v { 10.0.0.1 }\n"},
		{"another verdict", func(t *NFTTable) { t.Sets[2].Elements[0].Verdict = NFTGoto("own") },
			"delete element inet t v { 10.0.0.1 }\nadd element inet t v { 10.0.0.1 : goto own }\n"},
		{"a rule", func(t *NFTTable) { t.Chains[0].Rules[0].Exprs = []NFTExpr{NFTNoTrack{}} },
			"add chain inet t begin { type filter hook forward priority -10; policy accept; }\nflush chain inet t begin\nadd rule inet t begin notrack\n"},
		{"another priority", func(t *NFTTable) { t.Chains[0].Priority, t.Chains[0].Rules = 0, nil },
			"flush chain inet t begin\ndelete chain inet t begin\nadd chain inet t begin { type filter hook forward priority 0; policy accept; }\nflush chain inet t begin\n"},
		{"a set goes, with the chains", func(t *NFTTable) { t.Sets, t.Chains = t.Sets[:1], nil },
			"flush chain inet t begin\nflush chain inet t own\ndelete set inet t s\ndelete map inet t v\ndelete chain inet t begin\ndelete chain inet t own\n"},
		{"another table", func(t *NFTTable) { *t = NFTTable{Family: "ip", Name: "t"} }, "delete table inet t\ntable ip t {\n}\n"},
	} {
		have, want := guardedPair(), guardedPair()
		row.change(&want.Netns[0].NFT[0])
		var got string
		for _, e := range Diff(have, want).Edit {
			for i := range e.NFT {
				got += e.NFT[i].Commands()
			}
		}
		if got != row.want {
			t.Errorf("%s:\ngot\n%s\nwant\n%s", row.name, got, row.want)
		}
	}
}

// A set of another type is made anew, and the chains that ask it are filled again.
func TestAnNFTSetOfAnotherTypeTakesItsChainsAlong(t *testing.T) {
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
	table.Sets[2].Elements = table.Sets[2].Elements[1:]
	table.Chains[1].Rules = table.Chains[1].Rules[1:]
	table.Chains = append(table.Chains, NFTChain{Name: "strange"})
	lines := strings.Join(Drift(have, want), "\n")
	for _, part := range []string{"map v: element 10.0.0.1 : drop missing", "inet t own: rule missing: ct state established,related accept (a.hcl:0 policy a)", "inet t strange: chain not in the plan"} {
		if !strings.Contains(lines, part) {
			t.Errorf("drift lacks %q:\n%s", part, lines)
		}
	}
}

func TestNFTablesNeedWhatTheyUse(t *testing.T) {
	p := guardedPair()
	got := Requires(p)
	for _, f := range []Feature{FeatureNFT, FeatureNFTRanges, FeatureNFTCT, FeatureNFTFib, FeatureNFTNumgen, FeatureNFTNAT, FeatureNFTReject} {
		if !slices.Contains(got, f) {
			t.Errorf("%s is not required", f)
		}
	}
	if o := RequiredBy(p, FeatureNFTRanges); o.Line != 2 {
		t.Errorf("ranges are required by %v", o)
	}
	less := guardedPair()
	less.Netns[0].NFT[0].Sets[1].Elements = nil
	if got := Diff(p, less).Requires(); !slices.Contains(got, FeatureNFTRanges) || slices.Contains(got, FeatureNFTFib) {
		t.Errorf("the change needs %v", got)
	}
}

func TestNFTablesAsJSON(t *testing.T) {
	b, err := json.Marshal(guardedPair())
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{`"spec":"type ipv4_addr : verdict"`, `"10.0.0.2 : goto own"`, `"hook":"forward","priority":-10,"policy":"accept"`, `"rule":"notrack"`} {
		if !strings.Contains(string(b), part) {
			t.Errorf("no %s in %s", part, b)
		}
	}
}
