package expect

import (
	"fmt"
	"slices"

	"github.com/netlab/netlab/datapath/flow"
)

// Bound limits a measurement of each pair: by numbers, or by a ratio to what another
// dialer measures with the same target. On a busy machine everything takes longer than
// it should, so the least effect of a delay or a rate can always be claimed, but the
// greatest holds only most of the time.
type Bound struct {
	Min, Max float64 // 0: none; seconds, or bits per second
	// AtLeast and AtMost are factors of what Than measures; 0: none.
	AtLeast, AtMost float64
	Than            *Place
}

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

// References are the flows that the pairs are compared with: for each bound that has
// one, for each target, as many connections as a pair makes.
func (r *Reach) References() []flow.Flow {
	var flows []flow.Flow
	for _, b := range r.bounds() {
		if b.Than == nil {
			continue
		}
		for to := range r.To {
			for n := range r.Connections() {
				if !r.To[to].NotFound {
					f := r.flow(0, to, n)
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

// wanted describes what is claimed of a measurement.
func (b *Bound) wanted(what string, text func(float64) string) []string {
	if b == nil {
		return nil
	}
	var parts []string
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
	return parts
}

// boundCheck is a check of a measurement that has bounds.
func boundCheck(what string, of func(*Reach) *Bound, value func(flow.Observation) float64, text func(float64) string) check {
	return check{
		name:       what,
		attributes: []string{what},
		wanted:     func(r *Reach, _ int) []string { return of(r).wanted(what, text) },
		noisy:      true,
		measure: func(p *Pair, own, references []flow.Observation) (measured, wrong []string) {
			b := of(p.Reach)
			if b == nil {
				return nil, nil
			}
			got, ok := median(own, value)
			if !ok {
				return nil, nil // the outcome suffices
			}
			if got == 0 { // a datagram that reached a program
				return nil, []string{"the " + what + " is not known without an answer"}
			}
			measured = append(measured, what+" "+text(got))
			switch {
			case b.Min != 0 && got < b.Min:
				wrong = append(wrong, fmt.Sprintf("%s below %s", what, text(b.Min)))
			case b.Max != 0 && got > b.Max:
				wrong = append(wrong, fmt.Sprintf("%s above %s", what, text(b.Max)))
			}
			if b.Than == nil {
				return measured, wrong
			}
			at := p.reference(b, p.to)
			other, ok := median(references[at:at+p.Connections()], value)
			if !ok || other == 0 {
				return measured, append(wrong, b.Than.Name+" does not get through, so there is nothing to compare with")
			}
			ratio := got / other
			measured = append(measured, fmt.Sprintf("%.2f times that of %s", ratio, b.Than.Name))
			if b.AtLeast != 0 && ratio < b.AtLeast || b.AtMost != 0 && ratio > b.AtMost {
				wrong = append(wrong, fmt.Sprintf("%s is %.2f times that of %s (%s)", what, ratio, b.Than.Name, text(other)))
			}
			return measured, wrong
		},
	}
}

// median is the middle of what connections measured; false without any.
func median(own []flow.Observation, value func(flow.Observation) float64) (float64, bool) {
	var values []float64
	for _, s := range own {
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
