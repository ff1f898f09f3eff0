//go:build linux

package suite

import (
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/netlab/netlab/scenarios/expect"
)

// scaleVariable says by how much this machine is slower than those that deadlines are
// made for. A virtual machine without KVM sets it.
const scaleVariable = "NLAB_TIME_SCALE"

// neighbourPatience is how long the kernel asks for a neighbour before it tells the
// sender that the host is unreachable: three times a second (mcast_solicit and
// retrans_time_ms in Documentation/networking/ip-sysctl.rst).
const neighbourPatience = 3 * time.Second

// timeScale is the value of the variable, 1 where it has none that makes sense.
func timeScale() float64 {
	scale, err := strconv.ParseFloat(os.Getenv(scaleVariable), 64)
	if err != nil || scale < 1 || scale > 100 {
		return 1
	}
	return scale
}

// stretched is a deadline on a machine that is slower by a factor. One before which
// the kernel has not given up on a neighbour stays so: else silence would become an
// error.
func stretched(within time.Duration, factor float64) time.Duration {
	longer := time.Duration(float64(within) * factor)
	if within < neighbourPatience {
		longer = min(longer, max(within, neighbourPatience-100*time.Millisecond))
	}
	return longer
}

// patient is the lab with more time for each expectation.
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
	out.Within, out.Retry = stretched(e.Within, factor), time.Duration(float64(e.Retry)*factor)
	return &out
}
