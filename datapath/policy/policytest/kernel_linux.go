package policytest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/netlab/netlab/datapath/engine"
	"github.com/netlab/netlab/datapath/flow"
	"github.com/netlab/netlab/datapath/plan"
)

// start starts an empty lab, which ends with the test. The test program's TestMain must
// call engine.Main.
func start(t testing.TB) *engine.Client {
	t.Helper()
	lab, err := engine.Start(t.Context(), "")
	skipUnsupported(t, err)
	t.Cleanup(func() {
		if err := lab.Down(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return lab
}

func apply(t testing.TB, lab *engine.Client, p *plan.Plan) {
	t.Helper()
	_, err := lab.Apply(t.Context(), p, engine.Meta{}, false)
	skipUnsupported(t, err)
}

func skipUnsupported(t testing.TB, err error) {
	t.Helper()
	var lacks *engine.UnsupportedError
	if errors.As(err, &lacks) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// kernel makes real connections, all at once. Wrong ones are retried with longer
// timeouts: on a busy machine an answer may come late, and a denied connection may have
// matched a conntrack entry of the same ports. Dropped connections wait for their
// timeout together.
func kernel(t testing.TB, lab *engine.Client, questions []question, right []flow.Result) []flow.Result {
	t.Helper()
	ends := make([]flow.Result, len(questions))
	var open []int
	for i := range questions {
		open = append(open, i)
	}
	for _, patience := range []time.Duration{400 * time.Millisecond, 1500 * time.Millisecond, 4 * time.Second} {
		flows := make([]flow.Flow, 0, len(open))
		for _, i := range open {
			f := questions[i].flow
			f.Within = patience
			flows = append(flows, f)
		}
		seen, err := lab.Probe(t.Context(), flows)
		if err != nil {
			t.Fatal(err)
		}
		var wrong []int
		for k, i := range open {
			ends[i] = seen[k].Result()
			if ends[i].Outcome != right[i].Outcome || ends[i].Answer != right[i].Answer {
				wrong = append(wrong, i)
				if seen[k].Outcome == flow.Failed && len(wrong) == 1 {
					t.Logf("%s to %s: %s", seen[k].Flow.From, seen[k].Flow.To, seen[k].Err)
				}
			}
		}
		if open = wrong; len(open) == 0 {
			break
		}
	}
	return ends
}
