package flow

import (
	"os"
	"strconv"
	"time"
)

// scaleVariable holds the factor by which this machine is slower than those that
// deadlines are meant for. A virtual machine without KVM sets it.
const scaleVariable = "NLAB_TIME_SCALE"

// NeighbourPatience is how long the kernel tries to resolve a neighbour before it
// reports the host as unreachable: three requests, a second apart (mcast_solicit and
// retrans_time_ms in Documentation/networking/ip-sysctl.rst).
const NeighbourPatience = 3 * time.Second

// ProxyPatience is how long a proxy in user space waits for the endpoint of a connection, in
// each of its attempts (EndpointDialTimeouts in kubernetes pkg/proxy/userspace).
func ProxyPatience() []time.Duration {
	return []time.Duration{250 * time.Millisecond, 500 * time.Millisecond, time.Second, 2 * time.Second}
}

// BalancerPatience is how long a load balancer waits until a node takes a connection. It makes one
// attempt only. The sum is that of many (timeout connect in examples of HAProxy), and longer than claims wait.
const BalancerPatience = 10 * time.Second

// IngressPatience is how long an ingress controller waits until an endpoint takes a connection.
// Real ones wait for seconds (proxy_connect_timeout of nginx), longer than most claims do: with this,
// a claim still sees that another endpoint answers.
const IngressPatience = 500 * time.Millisecond

// TimeScale is the factor by which this machine is slower, from its environment: 1
// without a valid value.
func TimeScale() float64 {
	scale, err := strconv.ParseFloat(os.Getenv(scaleVariable), 64)
	if err != nil || scale < 1 || scale > 100 {
		return 1
	}
	return scale
}

// Stretched is a deadline on a machine that is slower by a factor. A deadline shorter
// than neighbour resolution stays shorter: otherwise a timeout would become an error.
func Stretched(within time.Duration, factor float64) time.Duration {
	longer := time.Duration(float64(within) * factor)
	if within < NeighbourPatience {
		longer = min(longer, max(within, NeighbourPatience-100*time.Millisecond))
	}
	return longer
}
