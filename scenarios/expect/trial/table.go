package trial

import (
	"fmt"
	"slices"
	"strings"

	"github.com/netlab/netlab/datapath/flow"
	"github.com/netlab/netlab/reports"
	"github.com/netlab/netlab/scenarios/expect"
)

// Table is what an expectation with Allow claims about each pair, and what was predicted
// and observed, as a truth table; nil for other expectations. On paper the verdict is zero.
func Table(r *expect.Reach, v Verdict, forecasts []Forecast) *reports.Reachability {
	if r.Allow == nil {
		return nil
	}
	t := &reports.Reachability{Protocol: r.Transport(), Port: r.To[0].Addr.Port()}
	for _, to := range r.To {
		if to.Addr.Port() != t.Port {
			t.Port = 0
		}
	}
	for _, from := range r.From {
		t.From = append(t.From, from.Name)
	}
	for _, to := range r.To {
		name := strings.TrimPrefix(to.Name, "pod ")
		if t.Port != 0 {
			name = strings.TrimSuffix(name, fmt.Sprintf(":%d", t.Port))
		}
		t.To = append(t.To, name)
	}
	for from := range r.From {
		row := make([]reports.Cell, len(r.To))
		for to := range r.To {
			i := from*len(r.To) + to
			c := &row[to]
			c.Expected = []flow.Outcome{r.OutcomeOf(from, to)}
			if i < len(v.Pairs) {
				for _, o := range v.Pairs[i].Outcomes {
					c.Observed = append(c.Observed, o.Outcome)
				}
			}
			if c.Predicted = c.Expected; i < len(forecasts) && forecasts[i].Unknown == "" && len(forecasts[i].Prediction.Branches) > 0 {
				c.Predicted = nil
				for _, e := range forecasts[i].Prediction.Results() {
					if !slices.Contains(c.Predicted, e.Value.Outcome) {
						c.Predicted = append(c.Predicted, e.Value.Outcome)
					}
				}
			}
			c.Judge()
		}
		t.Cells = append(t.Cells, row)
	}
	return t
}
