package policytest

import (
	"testing"
	"time"

	"github.com/netlab/netlab/datapath"
	"github.com/netlab/netlab/datapath/engine"
	"github.com/netlab/netlab/datapath/flow"
)

// While a lab changes, connections are made continuously. What the policies before and
// after agree on holds throughout: nothing is open or closed in between. Other tests do
// not run at the same time: a slower update would only mean more connections during it.
func TestUpdatesInNamespacesHaveNoGap(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a minute")
	}
	for _, style := range datapath.Styles() {
		if !style.Conforms {
			continue
		}
		t.Run(style.Name, func(t *testing.T) {
			t.Parallel()
			s := Setup{Style: style.Name, Mode: "vxlan", Deny: "reject"}
			r, lab, l := enter(t, &s), start(t), newLife(7)
			old := r.judge(t, l.now("at first"), s.planes(0)[:1])
			apply(t, lab, old.plan)
			kernel(t, lab, old.questions, r.rightEnds(old)) // until the links work
			for range 100 {
				next := r.judge(t, l.now(l.change()), s.planes(0)[:1])
				r.stream(t, lab, old, next)
				old = next
			}
		})
	}
}

// stream applies a case while connections are made.
func (r *testLab) stream(t *testing.T, lab *engine.Client, old, next *judged) {
	t.Helper()
	before, after := r.rightEnds(old), r.rightEnds(next)
	flows := make([]flow.Flow, 0, len(next.questions))
	for i := range next.questions {
		f := next.questions[i].flow
		f.Within = 5 * time.Second
		flows = append(flows, f)
	}
	done := make(chan error, 1)
	probe := func(check func(i int, seen flow.Observation)) {
		seen, err := lab.Probe(t.Context(), flows)
		if err != nil {
			t.Fatal(err)
		}
		for i, s := range seen {
			check(i, s)
		}
	}
	go func() {
		_, err := lab.Apply(t.Context(), next.plan, engine.Meta{}, false)
		done <- err
	}()
	for applied := false; !applied; {
		select {
		case err := <-done:
			if err != nil {
				t.Fatal(err)
			}
			applied = true
		default:
		}
		final := applied
		probe(func(i int, s flow.Observation) {
			is := func(e flow.Result) bool { return s.Outcome == e.Outcome && s.Answer == e.Answer }
			if !is(after[i]) && (final || !is(before[i])) {
				t.Errorf("%s: %s (update done: %v): got %s %s, before it was %s, after %s", next.Name, next.questions[i].name, final, s.Result(), s.Err, before[i], after[i])
			}
		})
	}
}
