package policytest

import (
	"slices"
	"testing"

	"github.com/netlab/netlab/datapath"
	"github.com/netlab/netlab/datapath/flow"
	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/datapath/plan/iptables"
	"github.com/netlab/netlab/topology"
)

// Faults of real policy engines, reproduced in namespaces: packets show them, as
// predicted on paper.
func TestFaultsInNamespaces(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	t.Parallel()
	r := enter(t, &Setup{Style: "kube-router", Mode: "vxlan", Deny: "reject"})
	lab := start(t)
	damaged := func(f func(*iptables.Chain, *iptables.Rule)) func(*testing.T, *judged) *plan.Plan {
		return func(_ *testing.T, j *judged) *plan.Plan { damage(j.plan, f); return j.plan }
	}
	for _, row := range []struct {
		name  string
		c     Case
		fault func(*testing.T, *judged) *plan.Plan
		// wrong is a connection with another result; opened: it succeeds.
		wrong  string
		opened bool
	}{
		{"a terminal ACCEPT in the policy's chain: the policies of the other pod on the node are skipped",
			one("", policy("x", "pod=a", types("Egress"), out(pods(""))), policy("x", "pod=c", types("Ingress"))), damaged(acceptInPolicies), "x/a to x/c", true},
		{"one chain for both directions: ingress rules also allow egress",
			one("", policy("x", "", types("Ingress", "Egress"), in(pods("")))), damaged(askBothWays), "x/a to x/c", true},
		{"one set for all blocks of a rule: an exception applies to another block",
			one("", policy("y", "pod=b", types("Ingress"), in(block("pods"), block("pods of node1", "x/a")))),
			func(t *testing.T, j *judged) *plan.Plan { return sharingExceptions(t, j.lab) }, "x/a to y/b", false},
	} {
		j := r.judge(t, &row.c, r.planes(0))
		right := r.rightEnds(j)
		apply(t, lab, j.plan)
		j.Case.Name = row.name
		r.report(t, j, right, kernel(t, lab, j.questions, right))
		faulty := row.fault(t, j)
		apply(t, lab, faulty)
		predicted := paper(faulty, j.questions)
		seen := kernel(t, lab, j.questions, predicted)
		r.report(t, j, predicted, seen)
		i := slices.IndexFunc(j.questions, func(q question) bool { return q.name == row.wrong })
		if opened := seen[i].Outcome == flow.Connected; opened != row.opened || j.allowed[i] == opened {
			t.Errorf("%s: %s: made %v, allowed %v", row.name, row.wrong, opened, j.allowed[i])
		}
	}
}

// A node knows connections only from when it began to track them. If it begins with the
// first policy, that policy cuts existing connections.
func TestLazyConnectionTrackingInNamespaces(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	t.Parallel()
	for _, style := range datapath.Styles() {
		if !style.Conforms {
			continue
		}
		for name, lazy := range map[string]bool{"from the beginning": false, "lazy": true} {
			t.Run(style.Name+"/"+name, func(t *testing.T) {
				t.Parallel()
				firstPolicy(t, enter(t, &Setup{Style: style.Name, Mode: "host-gw", Deny: "drop"}), lazy)
			})
		}
	}
}

// firstPolicy holds connections to y/b while the first policy is added, which denies
// them; there are no services, whose rules would enable connection tracking, too.
func firstPolicy(t *testing.T, r *testLab, lazy bool) {
	t.Helper()
	lab := start(t)
	bare := func(_ *testLab, spec *topology.Spec) { spec.Proxy.Mode, spec.Services = set("none"), nil }
	_, _, before := r.open(t, &Case{Say: []statement{bare}})
	if lazy {
		for i := range before.Netns {
			untrack(&before.Netns[i])
		}
	}
	apply(t, lab, before)
	from := []string{"x/a", "x/b"}
	h := &holders{}
	for _, f := range from {
		i := slices.IndexFunc(r.questions(r.planes(0)[:1]), func(q question) bool { return q.name == f+" to y/b" })
		q := r.questions(r.planes(0)[:1])[i]
		made := []flow.Result{{Outcome: flow.Connected, Answer: q.to.agent}}
		if got := kernel(t, lab, []question{q}, made); got[0].Outcome != flow.Connected {
			t.Fatalf("%s: %s", q.name, got[0])
		}
		h.flows = append(h.flows, []heldFlow{{f, q.flow}})
		h.list = append(h.list, startHolder(t, lab, q.from.netns, []flow.Flow{q.flow}))
	}
	h.compare(t, "at first", nil)
	_, _, after := r.open(t, &Case{Say: []statement{bare, policy("y", "pod=b", types("Ingress"))}})
	apply(t, lab, after)
	if !lazy {
		from = nil
	}
	h.compare(t, "after the first policy", from)
}
