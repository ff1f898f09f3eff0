package engine

import (
	"context"
	"strings"
	"testing"

	"github.com/netlab/netlab/datapath/kernel/features"
	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/datapath/plan/feature"
	"github.com/netlab/netlab/datapath/plan/iptables"
)

// counting is a namespace with rules that count in accounting objects.
func counting() *plan.Plan {
	invalid := iptables.CTState{States: []string{"INVALID"}}
	p := &plan.Plan{Lab: "counting", Netns: []plan.Netns{{Name: "node.a", Kind: plan.Node,
		Tables: []iptables.Table{{Name: "filter", Chains: []iptables.Chain{{Name: "FORWARD", Policy: "ACCEPT", Rules: []iptables.Rule{
			{Matches: []iptables.Match{invalid, iptables.NFAcct{Object: "alone", Alone: true}}, Target: iptables.Drop{}},
			{Matches: []iptables.Match{invalid, iptables.NFAcct{Object: "some"}}, Target: iptables.Drop{}},
		}}}}},
	}}}
	p.Sort()
	return p
}

// Where the kernel has no accounting objects the rules do without, and the lab is as
// planned all the same.
func TestRulesCountWhereTheKernelCan(t *testing.T) {
	for name, can := range map[string]bool{"with accounting objects": true, "without": false} {
		t.Run(name, func(t *testing.T) {
			ctx := context.Background()
			for f, err := range features.Missing(ctx, []feature.Feature{feature.MatchNFAcct}) {
				if can {
					t.Skipf("this kernel lacks %s: %v", f, err)
				}
			}
			e, err := newEngine(nil)
			if err != nil {
				t.Fatal(err)
			}
			defer e.kernel.Close("")
			if !can {
				e.accounting = func() bool { return false }
			}
			encoded, err := plan.Encode(counting())
			if err != nil {
				t.Fatal(err)
			}
			for round, changed := range []bool{true, false} {
				r, _, err := e.change(ctx, request{plan: string(encoded)})
				if err != nil {
					t.Fatal(err)
				}
				if (r.Applied.Summary != "") != changed {
					t.Errorf("round %d: changed %q", round, r.Applied.Summary)
				}
				e.digest = 0 // read it all again
			}
			have, err := e.kernel.Read(ctx, e.kernel.Applied())
			if err != nil {
				t.Fatal(err)
			}
			var rules []string
			for _, c := range have.Netns[0].Tables[0].Chains {
				for _, r := range c.Rules {
					rules = append(rules, r.Save())
				}
			}
			want := map[bool]int{true: 2, false: 1}[can]
			if len(rules) != want || strings.Contains(strings.Join(rules, ""), "nfacct") != can {
				t.Errorf("rules:\n%s", strings.Join(rules, "\n"))
			}
		})
	}
}
