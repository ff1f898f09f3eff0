package trial

import "github.com/netlab/netlab/reports"

// Verdict is the judgement of one expectation.
type Verdict struct {
	OK        bool
	Disagrees bool   // packets and paper differ somewhere
	Pairs     []Pair // of dialer and target, in the order of Flows
}

// Pair is the judgement of what packets showed of one dialer and one target, as the
// reports show it. The rules that a packet should have met are not known here.
type Pair struct {
	reports.Row
	// References are the indexes in Flows of what the pair is compared with.
	References []int
	Flows      []int // the pair's indexes in Flows; none when the name did not resolve
	Unlikely   bool  // the results are wrong; if paper is as claimed, that is improbable
	Noisy      bool  // only measurements are wrong that another load of the machine may change
}

// Rows is the verdict as the reports show it.
func (v Verdict) Rows() []reports.Row {
	rows := make([]reports.Row, len(v.Pairs))
	for i, p := range v.Pairs {
		rows[i] = p.Row
	}
	return rows
}
