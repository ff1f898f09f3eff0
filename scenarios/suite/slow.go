//go:build linux

package suite

import (
	"slices"
	"time"

	"github.com/netlab/netlab/datapath/flow"
	"github.com/netlab/netlab/scenarios/expect"
)

// labsPerCore is how many labs run at once: they mostly wait for timeouts. A deadline
// cannot exceed the kernel's neighbour timeouts, so a slow machine runs fewer labs at
// once instead.
func labsPerCore() int {
	if flow.TimeScale() > 1 {
		return 1
	}
	return 4
}

// expectationsAtOnce is how many expectations of a lab are dialed at once.
func expectationsAtOnce() int {
	if flow.TimeScale() > 1 {
		return 4
	}
	return 64
}

// patient returns the lab with more time for each expectation.
func patient(lab *Lab, factor float64) *Lab {
	if factor == 1 {
		return lab
	}
	s := *lab.Scenario
	s.Expects = slices.Clone(s.Expects)
	for i, e := range s.Expects {
		s.Expects[i] = slower(e, factor)
	}
	out := *lab
	out.Scenario = &s
	return &out
}

func slower(e *expect.Reach, factor float64) *expect.Reach {
	out := *e
	out.Within, out.Retry = flow.Stretched(e.Within, factor), time.Duration(float64(e.Retry)*factor)
	return &out
}
