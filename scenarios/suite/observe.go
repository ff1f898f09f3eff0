//go:build linux

package suite

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/netlab/netlab/datapath/engine"
	"github.com/netlab/netlab/datapath/flow"
	"github.com/netlab/netlab/reports"
	"github.com/netlab/netlab/scenarios/expect"
	"github.com/netlab/netlab/scenarios/expect/trial"
	"github.com/netlab/netlab/topology"
)

// between and longest are the pauses before connections are dialed again; each is twice
// the one before.
const (
	between = 20 * time.Millisecond
	longest = 500 * time.Millisecond
)

// breakAndObserve stages the faults of a lab, one after the other, and judges the
// expectations of each. Then the lab is as planned again.
func (r *Runner) breakAndObserve(ctx context.Context, x *run, lab *engine.Client) error {
	broken := false
	for _, f := range x.lab.Scenario.Faults {
		claims, w := x.lab.claimsDuring(f), x.paper[f]
		err := w.err
		if err == nil && ctx.Err() == nil && len(claims) > 0 {
			broken = true
			_, err = lab.Apply(ctx, w.plan, r.meta(x), false)
		}
		if err == nil && ctx.Err() == nil {
			r.observe(ctx, x, lab, f)
			continue
		}
		for _, i := range claims {
			x.results[i] = x.lab.result(x.lab.Scenario.Expects[i])
			switch {
			case ctx.Err() != nil: // no status: it did not run
			case w.err != nil:
				x.results[i].Status, x.results[i].Reason = reports.Skipped, unstaged(x.lab.Scenario.Expects[i], err)
			default:
				notRun(&x.results[i], err, "the fault could not be staged: "+err.Error())
			}
			close(x.done[i])
		}
	}
	if !broken || ctx.Err() != nil {
		return nil
	}
	if _, err := lab.Apply(ctx, x.lab.Plan, r.meta(x), false); err != nil {
		return fmt.Errorf("put right after the last fault: %w", err)
	}
	return unchanged(ctx, lab, x.lab.Plan, r.meta(x))
}

// observe judges all expectations of a lab concurrently that are tried during a fault, or
// without one, except those that measure: they come last, one by one, and dial one flow at a
// time.
func (r *Runner) observe(ctx context.Context, x *run, lab *engine.Client, during *topology.Fault) {
	var all sync.WaitGroup
	// Each has a connection and a thread in the engine while it dials.
	slots := make(chan struct{}, expectationsAtOnce())
	for i, e := range x.lab.Scenario.Expects {
		if alone(e) || e.During != during {
			continue
		}
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			defer close(x.done[i])
			x.results[i] = r.prove(ctx, x, lab, e)
		})
	}
	all.Wait()
	for i, e := range x.lab.Scenario.Expects {
		if alone(e) && e.During == during {
			x.results[i] = r.prove(ctx, x, lab, e)
			close(x.done[i])
		}
	}
}

// alone reports whether others must not be dialed at the same time.
func alone(e *expect.Reach) bool { return e.Measured() || len(e.State) > 0 }

// dial makes the connections of an expectation.
func dial(ctx context.Context, lab *engine.Client, e *expect.Reach, flows []flow.Flow) (all seen, err error) {
	switch {
	case len(flows) == 0:
	case trial.Watched(e):
		all.observations, all.sights, err = watch(ctx, lab, e, flows)
	case !e.Measured():
		all.observations, err = lab.Probe(ctx, flows)
	default:
		for _, f := range flows {
			one, err := lab.Probe(ctx, []flow.Flow{f})
			if err != nil {
				return seen{}, err
			}
			all.observations = append(all.observations, one...)
		}
	}
	return all, err
}

// prove dials the flows of one expectation, and again what cannot be (trial.Trial.Again),
// until nothing is left of that or the retry time is over.
func (r *Runner) prove(ctx context.Context, x *run, lab *engine.Client, e *expect.Reach) reports.Result {
	result := x.lab.result(e)
	started := time.Now()
	try := trial.New(e, x.paper[e.During].World)
	flows := try.Flows()
	dialed := time.Now()
	observed, err := dial(ctx, lab, e, flows)
	if err == nil {
		err = x.readAgents(ctx, lab, e, &observed)
	}
	var verdict trial.Verdict
	for rounds, pause := 0, between; err == nil; rounds, pause = rounds+1, pause*2 {
		verdict = try.Judge(observed.observations)
		again := try.Again(verdict, observed.observations, rounds)
		if len(again) == 0 {
			again = x.otherwise(e, try, observed)
		}
		late := time.Since(dialed)+pause > e.Retry && (rounds >= trial.Confirmations || !verdict.Disagrees)
		if len(again) == 0 || late {
			break
		}
		try.Redialed(again)
		select {
		case <-ctx.Done():
			err = ctx.Err()
		case <-time.After(min(pause, longest)):
			err = dialAgain(ctx, lab, e, flows, observed, again)
		}
	}
	var state []reports.Row
	if err == nil {
		state, err = x.stateRows(ctx, lab, e, try, observed)
	}
	result.Duration = reports.Seconds(time.Since(started))
	if ctx.Err() != nil {
		return result // no status: it did not run to its end
	}
	if err != nil {
		if errors.Is(err, engine.ErrEnded) {
			x.lost.CompareAndSwap(nil, &err)
		}
		result.Status, result.Failure = reports.Failed, fmt.Sprintf("the probe failed: %v", err)
		return result
	}
	result.Rows = verdict.Rows()
	result.Status = reports.Passed
	if !verdict.OK || slices.ContainsFunc(state, func(r reports.Row) bool { return !r.OK }) {
		result.Status = reports.Failed
	}
	if again := result.Again(); r.options.Strict && again != "" {
		result.Status, result.Failure = reports.Failed, again+", which --strict does not allow"
	}
	if verdict.Disagrees || slices.ContainsFunc(state, func(r reports.Row) bool { return r.Disagrees }) {
		result.Status = reports.Disagreed
	}
	if result.Status != reports.Passed {
		x.addPrograms(ctx, lab, try, &result)
	}
	result.Table = trial.Table(e, verdict, try.Forecasts)
	x.lab.explain(&result, try.Forecasts, x.paper[e.During].onPaper, e.During)
	x.lab.explainState(state, e, try.Forecasts)
	result.Rows = append(result.Rows, state...)
	for i := range result.Rows {
		if r := &result.Rows[i]; r.Disagrees {
			r.Agents = agentsOf(x.lab.Scenario.Lab)
		}
	}
	return result
}

// agentsOf names the agents of a lab, and what they are measured by; "": it has none.
func agentsOf(lab *topology.Lab) string {
	var list []string
	if lab.Proxy.Agent != nil {
		list = append(list, "the proxy's agent, for "+lab.Proxy.Mode.Name)
	}
	if lab.PolicyOptions.Agent != nil {
		list = append(list, "the agent of policies, for "+lab.PolicyOptions.Style.Name)
	}
	return strings.Join(list, "; ")
}

// dialAgain replaces the observations at some indexes.
func dialAgain(ctx context.Context, lab *engine.Client, e *expect.Reach, flows []flow.Flow, observed seen, places []int) error {
	some := make([]flow.Flow, len(places))
	for i, p := range places {
		some[i] = flows[p]
	}
	news, err := dial(ctx, lab, e, some)
	if err != nil {
		return err
	}
	for i, p := range places {
		observed.observations[p] = news.observations[i]
		if observed.sights != nil {
			observed.sights[p] = news.sights[i]
		}
	}
	return nil
}
