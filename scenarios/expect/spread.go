package expect

import (
	"fmt"
	"math"
	"slices"
)

// Spread requires that answers are balanced.
type Spread struct {
	Tolerance float64 // allowed deviation of each share, as a fraction of it
	// Weights says how much of the whole each agent gets, in any unit; an agent
	// of Answers that is not listed gets nothing. Nil: equal shares.
	Weights map[string]float64
}

// The shares of those who answer.
var spreadCheck = check{
	name:       "spread",
	attributes: []string{"spread"},
	wanted: func(r *Reach, _ int) []string {
		if r.Spread == nil {
			return nil
		}
		return []string{fmt.Sprintf("shares within %g %%", 100*r.Spread.Tolerance)}
	},
	all: func(p *Pair, e Evidence) []string {
		if p.Spread == nil {
			return nil
		}
		results := e.connected(p)
		names := p.agents()
		if len(names) == 0 { // balanced over all that answer
			names = answerers(results)
		}
		whole := 0.0
		for _, name := range names {
			whole += answered(results, name)
		}
		if whole == 0 {
			return nil
		}
		shares := p.Spread.shares(names)
		var wrong []string
		for _, name := range names {
			if got := answered(results, name) / whole; math.Abs(got-shares[name]) > p.Spread.Tolerance*shares[name]+rounding {
				wrong = append(wrong, fmt.Sprintf("%s has %.1f %% of the answers, not %.1f %%", name, 100*got, 100*shares[name]))
			}
		}
		return wrong
	},
}

// agents are those of Answers, or else those that have weights.
func (r *Reach) agents() []string {
	if len(r.Answers) > 0 || r.Spread == nil {
		return r.Answers
	}
	var names []string
	for name := range r.Spread.Weights {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// excludes reports whether the agent's share is nothing.
func (s *Spread) excludes(name string) bool {
	return s != nil && len(s.Weights) > 0 && s.Weights[name] <= 0
}

// shares is the expected share of each agent, of 1 in all.
func (s *Spread) shares(names []string) map[string]float64 {
	if len(s.Weights) == 0 {
		return equalShares(names)
	}
	whole := 0.0
	for _, name := range names {
		whole += s.Weights[name]
	}
	shares := map[string]float64{}
	for _, name := range names {
		if whole > 0 {
			shares[name] = s.Weights[name] / whole
		}
	}
	return shares
}

func equalShares(names []string) map[string]float64 {
	shares := map[string]float64{}
	for _, name := range names {
		shares[name] = 1 / float64(len(names))
	}
	return shares
}
