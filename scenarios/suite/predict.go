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

// predict follows the flows of every pair through the plan on paper, notes in the
// rows what can come of them, and reports whether something was observed that
// cannot. Probes that broke were no observation.
func (x *run) predict(rows []reports.Row, v expect.Verdict, seen []flow.Seen) (disagreed bool) {
	for i, pair := range v.Pairs {
		if len(pair.Flows) == 0 {
			continue
		}
		// All connections of a pair differ in their source port only.
		prediction := x.paper.Walk(seen[pair.Flows[0]].Flow)
		rows[i].Predicted = inWords(prediction)
		for _, place := range pair.Flows {
			s := seen[place]
			if s.Outcome != flow.Failed && !prediction.Allows(s.End()) {
				rows[i].Disagrees, disagreed = true, true
			}
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
