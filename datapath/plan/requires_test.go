package plan

import (
	"errors"
	"slices"
	"strings"
	"testing"
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
		Tables: []Table{{Name: "nat", Chains: []Chain{{Name: "X"}}}}}}}
	for _, row := range ruleRows {
		c := &p.Netns[0].Tables[0].Chains[0]
		c.Rules = append(c.Rules, row.rule)
	}
	c := &p.Netns[0].Tables[0].Chains[0]
	c.Rules = append(c.Rules, Rule{Matches: []Match{IPVS{}}}) // no row: few kernels have it
	got := Requires(p)
	for _, f := range AllFeatures() {
		extension := strings.HasPrefix(string(f), "iptables match") || strings.HasPrefix(string(f), "iptables target")
		if (extension || f == FeatureBrNetfilter) && !slices.Contains(got, f) {
			t.Errorf("%s is not required", f)
		}
	}
}

func TestEveryFeatureSaysWhatItCostsAndTheWayOut(t *testing.T) {
	seen := map[Feature]bool{}
	for _, f := range AllFeatures() {
		a := f.About()
		if a.Costs == "" || a.WayOut == "" || a.Config == "" {
			t.Errorf("%s: %+v", f, a)
		}
		if seen[f] {
			t.Errorf("%s is listed twice", f)
		}
		seen[f] = true
	}
}

func TestMissingNamesRequiredFeaturesOnly(t *testing.T) {
	have := Features{FeatureVXLAN: errors.New("operation not supported"), FeatureIPVS: errors.New("no"), FeatureVeth: nil}
	got := Missing([]Feature{FeatureVeth, FeatureBridge, FeatureVXLAN}, have)
	if !slices.Equal(got, []Feature{FeatureVXLAN}) {
		t.Errorf("got %q", got)
	}
}

func TestRequiredByNamesTheLine(t *testing.T) {
	for f, want := range map[Feature]string{
		FeatureVXLAN: "a.hcl:3 node node1", FeatureTargetDNAT: "a.hcl:12 service default/web",
		FeatureIPTables: "a.hcl:12 service default/web", FeatureVeth: "a.hcl:9 pod web-0", FeatureIPVS: "",
	} {
		if got := RequiredBy(pair(), f).String(); got != want {
			t.Errorf("%s: got %q, want %q", f, got, want)
		}
	}
}
