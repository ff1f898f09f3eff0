//go:build linux

package suite

import (
	"fmt"
	"strings"

	"github.com/netlab/netlab/datapath/flow"
	"github.com/netlab/netlab/datapath/walk"
	"github.com/netlab/netlab/reports"
	"github.com/netlab/netlab/scenarios/expect"
)

// compare notes in the rows what can come of the flows of every pair on paper, and
// reports whether something else was observed. Probes that broke were no observation.
func compare(forecasts []expect.Forecast, rows []reports.Row, v expect.Verdict, seen []flow.Seen) (disagreed bool) {
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
		rows[i].Predicted = inWords(forecast.Prediction)
		if wrong := forecast.Disagrees(observed); len(wrong) > 0 {
			rows[i].Disagrees, disagreed = true, true
			rows[i].Predicted += " (" + strings.Join(wrong, "; ") + ")"
		}
	}
	return disagreed
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
