package suite

import (
	"errors"
	"fmt"

	"github.com/netlab/netlab/datapath/fault"
	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/datapath/walk"
	"github.com/netlab/netlab/scenarios/expect"
	"github.com/netlab/netlab/topology"
)

// During is the plan of the lab with a fault in it, or without for nil.
func (l *Lab) During(f *topology.Fault) (*plan.Plan, error) {
	if f == nil {
		return l.Plan, nil
	}
	if why, known := l.Scenario.Impossible[f.Name]; known {
		return nil, errors.New(why)
	}
	return fault.Apply(l.Scenario.Lab, l.Plan, f)
}

// world is a plan with a fault, to predict from, or why it cannot be staged.
type world struct {
	*walk.World
	plan *plan.Plan
	err  error
}

// worldsOf are the worlds of a lab: as planned, which is nil, and with each of its faults.
func worldsOf(l *Lab) map[*topology.Fault]world {
	worlds := map[*topology.Fault]world{nil: {World: walk.New(l.Plan), plan: l.Plan}}
	for _, f := range l.Scenario.Faults {
		p, err := l.During(f)
		w := world{plan: p, err: err}
		if err == nil {
			w.World = walk.New(p)
		}
		worlds[f] = w
	}
	return worlds
}

// claimsDuring are the indexes of the expectations that are tried during a fault.
func (l *Lab) claimsDuring(f *topology.Fault) (list []int) {
	for i, e := range l.Scenario.Expects {
		if e.During == f {
			list = append(list, i)
		}
	}
	return list
}

// unstaged says why an expectation is not tried.
func unstaged(e *expect.Reach, err error) string {
	return fmt.Sprintf("the fault %q cannot be staged: %v", e.During.Name, err)
}
