//go:build linux

package suite

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/netlab/netlab/datapath/engine"
	"github.com/netlab/netlab/datapath/engine/inside"
	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/reports"
	"github.com/netlab/netlab/scenarios/expect/trial"
)

// linesShown is how much of the output of a program a failure shows.
const linesShown = 5

// addPrograms adds, to each pair that is not as claimed, the programs at both ends and what
// they wrote last. One that has ended is the reason: paper is about those that run.
func (x *run) addPrograms(ctx context.Context, lab *engine.Client, t *trial.Trial, result *reports.Result) {
	if !slices.ContainsFunc(x.lab.Plan.Netns, func(n plan.Netns) bool { return len(n.Execs) > 0 }) {
		return
	}
	outputs, err := lab.Logs(ctx, nil, false)
	if err != nil {
		return // the failure of the claim matters more
	}
	var ended []string
	for i := range result.Rows {
		row := &result.Rows[i]
		if row.OK && !row.Disagrees {
			continue
		}
		for _, o := range outputs {
			if !x.involves(t.Forecasts[i], o.Program) {
				continue
			}
			row.Programs = append(row.Programs, reports.Program{Name: o.Name, State: o.State, Lines: lastLines(string(o.Text))})
			if !o.Running {
				row.OK, row.Disagrees = false, false
				if text := fmt.Sprintf("the program of %s %s", o.Name, o.State); !slices.Contains(ended, text) {
					ended = append(ended, text)
				}
			}
		}
	}
	if len(ended) > 0 {
		result.Status, result.Failure = reports.Failed, strings.Join(ended, "; ")
	}
}

// involves reports whether a program is at one end of what was forecast.
func (x *run) involves(f trial.Forecast, p inside.Program) bool {
	dialed := f.Prediction.Flow
	if dialed.From == p.Netns {
		return true
	}
	for i := range x.lab.Plan.Netns {
		n := &x.lab.Plan.Netns[i]
		if n.Name == p.Netns && slices.ContainsFunc(n.Addrs, func(a plan.Addr) bool { return a.Prefix.Addr() == dialed.To.Addr() }) {
			return true
		}
	}
	for _, a := range f.Prediction.Answers() {
		if a.Value == p.Name {
			return true
		}
	}
	return false
}

func lastLines(text string) []string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	if text == "" {
		return nil
	}
	return lines[max(0, len(lines)-linesShown):]
}
