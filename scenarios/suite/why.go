package suite

import (
	"cmp"
	"strings"

	"github.com/netlab/netlab/datapath/flow"
	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/datapath/plan/shell"
	"github.com/netlab/netlab/reports"
	"github.com/netlab/netlab/scenarios/expect/trial"
	"github.com/netlab/netlab/scenarios/language/names"
	"github.com/netlab/netlab/topology"
)

// maxTold bounds the pairs of an expectation that are explained, since finding rules takes
// a walk through all of them.
const maxTold = 20

// explain adds to the pairs of a result that are not as claimed what decided about them:
// policies, or else the rules that the packet should have met; and the command that shows
// its path.
func (l *Lab) explain(result *reports.Result, forecasts []trial.Forecast, p *plan.Plan, during *topology.Fault) {
	told := 0
	for i := range result.Rows {
		row, f := &result.Rows[i], forecasts[i]
		if row.OK || len(f.Prediction.Branches) == 0 || told == maxTold {
			continue
		}
		told++
		var named bool
		if row.Policies, named = decidedBy(l.Scenario.Lab, f.Outside); !named {
			row.Rules = RulesFor(p, f.Prediction.Flow)
		}
		row.Explain = l.explainCommand(row.Who, f.Prediction.Flow, during)
		if t := result.Table; t != nil {
			t.Cells[i/len(t.To)][i%len(t.To)].Because = strings.Join(row.Policies, "; ")
		}
	}
}

// explainCommand is the netlab explain that follows a flow; "" where there is none.
func (l *Lab) explainCommand(who string, f flow.Flow, during *topology.Fault) string {
	if l.Args == "" {
		return ""
	}
	who = names.Unique(who, f.From, names.All(l.Scenario.Lab)) // a node and a pod can have one name
	words := []string{"netlab explain", l.Args}
	if during != nil {
		words = append(words, "--fault "+shell.Quote(during.Name))
	}
	if f.Protocol != "" && f.Protocol != flow.TCP {
		words = append(words, "-p "+string(f.Protocol))
	}
	words = append(words, who, f.To.String())
	if f.Path != "" && f.Proxied == (flow.Proxied{}) {
		words = append(words, "--http "+shell.Quote(requested(f)))
	}
	return strings.Join(words, " ")
}

// requested is the URL of a request, or its path where the host is the address.
func requested(f flow.Flow) string {
	scheme := "http://"
	switch {
	case f.TLS:
		scheme = "https://"
	case f.Host == "":
		return f.Path
	}
	return scheme + cmp.Or(f.Host, f.To.String()) + f.Path
}
