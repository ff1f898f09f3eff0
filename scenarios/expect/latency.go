package expect

import (
	"time"

	"github.com/netlab/netlab/datapath/flow"
)

// pings is how many connections measure a latency: the median counts.
const pings = 5

// The latency: the round trip of TCP, or a datagram and its answer, in seconds.
var latencyCheck = boundCheck("latency", func(r *Reach) *Bound { return r.Latency },
	func(o flow.Observation) float64 { return o.RoundTrip.Seconds() }, inTime)

func inTime(seconds float64) string {
	return time.Duration(seconds * float64(time.Second)).Round(10 * time.Microsecond).String()
}
