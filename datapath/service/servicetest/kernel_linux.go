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
	"github.com/netlab/netlab/datapath/walk/render"
)

// Connections per case. With some ends to see there are some at first, which miss one of three
// equally likely endpoints three times in ten thousand; then as many more until all are seen, or
// too many for that to be chance, once in ten billion times.
const (
	some = 20
	many = 60
	few  = 2
	side = 2000 // connections at a time
	// With a proxy in user space: on two busy processors each of 2,000 would wait longer for
	// its turn than the proxy remembers a client of UDP.
	fewer = 200
)

// patience is the timeout of connections that should succeed: a busy machine loses
// packets, and TCP retransmits a SYN after 1 and 3 seconds.
const patience = 4 * time.Second

// labLimit is how long a lab may take with all its questions, on a machine of ordinary
// speed.
const labLimit = 4 * time.Minute

// Kernel builds the lab and makes real connections. The test program's TestMain must
// call engine.Main. Setups that this machine cannot build are skipped.
func Kernel(t testing.TB, p *plan.Plan, cases []Case) []Result {
	t.Helper()
	scale := flow.TimeScale()
	ctx, cancel := context.WithTimeout(context.Background(), time.Duration(float64(labLimit)*scale))
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
	tr := trial{t: t, lab: lab, cases: cases, results: results, within: flow.Stretched(time.Second, scale), mistakes: balances(p), forgets: forgets(p)}
	tr.ask(ctx)
	if tr.late > 0 {
		t.Logf("%d of %d connections were answered only after %v", tr.late, tr.dialed, tr.within)
	}
	if tr.mistaken > 0 {
		t.Logf("%d of %d connections were dialed again", tr.mistaken, tr.dialed)
	}
	world := walk.New(p)
	for i := range cases {
		if cases[i].judge(results[i]) != "" {
			results[i].Trace = "on paper:\n" + render.Text(world.Walk(cases[i].Flow), render.Brief)
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

// trial is a lab in which the cases are tried.
type trial struct {
	t       testing.TB
	lab     *engine.Client
	cases   []Case
	results []Result
	within  time.Duration // of connections that may time out
	// mistakes: IPVS may mistake a connection for another one. forgets: a proxy in user space
	// may forget a client of UDP before the answer comes.
	mistakes, forgets      bool
	dialed, late, mistaken int
}

// balances reports whether a plan has virtual servers.
func balances(p *plan.Plan) bool {
	return slices.ContainsFunc(p.Netns, func(n plan.Netns) bool { return len(n.Virtual) > 0 })
}

// forgets reports whether a plan has a proxy in user space. It forgets a client of UDP after a
// quarter of a second (--proxy-udp-timeout of kube-proxy), which an answer takes on a machine
// that is very busy.
func forgets(p *plan.Plan) bool {
	return slices.ContainsFunc(p.Netns, func(n plan.Netns) bool { return len(n.ProxyPorts) > 0 })
}

// ask connects for each case. Sticky clients connect once before the others, to
// establish the affinity.
func (tr *trial) ask(ctx context.Context) {
	var first, rest []flow.Flow
	var owners, firstOwners []int
	for _, i := range patientFirst(tr.cases) {
		c := &tr.cases[i]
		f := tr.flow(c)
		n := few
		if len(c.Ends) > 1 {
			n = some
		}
		if c.Sticky {
			first, firstOwners = append(first, f), append(firstOwners, i)
			n = 10
		}
		for range n {
			rest, owners = append(rest, f), append(owners, i)
		}
	}
	tr.probe(ctx, first, firstOwners)
	tr.probe(ctx, rest, owners)
	tr.more(ctx)
	for _, i := range firstOwners {
		tr.results[i].Strayed = len(tr.results[i].Ends) > 1
	}
}

// flow is the connection of a case.
func (tr *trial) flow(c *Case) flow.Flow {
	f := c.Flow
	f.Within = patience
	if slices.Contains(c.Ends, timeout[0]) {
		f.Within = tr.within
	}
	return f
}

// more connects until all ends of a case are seen.
func (tr *trial) more(ctx context.Context) {
	for range (many - some) / some {
		var flows []flow.Flow
		var owners []int
		for i := range tr.cases {
			c := &tr.cases[i]
			seen := func(end flow.Result) bool { return slices.Contains(tr.results[i].Ends, end) }
			if c.Sticky || !slices.ContainsFunc(c.Ends, func(end flow.Result) bool { return !seen(end) }) {
				continue
			}
			for range some {
				flows, owners = append(flows, tr.flow(c)), append(owners, i)
			}
		}
		tr.probe(ctx, flows, owners)
	}
}

// patientFirst returns the indexes of the cases, those first that wait for a timeout:
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

// probe adds the results of flows to the cases that they belong to.
func (tr *trial) probe(ctx context.Context, flows []flow.Flow, owners []int) {
	for len(flows) > 0 {
		n := side
		if tr.forgets && flows[0].Within == patience { // those that time out wait together
			n = fewer
		}
		n = min(n, len(flows))
		seen := tr.dial(ctx, flows[:n])
		tr.dialed += n
		if tr.mistakes || tr.forgets {
			tr.again(ctx, seen, owners)
		}
		for i, s := range seen {
			if s.Outcome != flow.Timeout && s.Took > tr.within {
				tr.late++
			}
			if r, end := &tr.results[owners[i]], s.Result().Core(); !slices.Contains(r.Ends, end) {
				r.Ends = append(r.Ends, end)
			}
		}
		flows, owners = flows[n:], owners[n:]
	}
}

func (tr *trial) dial(ctx context.Context, flows []flow.Flow) []flow.Observation {
	seen, err := tr.lab.Probe(ctx, flows)
	if err != nil {
		tr.t.Fatal(err)
	}
	return seen
}

// again retries connections that timed out although they should not, from another port. A
// node that masquerades picks ports at random; when another node has had an IPVS
// connection from the same address and port to the same endpoint in the last ten seconds,
// IPVS there matches the replies to that one (package ipvs explains why). That is one
// connection in thousands; if it is more than one in a hundred, there is no retry. With a proxy in
// user space (forgets) it is the same for UDP alone.
func (tr *trial) again(ctx context.Context, seen []flow.Observation, owners []int) {
	var flows []flow.Flow
	var places []int
	for i, s := range seen {
		if s.Outcome == flow.Timeout && (tr.mistakes || s.Flow.Protocol == flow.UDP) && !slices.Contains(tr.cases[owners[i]].Ends, timeout[0]) {
			flows, places = append(flows, s.Flow), append(places, i)
		}
	}
	if len(flows) == 0 || len(flows) > 5+len(seen)/100 {
		return
	}
	tr.mistaken += len(flows)
	for j, s := range tr.dial(ctx, flows) {
		seen[places[j]] = s
	}
}
