package expect

import (
	"fmt"
	"slices"
	"time"

	"github.com/netlab/netlab/datapath/flow"
)

// Bound is what a measurement of each pair must keep to: numbers, or a ratio to what
// somebody else measures of the same target. On a busy machine everything takes longer
// than it should, so that what a delay or a rate must at least do to a connection holds
// always, and what it must at most do holds most of the time.
type Bound struct {
	Min, Max float64 // 0: none; seconds, or bits per second
	// AtLeast and AtMost are factors of what Than measures; 0: none.
	AtLeast, AtMost float64
	Than            *Place
}

// How much is measured.
const (
	// pings is how many connections tell a latency: the median counts.
	pings = 5
	// uploadSize is how much is sent to tell a throughput, in bytes: much more than the
	// bucket of a narrow link lets through at once.
	uploadSize = 512 << 10
)

// Measured reports whether the expectation measures: its flows must not be disturbed by
// others, nor disturb each other.
func (r *Reach) Measured() bool { return r.Latency != nil || r.Throughput != nil || r.MTU != 0 }

// bounds are those that the expectation has.
func (r *Reach) bounds() []*Bound {
	var list []*Bound
	for _, b := range []*Bound{r.Latency, r.Throughput} {
		if b != nil {
			list = append(list, b)
		}
	}
	return list
}

// references are the flows of whom the pairs are compared with: for each bound that has
// one, for each target, as many connections as a pair makes.
func (r *Reach) references() []flow.Flow {
	var flows []flow.Flow
	for _, b := range r.bounds() {
		if b.Than == nil {
			continue
		}
		for to := range r.To {
			for n := range r.Connections() {
				if !r.To[to].NotFound {
					f := r.flow(Dial{From: 0, To: to, N: n})
					f.From = b.Than.Netns
					flows = append(flows, f)
				}
			}
		}
	}
	return flows
}

// reference is where the flows of a bound and a target begin among the references.
func (r *Reach) reference(b *Bound, to int) int {
	n := 0
	for _, other := range r.bounds() {
		if other.Than == nil {
			continue
		}
		for i := range r.To {
			if other == b && i == to {
				return n
			}
			if !r.To[i].NotFound {
				n += r.Connections()
			}
		}
	}
	return n
}

// wrongMeasures says which bounds a pair does not keep; measured says what was measured.
func (r *Reach) wrongMeasures(to int, seen, references []flow.Seen) (measured, wrong []string) {
	if r.outcome() != flow.Connected || !r.Measured() {
		return nil, nil
	}
	check := func(what string, b *Bound, value func(flow.Seen) float64, text func(float64) string) {
		if b == nil {
			return
		}
		got, ok := median(seen, value)
		if !ok {
			return // the outcome says it all
		}
		measured = append(measured, what+" "+text(got))
		switch {
		case b.Min != 0 && got < b.Min:
			wrong = append(wrong, fmt.Sprintf("%s below %s", what, text(b.Min)))
		case b.Max != 0 && got > b.Max:
			wrong = append(wrong, fmt.Sprintf("%s above %s", what, text(b.Max)))
		}
		if b.Than == nil {
			return
		}
		at := r.reference(b, to)
		other, ok := median(references[at:at+r.Connections()], value)
		if !ok || other == 0 {
			wrong = append(wrong, b.Than.Name+" does not get through, so there is nothing to compare with")
			return
		}
		ratio := got / other
		measured = append(measured, fmt.Sprintf("%.2f times that of %s", ratio, b.Than.Name))
		if b.AtLeast != 0 && ratio < b.AtLeast || b.AtMost != 0 && ratio > b.AtMost {
			wrong = append(wrong, fmt.Sprintf("%s is %.2f times that of %s (%s)", what, ratio, b.Than.Name, text(other)))
		}
	}
	check("latency", r.Latency, func(s flow.Seen) float64 { return s.RoundTrip.Seconds() }, inTime)
	check("throughput", r.Throughput, func(s flow.Seen) float64 { return float64(s.Rate) }, inBits)
	if r.MTU != 0 {
		got, ok := median(seen, func(s flow.Seen) float64 { return float64(s.MTU) })
		measured = append(measured, fmt.Sprintf("MTU %.0f", got))
		if ok && int(got) != r.MTU {
			wrong = append(wrong, fmt.Sprintf("packets of up to %.0f bytes, not %d", got, r.MTU))
		}
	}
	return measured, wrong
}

// median is the middle of what connections measured; false without any.
func median(seen []flow.Seen, value func(flow.Seen) float64) (float64, bool) {
	var values []float64
	for _, s := range seen {
		if s.Outcome == flow.Connected {
			values = append(values, value(s))
		}
	}
	if len(values) == 0 {
		return 0, false
	}
	slices.Sort(values)
	return values[len(values)/2], true
}

// wantedMeasures says what is claimed of measurements, in words.
func (r *Reach) wantedMeasures() []string {
	var parts []string
	add := func(what string, b *Bound, text func(float64) string) {
		if b == nil {
			return
		}
		if b.Min != 0 {
			parts = append(parts, fmt.Sprintf("%s at least %s", what, text(b.Min)))
		}
		if b.Max != 0 {
			parts = append(parts, fmt.Sprintf("%s at most %s", what, text(b.Max)))
		}
		if b.AtLeast != 0 {
			parts = append(parts, fmt.Sprintf("%s at least %g times that of %s", what, b.AtLeast, b.Than.Name))
		}
		if b.AtMost != 0 {
			parts = append(parts, fmt.Sprintf("%s at most %g times that of %s", what, b.AtMost, b.Than.Name))
		}
	}
	add("latency", r.Latency, inTime)
	add("throughput", r.Throughput, inBits)
	if r.MTU != 0 {
		parts = append(parts, fmt.Sprintf("packets of up to %d bytes", r.MTU))
	}
	return parts
}

func inTime(seconds float64) string {
	return time.Duration(seconds * float64(time.Second)).Round(10 * time.Microsecond).String()
}

func inBits(rate float64) string {
	switch {
	case rate >= 1e9:
		return fmt.Sprintf("%.3g Gbit/s", rate/1e9)
	case rate >= 1e6:
		return fmt.Sprintf("%.3g Mbit/s", rate/1e6)
	}
	return fmt.Sprintf("%.3g kbit/s", rate/1e3)
}
