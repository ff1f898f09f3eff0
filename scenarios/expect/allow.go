package expect

import (
	"fmt"
	"slices"

	"github.com/netlab/netlab/datapath/flow"
)

// Allow is a truth table: which pairs of a Reach connect. All others end as Denied.
type Allow struct {
	Pairs  [][]bool     // by From, then To
	Denied flow.Outcome // timeout or refused
}

// OutcomeOf is how connections of one pair should end.
func (r *Reach) OutcomeOf(from, to int) flow.Outcome {
	switch {
	case r.Allow == nil:
		return r.outcome()
	case r.Allow.Pairs[from][to]:
		return flow.Connected
	default:
		return r.Allow.Denied
	}
}

// Itself reports whether a pair is a dialer and its own address.
func (r *Reach) Itself(from, to int) bool {
	return slices.Contains(r.From[from].Addrs, r.To[to].Addr.Addr())
}

// wanted describes what a truth table claims.
func (a *Allow) wanted() string {
	pairs, allowed := 0, 0
	for _, row := range a.Pairs {
		pairs += len(row)
		for _, ok := range row {
			if ok {
				allowed++
			}
		}
	}
	return fmt.Sprintf("%d of %d pairs connected, all others %s", allowed, pairs, a.Denied)
}
