package plan

import (
	"slices"
	"strings"
	"testing"

	"github.com/netlab/netlab/datapath/plan/feature"
	"github.com/netlab/netlab/datapath/plan/iptables"
)

func TestRequiresFollowsThePlan(t *testing.T) {
	want := []feature.Feature{feature.NetNS, feature.Veth, feature.Bridge, feature.VXLAN, feature.Conntrack, feature.IPTables,
		feature.MatchComment, feature.TargetDNAT}
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
	for _, f := range feature.All() {
		extension := strings.HasPrefix(string(f), "iptables match") || strings.HasPrefix(string(f), "iptables target")
		if (extension || f == feature.BrNetfilter) && slices.Contains(got, f) == (f == feature.MatchNFAcct) { // which can be left out
			t.Errorf("%s: required %t", f, slices.Contains(got, f))
		}
	}
}
