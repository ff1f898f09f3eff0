package suite

import (
	"context"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/netlab/netlab/datapath/walk"
	"github.com/netlab/netlab/reports"
	"github.com/netlab/netlab/scenarios/expect"
	"github.com/netlab/netlab/scenarios/expect/trial"
)

// Paper judges the expectations of labs by their plans alone, which works on every
// operating system. An expectation with a claim that paper cannot judge never passes: it
// is skipped, and the reason names the claims. When ctx ends, expectations not yet
// judged are missing.
func Paper(ctx context.Context, labs []*Lab) reports.Report {
	started := time.Now()
	queue := make(chan func())
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for do := range queue {
				do()
			}
		})
	}
	results, worlds := make([][]reports.Result, len(labs)), make([]*walk.World, len(labs))
	for i, lab := range labs {
		results[i] = make([]reports.Result, len(lab.Scenario.Expects))
		during := worldsOf(lab)
		worlds[i] = during[nil].World
		for k, e := range lab.Scenario.Expects {
			if ctx.Err() == nil {
				queue <- func() { results[i][k] = lab.predict(during[e.During], e) }
			}
		}
	}
	close(queue)
	workers.Wait()
	report := reports.Report{Paper: true, Duration: time.Since(started)}
	for i, lab := range labs {
		report.Wires = append(report.Wires, wireOnPaper(lab, worlds[i])...)
	}
	for _, r := range slices.Concat(results...) {
		if r.Status == "" {
			report.NotRun++
			continue
		}
		report.Results = append(report.Results, r)
	}
	return report
}

// predict judges one expectation on paper.
func (l *Lab) predict(w world, e *expect.Reach) reports.Result {
	started := time.Now()
	result := l.result(e)
	if w.err != nil {
		result.Status, result.Reason = reports.Skipped, unstaged(e, w.err)
		return result
	}
	forecasts := trial.Predict(e, w.World)
	result.Status = reports.Passed
	open := e.Unpredicted()
	for _, f := range forecasts {
		if f.Unknown != "" && !slices.Contains(open, f.Unknown) {
			open = append(open, f.Unknown)
		}
	}
	state := stateOnPaper(w, forecasts, e)
	for _, row := range state {
		if why := strings.TrimPrefix(row.Predicted, "not predicted: "); row.Unknown && !slices.Contains(open, why) {
			open = append(open, why)
		}
	}
	if len(open) > 0 {
		result.Status, result.Reason = reports.Skipped, "not predicted on paper: "+strings.Join(open, ", ")
	}
	for _, f := range forecasts {
		if !f.OK {
			result.Status, result.Reason = reports.Failed, ""
		}
		result.Rows = append(result.Rows, f.Row)
	}
	if slices.ContainsFunc(state, func(r reports.Row) bool { return !r.OK }) {
		result.Status, result.Reason = reports.Failed, ""
	}
	result.Table = trial.Table(e, trial.Verdict{}, forecasts)
	l.explain(&result, forecasts, w.onPaper, e.During)
	l.explainState(state, e, forecasts)
	result.Rows = append(result.Rows, state...)
	result.Duration = reports.Seconds(time.Since(started))
	return result
}
