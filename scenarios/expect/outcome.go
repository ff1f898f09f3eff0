package expect

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/netlab/netlab/datapath/flow"
)

// The outcome: how every connection of a pair ends, or which part of them ends how.
var outcomeCheck = check{
	name:       "outcome",
	attributes: []string{"outcome", "allow", "denied", "sometimes"},
	wanted: func(r *Reach, _ int) []string {
		switch {
		case r.Mix != nil:
			return []string{r.mixture()}
		case r.Sometimes:
			return []string{"sometimes " + string(r.outcome())}
		}
		return []string{string(r.outcome())}
	},
	unanswered: true,
	part:       func(r flow.Result) any { return r.Outcome },
	each:       func(p *Pair, r flow.Result) (string, bool) { return asShown, p.outcomes[r.Outcome] > 0 },
	all: func(p *Pair, e Evidence) (wrong []string) {
		if p.Mix == nil {
			return nil
		}
		tolerance := mixTolerance
		if e.Made == 0 {
			tolerance = 0 // probabilities are exact
		}
		weights, whole := map[flow.Outcome]float64{}, 0.0
		for _, w := range e.Results {
			weights[w.Outcome] += w.Weight
			whole += w.Weight
		}
		for _, o := range slices.Sorted(maps.Keys(p.outcomes)) {
			if got := weights[o] / whole; math.Abs(got-p.outcomes[o]) > tolerance*p.outcomes[o]+rounding {
				wrong = append(wrong, fmt.Sprintf("%.1f %% of the connections end %s, not %.1f %%", 100*got, o, 100*p.outcomes[o]))
			}
		}
		return wrong
	},
}

// asShown is a failure without text: the results, which are always shown, explain it.
const asShown = ""

// mixTolerance is how far the observed share of an outcome may be off, as a fraction of it.
const mixTolerance = 0.25

// rounding is how far a probability may be off: rules hold chances in 31 bits, so that a
// third is not quite one.
const rounding = 1e-6

// outcome is how all connections end, without Mix.
func (r *Reach) outcome() flow.Outcome {
	if r.Outcome == "" {
		return flow.Connected
	}
	return r.Outcome
}

// outcomesOf are the ways in which connections of one pair may end, with their shares of
// the whole.
func (r *Reach) outcomesOf(from, to int) map[flow.Outcome]float64 {
	if r.Mix == nil {
		return map[flow.Outcome]float64{r.OutcomeOf(from, to): 1}
	}
	whole := 0.0
	for _, weight := range r.Mix {
		whole += weight
	}
	shares := map[flow.Outcome]float64{}
	for o, weight := range r.Mix {
		shares[o] = weight / whole
	}
	return shares
}

// claims reports whether connections may end in a way, apart from Allow.
func (r *Reach) claims(o flow.Outcome) bool {
	if r.Mix != nil {
		return r.Mix[o] > 0
	}
	return r.outcome() == o
}

// mixture describes Mix, as in "50 % connected and 50 % timeout".
func (r *Reach) mixture() string {
	shares := r.outcomesOf(0, 0)
	var parts []string
	for _, o := range slices.Sorted(maps.Keys(shares)) {
		parts = append(parts, fmt.Sprintf("%.3g %% %s", 100*shares[o], o))
	}
	return list(parts, "and")
}
