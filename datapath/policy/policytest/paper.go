package policytest

import (
	"github.com/netlab/netlab/datapath/flow"
	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/datapath/walk"
)

// paper follows the packets of questions through a plan.
func paper(p *plan.Plan, questions []question) []flow.End {
	world := walk.New(p)
	ends := make([]flow.End, 0, len(questions))
	for i := range questions {
		all := world.Walk(questions[i].flow).Ends()
		end := all[0].Value
		if len(all) > 1 {
			end = flow.End{Outcome: flow.Failed, Answer: "one of several ends"}
		}
		ends = append(ends, end)
	}
	return ends
}
