package trial

import (
	"fmt"
	"slices"

	"github.com/netlab/netlab/datapath/flow"
	"github.com/netlab/netlab/datapath/walk"
	"github.com/netlab/netlab/scenarios/expect"
)

// Trial is one expectation put to the test: what paper predicts of it, the connections
// that this takes, and which of them were dialed again.
type Trial struct {
	*expect.Reach
	Forecasts []Forecast // of the pairs; nil: nothing is predicted
	counts    []int      // connections of each pair
	again     map[int]bool
}

// New prepares the trial of an expectation in a world; without one, nothing is predicted.
func New(r *expect.Reach, w *walk.World) *Trial {
	t := &Trial{Reach: r, again: map[int]bool{}}
	if w != nil {
		t.Forecasts = Predict(r, w)
	}
	for i, p := range pairs(r) {
		n := r.Connections()
		if t.Forecasts != nil {
			n = max(n, p.toSee(t.Forecasts[i]))
		}
		if p.Target().NotFound {
			n = 0
			if p.Flow(0).Lookup != nil {
				n = 1
			}
		}
		t.counts = append(t.counts, n)
	}
	return t
}

// most bounds the connections that a pair makes to see what is improbable.
const most = 20_000

// toSee is how many connections of the pair show everything that is predicted and that the
// claim tells apart.
func (p *pair) toSee(f Forecast) int {
	if f.remembers() {
		return 1
	}
	shares := map[string]float64{}
	for _, b := range f.Prediction.Branches {
		what := p.Judged(b.Result)
		if f.Unknown != "" { // packets alone tell what those who answer differ in
			what = fmt.Sprint(what, b.Result)
		}
		shares[what] += b.Probability
	}
	return min(expect.ToSeeAll(shares), most)
}

// Flows are all connections: for each dialer, for each target whose name resolved, those of
// the pair in a row; after them those that they are compared with.
func (t *Trial) Flows() []flow.Flow {
	var flows []flow.Flow
	for i, p := range pairs(t.Reach) {
		once := t.Forecasts != nil && t.Forecasts[i].choosesAgain()
		for n := range t.counts[i] {
			f := p.Flow(n)
			f.Once = once
			flows = append(flows, f)
		}
	}
	return append(flows, t.References()...)
}

// dials is how many of Flows belong to pairs.
func (t *Trial) dials() int {
	n := 0
	for _, count := range t.counts {
		n += count
	}
	return n
}

// Confirmations is how often connections are dialed again that together did not show what is
// predicted, each of them possible: something never happened, or too seldom. A busy machine
// that loses packets does not mean that the rules on paper differ from the kernel's.
const Confirmations = 2

// Again lists the indexes in Flows that are to be dialed again, after so many rounds: what
// was observed is impossible on paper, as before a program listens or when a packet is
// lost; or it is a measurement, and the machine may have been busy. What paper calls
// possible is never dialed again, however wrong. Replace the observations at these
// indexes, and judge again.
func (t *Trial) Again(v Verdict, observations []flow.Observation, rounds int) []int {
	var again []int
	for i, p := range v.Pairs {
		var f Forecast
		if t.Forecasts != nil {
			f = t.Forecasts[i]
		}
		possible := func(place int) bool { return f.allows(observations[place].Result()) }
		impossible := slices.DeleteFunc(slices.Clone(p.Flows), possible)
		switch {
		case f.known():
			again = append(again, impossible...)
			if len(impossible) == 0 && (p.Disagrees || p.Unlikely && f.OK) && rounds < Confirmations {
				again = append(again, p.Flows...)
			}
		case !p.OK && len(f.Wrong) == 0:
			again = append(again, impossible...)
		}
		if p.Noisy {
			again = append(append(again, p.Flows...), p.References...)
		}
	}
	slices.Sort(again)
	return slices.Compact(again)
}

// Redialed notes that the connections at some indexes in Flows are dialed again.
func (t *Trial) Redialed(places []int) {
	for _, place := range places {
		t.again[place] = true
	}
}

// Judge decides whether the observations of Flows, in their order, are as claimed, and
// whether the claim is what paper predicts. It panics when observations is not as long as
// Flows.
func (t *Trial) Judge(observations []flow.Observation) Verdict {
	dials := t.dials()
	if n := dials + len(t.References()); n != len(observations) {
		panic(fmt.Sprintf("expectation %q: %d flows, but %d observations", t.Name, n, len(observations)))
	}
	v := Verdict{OK: true}
	next := 0
	for i, p := range pairs(t.Reach) {
		out := p.judge(observations, next, t.counts[i], dials)
		next += t.counts[i]
		for _, place := range out.Flows {
			if t.again[place] {
				out.Again++
			}
		}
		if t.Forecasts != nil && len(out.Flows) > 0 {
			t.Forecasts[i].compare(&out, observations)
		}
		v.Pairs = append(v.Pairs, out)
		v.OK = v.OK && out.OK
		v.Disagrees = v.Disagrees || out.Disagrees
	}
	return v
}
