//go:build linux

package suite

import (
	"slices"
	"strings"

	"github.com/netlab/netlab/datapath/flow"
	"github.com/netlab/netlab/reports"
	"github.com/netlab/netlab/scenarios/expect"
)

// disputed returns how observations differ from what is possible on paper, by the index
// of the pair. A failed probe is not an observation.
func disputed(forecasts []expect.Forecast, v expect.Verdict, observations []flow.Observation) map[int][]string {
	wrong := map[int][]string{}
	for i, forecast := range forecasts {
		if len(v.Pairs[i].Flows) == 0 {
			continue
		}
		var observed []flow.Observation
		for _, place := range v.Pairs[i].Flows {
			if observations[place].Outcome != flow.Failed {
				observed = append(observed, observations[place])
			}
		}
		if d := forecast.Disagrees(observed); len(d) > 0 {
			wrong[i] = d
		}
	}
	return wrong
}

// flowsOf lists the indexes of the flows of pairs, sorted.
func flowsOf(v expect.Verdict, pairs map[int][]string) []int {
	var places []int
	for i := range pairs {
		places = append(places, v.Pairs[i].Flows...)
		places = append(places, v.Pairs[i].References...)
	}
	slices.Sort(places)
	return slices.Compact(places)
}

// note adds to the rows what was predicted for their pairs, and how that differs.
func note(rows []reports.Row, forecasts []expect.Forecast, v expect.Verdict, disputes map[int][]string) {
	for i, forecast := range forecasts {
		if len(v.Pairs[i].Flows) == 0 {
			continue
		}
		rows[i].Predicted = forecast.Predicted
		if wrong := disputes[i]; len(wrong) > 0 {
			rows[i].Disagrees = true
			rows[i].Predicted += " (" + strings.Join(wrong, "; ") + ")"
		}
	}
}
