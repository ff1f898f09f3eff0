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

// patience is how long somebody waits who shall get an answer: a busy machine loses
// packets, and TCP sends its first one again after 1 and 3 seconds.
const patience = 4 * time.Second

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
	scale := flow.TimeScale()
	e := exam{t: t, lab: lab, cases: cases, results: results, within: flow.Stretched(time.Second, scale), mistakes: balances(p)}
	e.sit(ctx)
	if e.late > 0 {
		t.Logf("%d of %d connections were answered only after %v", e.late, e.dialed, e.within)
	}
	if e.mistaken > 0 {
		t.Logf("%d of %d connections were dialed again", e.mistaken, e.dialed)
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

// exam is a lab in which the cases are asked.
type exam struct {
	t       testing.TB
	lab     *engine.Client
	cases   []Case
	results []Result
	within  time.Duration // of connections that may time out
	// mistakes: IPVS may take a connection for another one.
	mistakes               bool
	dialed, late, mistaken int
}

// balances reports whether a plan has virtual servers.
func balances(p *plan.Plan) bool {
	return slices.ContainsFunc(p.Netns, func(n plan.Netns) bool { return len(n.Virtual) > 0 })
}

// sit connects for each case. Sticky clients connect once before the others, so that
// there is something to stick to.
func (e *exam) sit(ctx context.Context) {
	var first, rest []flow.Flow
	var owners, firstOwners []int
	for _, i := range patientFirst(e.cases) {
		c := &e.cases[i]
		f := c.Flow
		f.Within = patience
		if slices.Contains(c.Ends, timeout[0]) {
			f.Within = e.within
		}
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
	e.probe(ctx, first, firstOwners)
	e.probe(ctx, rest, owners)
	for _, i := range firstOwners {
		e.results[i].Strayed = len(e.results[i].Ends) > 1
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
func (e *exam) probe(ctx context.Context, flows []flow.Flow, owners []int) {
	for len(flows) > 0 {
		n := min(side, len(flows))
		seen := e.dial(ctx, flows[:n])
		e.dialed += n
		if e.mistakes {
			e.again(ctx, seen, owners)
		}
		for i, s := range seen {
			if s.Outcome != flow.Timeout && s.Took > e.within {
				e.late++
			}
			if r := &e.results[owners[i]]; !slices.Contains(r.Ends, s.End()) {
				r.Ends = append(r.Ends, s.End())
			}
		}
		flows, owners = flows[n:], owners[n:]
	}
}

func (e *exam) dial(ctx context.Context, flows []flow.Flow) []flow.Seen {
	seen, err := e.lab.Probe(ctx, flows)
	if err != nil {
		e.t.Fatal(err)
	}
	return seen
}

// again dials once more where nothing came although something should, from another
// port. A node that masquerades gives connections ports by chance; when another node has
// had a connection by IPVS from the same address and port to the same endpoint in the
// last ten seconds, IPVS there takes the answers for that one's (package ipvs tells why).
// That is one connection in thousands; of more than one in a hundred nobody asks again.
func (e *exam) again(ctx context.Context, seen []flow.Seen, owners []int) {
	var flows []flow.Flow
	var places []int
	for i, s := range seen {
		if s.Outcome == flow.Timeout && !slices.Contains(e.cases[owners[i]].Ends, timeout[0]) {
			flows, places = append(flows, s.Flow), append(places, i)
		}
	}
	if len(flows) == 0 || len(flows) > 5+len(seen)/100 {
		return
	}
	e.mistaken += len(flows)
	for j, s := range e.dial(ctx, flows) {
		seen[places[j]] = s
	}
}
