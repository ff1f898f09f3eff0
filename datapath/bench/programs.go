//go:build linux

package bench

import (
	"context"
	"fmt"
	"time"

	"github.com/netlab/netlab/datapath/engine"
	"github.com/netlab/netlab/datapath/plan"
)

// restarts is how often a round starts a program in each way.
const restarts = 10

// confinedPrograms times a change that starts a pod's program anew, in a cell and without.
func confinedPrograms(ctx context.Context, o Options) ([]Row, error) {
	o.Progress("programs in cells")
	spec := Shape{Nodes: 1, Pods: 1}.Spec()
	spec.Pods[0].Command = []string{"sleep", "inf"}
	_, p, err := compile(spec)
	if err != nil {
		return nil, err
	}
	lab, err := engine.Start(ctx, "")
	if err != nil {
		return nil, err
	}
	defer lab.Abandon()
	var list []round
	for i := range o.Rounds * restarts {
		var r round
		for _, way := range []struct {
			open bool
			took *time.Duration
		}{{true, &r.floor.up}, {false, &r.netlab.up}} {
			if *way.took, err = restart(ctx, lab, p, fmt.Sprintf("RUN=%d %v", i, way.open), way.open); err != nil {
				return nil, err
			}
		}
		if i > 0 { // the first builds the lab
			list = append(list, r)
		}
	}
	confined, open, _ := medians(list, up)
	extra := median(list, func(r round) time.Duration { return r.netlab.up - r.floor.up })
	return []Row{{What: "a program starts in its cell (beside the same without one)", Netlab: milliseconds(confined), Floor: milliseconds(open),
		Got: "+" + milliseconds(extra), Goal: "≤ +30 ms", OK: extra <= 30*time.Millisecond}}, nil
}

// restart gives the program of a plan another environment, and applies that.
func restart(ctx context.Context, lab *engine.Client, p *plan.Plan, env string, open bool) (time.Duration, error) {
	for i := range p.Netns {
		for j := range p.Netns[i].Execs {
			p.Netns[i].Execs[j].Env = []string{env}
		}
	}
	began := time.Now()
	_, err := lab.Apply(ctx, p, engine.Meta{HostPrograms: open}, false)
	return time.Since(began), err
}
