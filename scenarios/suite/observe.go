//go:build linux

package suite

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/netlab/netlab/datapath/engine"
	"github.com/netlab/netlab/datapath/flow"
	"github.com/netlab/netlab/reports"
	"github.com/netlab/netlab/scenarios/expect"
)

// between is the shortest pause before a wrong result is tried again.
const between = 20 * time.Millisecond

// observe judges all expectations of a lab concurrently, except those that measure:
// they come last, one by one, and dial one flow at a time.
func (r *Runner) observe(ctx context.Context, x *run, lab *engine.Client) {
	var all sync.WaitGroup
	// Each has a connection and a thread in the engine while it dials.
	slots := make(chan struct{}, expectationsAtOnce())
	for i, e := range x.lab.Scenario.Expects {
		if e.Measured() {
			continue
		}
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			defer close(x.done[i])
			x.results[i] = x.prove(ctx, lab, e)
		})
	}
	all.Wait()
	for i, e := range x.lab.Scenario.Expects {
		if e.Measured() {
			x.results[i] = x.prove(ctx, lab, e)
			close(x.done[i])
		}
	}
}

// dial makes the connections of an expectation.
func dial(ctx context.Context, lab *engine.Client, e *expect.Reach, flows []flow.Flow) ([]flow.Observation, error) {
	if !e.Measured() {
		return lab.Probe(ctx, flows)
	}
	var all []flow.Observation
	for _, f := range flows {
		seen, err := lab.Probe(ctx, []flow.Flow{f})
		if err != nil {
			return nil, err
		}
		all = append(all, seen...)
	}
	return all, nil
}

// confirmations is how often a flow that disagrees with its prediction is dialed again
// before that is reported: a packet lost on a busy machine does not mean that the rules
// on paper differ from the kernel's.
const confirmations = 2

// prove dials the flows of one expectation, and retries the wrong ones, until all are
// as claimed or the retry time is over.
func (x *run) prove(ctx context.Context, lab *engine.Client, e *expect.Reach) reports.Result {
	result := x.lab.result(e)
	started := time.Now()
	flows := e.Flows()
	forecasts := make(chan []expect.Forecast, 1)
	go func() { forecasts <- e.Predict(x.paper) }() // while timeouts are waited for
	observations, err := dial(ctx, lab, e, flows)
	var verdict expect.Verdict
	for pause := between; err == nil; pause *= 2 {
		verdict = e.Judge(observations)
		again := verdict.Again()
		if len(again) == 0 || time.Since(started)+pause > e.Retry {
			break
		}
		select {
		case <-ctx.Done():
			err = ctx.Err()
		case <-time.After(pause):
			err = dialAgain(ctx, lab, e, flows, observations, again)
		}
	}
	predicted := <-forecasts
	var disputes map[int][]string
	for times := 0; err == nil; times++ {
		disputes = disputed(predicted, verdict, observations)
		if len(disputes) == 0 || times == confirmations {
			break
		}
		if err = dialAgain(ctx, lab, e, flows, observations, flowsOf(verdict, disputes)); err == nil {
			verdict = e.Judge(observations)
		}
	}
	result.Duration = time.Since(started)
	if err != nil {
		result.Status, result.Failure = reports.Failed, fmt.Sprintf("the probe failed: %v", err)
		return result
	}
	result.Rows = verdict.Rows()
	result.Status = reports.Passed
	if !verdict.OK {
		result.Status = reports.Failed
		x.addRules(result.Rows, verdict, flows)
	}
	note(result.Rows, predicted, verdict, disputes)
	if len(disputes) > 0 {
		result.Status = reports.Disagreed
	}
	result.Table = e.Table(verdict, predicted)
	return result
}

// dialAgain replaces the observations at some indexes.
func dialAgain(ctx context.Context, lab *engine.Client, e *expect.Reach, flows []flow.Flow, observations []flow.Observation, places []int) error {
	some := make([]flow.Flow, len(places))
	for i, p := range places {
		some[i] = flows[p]
	}
	news, err := dial(ctx, lab, e, some)
	if err != nil {
		return err
	}
	for i, p := range places {
		observations[p] = news[i]
	}
	return nil
}

// addRules adds, for each pair that failed, the rules that its packets should have met.
func (x *run) addRules(rows []reports.Row, v expect.Verdict, flows []flow.Flow) {
	told := 0
	for i, pair := range v.Pairs {
		if !pair.OK && len(pair.Flows) > 0 && told < maxTold {
			told++
			rows[i].Rules = RulesFor(x.lab.Plan, flows[pair.Flows[0]])
		}
	}
}
