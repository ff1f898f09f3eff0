package expect

import "github.com/netlab/netlab/datapath/flow"

// The outcome: how every connection of a pair ends.
var outcomeCheck = check{
	name:       "outcome",
	attributes: []string{"outcome", "allow", "denied"},
	wanted:     func(r *Reach, _ int) []string { return []string{string(r.outcome())} },
	judge: byResults(func(p *pair, e evidence) []string {
		for _, w := range e.results {
			if w.Outcome != p.want {
				return []string{asShown}
			}
		}
		return nil
	}),
}

// asShown is a failure without text: the results, which are always shown, explain it.
const asShown = ""

func (r *Reach) outcome() flow.Outcome {
	if r.Outcome == "" {
		return flow.Connected
	}
	return r.Outcome
}
