//go:build linux

package suite

import (
	"fmt"
	"slices"
	"strings"

	"github.com/netlab/netlab/datapath/flow"
	"github.com/netlab/netlab/datapath/walk"
	"github.com/netlab/netlab/reports"
	"github.com/netlab/netlab/scenarios/expect"
)

// disputed returns what was observed of pairs against what can come of their flows on
// paper, by the pair's place. Probes that broke were no observation.
func disputed(forecasts []expect.Forecast, v expect.Verdict, seen []flow.Seen) map[int][]string {
	wrong := map[int][]string{}
	for i, forecast := range forecasts {
		if len(v.Pairs[i].Flows) == 0 {
			continue
		}
		var observed []flow.Seen
		for _, place := range v.Pairs[i].Flows {
			if seen[place].Outcome != flow.Failed {
				observed = append(observed, seen[place])
			}
		}
		if d := forecast.Disagrees(observed); len(d) > 0 {
			wrong[i] = d
		}
	}
	return wrong
}

// flowsOf lists the places of the flows of pairs, sorted.
func flowsOf(v expect.Verdict, pairs map[int][]string) []int {
	var places []int
	for i := range pairs {
		places = append(places, v.Pairs[i].Flows...)
		places = append(places, v.Pairs[i].References...)
	}
	slices.Sort(places)
	return slices.Compact(places)
}

// note writes in the rows what was predicted of their pairs, and what of it is disputed.
func note(rows []reports.Row, forecasts []expect.Forecast, v expect.Verdict, disputes map[int][]string) {
	for i, forecast := range forecasts {
		if len(v.Pairs[i].Flows) == 0 {
			continue
		}
		rows[i].Predicted = inWords(forecast.Prediction)
		if wrong := disputes[i]; len(wrong) > 0 {
			rows[i].Disagrees = true
			rows[i].Predicted += " (" + strings.Join(wrong, "; ") + ")"
		}
	}
}

// inWords lists what can come of a flow, with probabilities where there is a choice.
func inWords(p walk.Prediction) string {
	ends := p.Ends()
	if len(ends) == 1 {
		return ends[0].Value.String()
	}
	var words []string
	for _, e := range ends {
		words = append(words, fmt.Sprintf("%.3g %%: %s", 100*e.Probability, e.Value))
	}
	return strings.Join(words, "; ")
}
