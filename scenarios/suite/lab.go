package suite

import (
	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/reports"
	"github.com/netlab/netlab/scenarios/expect"
	"github.com/netlab/netlab/scenarios/language"
	"github.com/netlab/netlab/topology"
)

// Lab is a scenario that is ready to run.
type Lab struct {
	Path     string // as the user named it
	Args     string // of netlab explain, which name the scenario and its variables
	Scenario *language.Scenario
	Plan     *plan.Plan
}

// Controls are the warnings about claimed timeouts without a control.
func Controls(s *language.Scenario) []topology.Problem {
	return expect.Controls(s.Lab, s.Expects)
}

// result is the result of an expectation before it is judged.
func (l *Lab) result(e *expect.Reach) reports.Result {
	return reports.Result{
		Scenario:  l.Scenario.Name,
		Variation: l.Scenario.Variation.String(),
		File:      l.Scenario.Path(e.Origin.File),
		Line:      e.Origin.Line,
		Name:      e.Name,
		Claim:     e.Describe(),
		Proves:    e.Proves,
	}
}
