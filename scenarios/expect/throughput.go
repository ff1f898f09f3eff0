package expect

import (
	"fmt"

	"github.com/netlab/netlab/datapath/flow"
)

// uploadSize is how much is sent to measure a throughput, in bytes, by default: much more than
// the bucket of a narrow link lets through at once.
const uploadSize = 512 << 10

// The throughput of an upload over TCP, in bits per second.
var throughputCheck = boundCheck("throughput", func(r *Reach) *Bound { return r.Throughput },
	func(o flow.Observation) float64 { return float64(o.Rate) }, inBits)

func inBits(rate float64) string {
	switch {
	case rate >= 1e9:
		return fmt.Sprintf("%.3g Gbit/s", rate/1e9)
	case rate >= 1e6:
		return fmt.Sprintf("%.3g Mbit/s", rate/1e6)
	}
	return fmt.Sprintf("%.3g kbit/s", rate/1e3)
}
