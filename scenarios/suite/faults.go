package suite

import (
	"errors"
	"fmt"

	"github.com/netlab/netlab/datapath"
	"github.com/netlab/netlab/datapath/fault"
	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/datapath/walk"
	"github.com/netlab/netlab/scenarios/expect"
	"github.com/netlab/netlab/topology"
)

// During is the plan of the lab with a fault in it, or without for nil.
func (l *Lab) During(f *topology.Fault) (*plan.Plan, error) { return l.with(f, l.Plan) }

// with is a plan of the lab with a fault in it, or without for nil.
func (l *Lab) with(f *topology.Fault, p *plan.Plan) (*plan.Plan, error) {
	if f == nil {
		return p, nil
	}
	if why, known := l.Scenario.Impossible[f.Name]; known {
		return nil, errors.New(why)
	}
	return fault.Apply(l.Scenario.Lab, p, f)
}

// world is a plan with a fault, to build and to predict from, or why it cannot be staged.
type world struct {
	*walk.World            // of onPaper
	plan        *plan.Plan // as it is built
	onPaper     *plan.Plan // where agents do the work, with the rules that they are measured by
	err         error
}

// worldsOf are the worlds of a lab: as planned, which is nil, and with each of its faults.
func worldsOf(l *Lab) map[*topology.Fault]world {
	paper, failed := datapath.OnPaper(l.Scenario.Lab, l.Plan)
	worlds := map[*topology.Fault]world{}
	for _, f := range append([]*topology.Fault{nil}, l.Scenario.Faults...) {
		w := world{err: failed}
		if w.err == nil {
			w.plan, w.err = l.During(f)
		}
		if w.err == nil {
			w.onPaper, w.err = l.with(f, paper)
		}
		if w.err == nil {
			w.World = walk.New(w.onPaper)
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
	if e.During == nil {
		return err.Error()
	}
	return fmt.Sprintf("the fault %q cannot be staged: %v", e.During.Name, err)
}
