package flow

import (
	"os"
	"strconv"
	"time"
)

// scaleVariable says by how much this machine is slower than those that deadlines are
// made for. A virtual machine without KVM sets it.
const scaleVariable = "NLAB_TIME_SCALE"

// NeighbourPatience is how long the kernel asks for a neighbour before it tells the
// sender that the host is unreachable: three questions, a second apart (mcast_solicit and
// retrans_time_ms in Documentation/networking/ip-sysctl.rst).
const NeighbourPatience = 3 * time.Second

// TimeScale is by how much this machine is slower, as its environment says: 1 where it
// says nothing that makes sense.
func TimeScale() float64 {
	scale, err := strconv.ParseFloat(os.Getenv(scaleVariable), 64)
	if err != nil || scale < 1 || scale > 100 {
		return 1
	}
	return scale
}

// Stretched is a deadline on a machine that is slower by a factor. One before which
// the kernel has not given up on a neighbour stays so: else silence would become an
// error.
func Stretched(within time.Duration, factor float64) time.Duration {
	longer := time.Duration(float64(within) * factor)
	if within < NeighbourPatience {
		longer = min(longer, max(within, NeighbourPatience-100*time.Millisecond))
	}
	return longer
}
