package plan

import (
	"slices"
	"strings"
	"testing"

	"github.com/netlab/netlab/datapath/plan/iptables"
)

func TestRequiresFollowsThePlan(t *testing.T) {
	want := []Feature{FeatureNetNS, FeatureVeth, FeatureBridge, FeatureVXLAN, FeatureConntrack, FeatureIPTables,
		FeatureMatchComment, FeatureTargetDNAT}
	if got := Requires(pair()); !slices.Equal(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
	if got := Requires(&Plan{}); len(got) != 0 {
		t.Errorf("the empty plan requires %q", got)
	}
}

func TestRequiresKnowsEveryMatchAndTarget(t *testing.T) {
	p := &Plan{Netns: []Netns{{Name: "node.a", Sysctls: []Sysctl{{"net.bridge.bridge-nf-call-iptables", "1"}},
		Tables: []iptables.Table{{Name: "nat", Chains: []iptables.Chain{{Name: "X"}}}}}}}
	c := &p.Netns[0].Tables[0].Chains[0]
	c.Rules = append(c.Rules, iptables.Rule{Matches: append(iptables.Matches.All(), iptables.Proto{Name: "sctp"})})
	for _, target := range iptables.Targets.All() {
		c.Rules = append(c.Rules, iptables.Rule{Target: target})
	}
	got := Requires(p)
	for _, f := range AllFeatures() {
		extension := strings.HasPrefix(string(f), "iptables match") || strings.HasPrefix(string(f), "iptables target")
		if (extension || f == FeatureBrNetfilter) && slices.Contains(got, f) == (f == FeatureMatchNFAcct) { // which can be left out
			t.Errorf("%s: required %t", f, slices.Contains(got, f))
		}
	}
}

func TestEveryFeatureHasItsCostAndRemedy(t *testing.T) {
	seen := map[Feature]bool{}
	for _, f := range AllFeatures() {
		a := f.About()
		with, without := a.RemedyWhere(func(string) bool { return true }), a.RemedyWhere(func(string) bool { return false })
		if strings.Contains(without, "modprobe") || a.Module != "" && !strings.Contains(with, "modprobe "+a.Module) {
			t.Errorf("%s: %s; without the module: %s", f, with, without)
		}
		if a.Costs == "" || a.Remedy == "" || a.Config == "" {
			t.Errorf("%s: %+v", f, a)
		}
		if seen[f] {
			t.Errorf("%s is listed twice", f)
		}
		seen[f] = true
	}
}
