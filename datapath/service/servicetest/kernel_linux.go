package servicetest

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/netlab/netlab/datapath/engine"
	"github.com/netlab/netlab/datapath/flow"
	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/datapath/walk"
)

// Connections per case. Of three endpoints with equal chances, one is missed by all
// of many connections once in ten billion times.
const (
	many = 60
	few  = 2
	side = 2000 // connections at a time
)

// Kernel makes the lab and connects for real. The test program's TestMain has to
// call engine.Main. Setups that this machine cannot make are skipped.
func Kernel(t testing.TB, p *plan.Plan, cases []Case) []Result {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 4*time.Minute)
	t.Cleanup(cancel)
	lab, err := engine.Start(ctx, "")
	skipUnsupported(t, err)
	t.Cleanup(func() {
		if err := lab.Down(context.Background()); err != nil {
			t.Error(err)
		}
	})
	_, err = lab.Apply(ctx, p, engine.Meta{}, false)
	skipUnsupported(t, err)

	results := make([]Result, len(cases))
	// Whatever is unlike the right answer is tried again: on a busy machine an
	// answer may come late.
	for _, within := range []time.Duration{time.Second, 3 * time.Second} {
		e := exam{t: t, lab: lab, within: within}
		e.sit(ctx, cases, results)
	}
	world := walk.New(p)
	for i := range cases {
		if cases[i].judge(results[i]) != "" {
			results[i].Trace = "on paper:\n" + world.Walk(cases[i].Flow).Text(walk.Brief)
		}
	}
	return results
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

// exam is one pass over the cases.
type exam struct {
	t      testing.TB
	lab    *engine.Client
	within time.Duration
}

// sit connects for each case that has no right result yet. Sticky clients connect
// once before the others, so that there is something to stick to.
func (e *exam) sit(ctx context.Context, cases []Case, results []Result) {
	var first, rest []flow.Flow
	var owners, firstOwners []int
	for _, i := range patientFirst(cases) {
		c := &cases[i]
		if c.judge(results[i]) == "" {
			continue
		}
		results[i] = Result{}
		f := c.Flow
		f.Within = e.within
		n := few
		if len(c.Ends) > 1 {
			n = many
		}
		if c.Sticky {
			first, firstOwners = append(first, f), append(firstOwners, i)
			n = 10
		}
		for range n {
			rest, owners = append(rest, f), append(owners, i)
		}
	}
	e.probe(ctx, first, firstOwners, results)
	e.probe(ctx, rest, owners, results)
	for _, i := range firstOwners {
		results[i].Strayed = len(results[i].Ends) > 1
	}
}

// patientFirst returns the places of the cases, those first that wait for a timeout:
// they wait together.
func patientFirst(cases []Case) []int {
	var patient, others []int
	for i := range cases {
		if slices.Contains(cases[i].Ends, timeout[0]) {
			patient = append(patient, i)
			continue
		}
		others = append(others, i)
	}
	return append(patient, others...)
}

// probe adds the ends of flows to the results of the cases that they belong to.
func (e *exam) probe(ctx context.Context, flows []flow.Flow, owners []int, results []Result) {
	for len(flows) > 0 {
		n := min(side, len(flows))
		seen, err := e.lab.Probe(ctx, flows[:n])
		if err != nil {
			e.t.Fatal(err)
		}
		for j, s := range seen {
			if r := &results[owners[j]]; !slices.Contains(r.Ends, s.End()) {
				r.Ends = append(r.Ends, s.End())
			}
		}
		flows, owners = flows[n:], owners[n:]
	}
}
