package expect

import (
	"slices"

	"github.com/netlab/netlab/reports"
)

// Verdict is the judgement of one expectation.
type Verdict struct {
	OK    bool
	Pairs []Pair // of dialer and target, in the order of Flows
}

// Pair is the judgement of what packets showed of one dialer and one target, as the
// reports show it. The rules that a packet should have met are not known here.
type Pair struct {
	reports.Row
	// References are the indexes in Flows of what the pair is compared with.
	References []int
	Flows      []int // the pair's indexes in Flows; none when the name did not resolve
}

// Again lists the indexes in Flows that are to be dialed again: all connections of
// the pairs that are not as claimed. Replace the observations at these indexes, and
// judge again; pairs that were as claimed keep their observations.
func (v Verdict) Again() []int {
	var again []int
	for _, p := range v.Pairs {
		if !p.OK {
			again = append(again, p.Flows...)
			again = append(again, p.References...)
		}
	}
	slices.Sort(again)
	return slices.Compact(again)
}

// Rows is the verdict as the reports show it.
func (v Verdict) Rows() []reports.Row {
	rows := make([]reports.Row, len(v.Pairs))
	for i, p := range v.Pairs {
		rows[i] = p.Row
	}
	return rows
}
