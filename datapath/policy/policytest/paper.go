package policytest

import (
	"github.com/netlab/netlab/datapath/flow"
	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/datapath/walk"
)

// paper follows the packets of questions through a plan.
func paper(p *plan.Plan, questions []question) []flow.Result {
	world := walk.New(p)
	ends := make([]flow.Result, 0, len(questions))
	for i := range questions {
		all := world.Walk(questions[i].flow).Results()
		end := all[0].Value
		if len(all) > 1 {
			end = flow.Result{Outcome: flow.Failed, Answer: "one of several results"}
		}
		ends = append(ends, end)
	}
	return ends
}
