package servicetest

import (
	"slices"
	"testing"

	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/datapath/plan/iptables"
)

// A test that never fails is worthless: each of these mistakes in the rules must be
// noticed.
func TestMistakesAreNoticed(t *testing.T) {
	const markMasq = "KUBE-MARK-MASQ"
	chain := func(c *iptables.Chain, prefix string) bool {
		return len(c.Name) >= len(prefix) && c.Name[:len(prefix)] == prefix
	}
	jumps := func(r *iptables.Rule, to string) bool { return r.Target == iptables.Target(iptables.Jump{Chain: to}) }
	has := func(r *iptables.Rule, is func(iptables.Match) bool) bool {
		for _, m := range r.Matches {
			if is(m) {
				return true
			}
		}
		return false
	}
	fromPods := func(m iptables.Match) bool { s, ok := m.(iptables.Src); return ok && !s.Not }
	fromNode := func(m iptables.Match) bool { a, ok := m.(iptables.AddrType); return ok && a.Src == "LOCAL" }
	notPods := func(m iptables.Match) bool { s, ok := m.(iptables.Src); return ok && s.Not }
	recent := func(m iptables.Match) bool { _, ok := m.(iptables.Recent); return ok }
	for _, row := range []struct {
		name  string
		wrong func(table string, c *iptables.Chain, r *iptables.Rule) bool // rules to remove
	}{
		{"no hairpin masquerade", func(_ string, c *iptables.Chain, r *iptables.Rule) bool {
			return chain(c, "KUBE-SEP-") && jumps(r, markMasq)
		}},
		{"no masquerade of external traffic", func(_ string, c *iptables.Chain, r *iptables.Rule) bool {
			return chain(c, "KUBE-EXT-") && jumps(r, markMasq) && !has(r, fromNode)
		}},
		{"no masquerade of the node's own traffic", func(_ string, c *iptables.Chain, r *iptables.Rule) bool {
			return chain(c, "KUBE-EXT-") && jumps(r, markMasq) && has(r, fromNode)
		}},
		{"no masquerade of outside clients to cluster IPs", func(_ string, c *iptables.Chain, r *iptables.Rule) bool { return jumps(r, markMasq) && has(r, notPods) }},
		{"no short circuit for pods", func(_ string, c *iptables.Chain, r *iptables.Rule) bool {
			return chain(c, "KUBE-EXT-") && has(r, fromPods)
		}},
		{"no short circuit for the node", func(_ string, c *iptables.Chain, r *iptables.Rule) bool {
			return chain(c, "KUBE-EXT-") && has(r, fromNode) && !jumps(r, markMasq)
		}},
		{"no rejection", func(_ string, _ *iptables.Chain, r *iptables.Rule) bool {
			_, ok := r.Target.(iptables.Reject)
			return ok
		}},
		{"no drop in the load balancer's firewall", func(_ string, c *iptables.Chain, r *iptables.Rule) bool { return c.Name == "KUBE-PROXY-FIREWALL" }},
		{"no drop without local endpoints", func(_ string, c *iptables.Chain, r *iptables.Rule) bool {
			_, drop := r.Target.(iptables.Drop)
			return drop && (c.Name == "KUBE-SERVICES" || c.Name == "KUBE-EXTERNAL-SERVICES")
		}},
		{"no affinity", func(_ string, c *iptables.Chain, r *iptables.Rule) bool {
			return chain(c, "KUBE-SVC-") && has(r, recent)
		}},
		{"no external rejection when forwarding", func(_ string, c *iptables.Chain, r *iptables.Rule) bool {
			return c.Name == "FORWARD" && jumps(r, "KUBE-EXTERNAL-SERVICES")
		}},
		{"no node ports", func(_ string, _ *iptables.Chain, r *iptables.Rule) bool { return jumps(r, "KUBE-NODEPORTS") }},
		{"no masquerade at all", func(table string, c *iptables.Chain, _ *iptables.Rule) bool {
			return table == "nat" && c.Name == "KUBE-POSTROUTING"
		}},
		{"one endpoint less", func(_ string, c *iptables.Chain, r *iptables.Rule) bool {
			return chain(c, "KUBE-SVC-") && has(r, func(m iptables.Match) bool { x, ok := m.(iptables.Random); return ok && x.Probability < 0.4 })
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			r := open(t, &Setup{Mode: "host-gw", Backend: "iptables"})
			for i := range r.plan.Netns {
				damage(&r.plan.Netns[i], row.wrong)
			}
			noticed(t, r)
		})
	}
}

// noticed fails unless the exam notices what is wrong with a plan.
func noticed(t *testing.T, r *testLab) {
	t.Helper()
	asked := 0
	for part := range slices.Chunk(r.cases(), 100) {
		for i, result := range Paper(t, r.plan, part) {
			if part[i].judge(result) != "" {
				return
			}
		}
		asked += len(part)
	}
	t.Errorf("none of %d cases notices", asked)
}

func damage(n *plan.Netns, wrong func(string, *iptables.Chain, *iptables.Rule) bool) {
	for i := range n.Tables {
		for j := range n.Tables[i].Chains {
			c := &n.Tables[i].Chains[j]
			var rules []iptables.Rule
			for k := range c.Rules {
				if !wrong(n.Tables[i].Name, c, &c.Rules[k]) {
					rules = append(rules, c.Rules[k])
				}
			}
			c.Rules = rules
		}
	}
}

func TestThereAreManyCases(t *testing.T) {
	for _, s := range Setups("iptables") {
		names := map[string]bool{}
		cases := open(t, &s).cases()
		for _, c := range cases {
			if names[c.Name] {
				t.Errorf("%s: %q is asked twice", s.Name, c.Name)
			}
			names[c.Name] = true
		}
		if len(cases) < 120 {
			t.Errorf("%s: %d cases", s.Name, len(cases))
		}
	}
}
