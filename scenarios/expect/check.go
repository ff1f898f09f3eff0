package expect

import (
	"slices"

	"github.com/netlab/netlab/datapath/flow"
	"github.com/netlab/netlab/scenarios/expect/state"
)

// checks are all that an expectation can claim of a pair, in the order in which claims
// are described.
var checks = []check{
	outcomeCheck, answerCheck, stickyCheck, statusCheck, headerCheck, seenCheck, sourceCheck, forwardedCheck, ttlCheck,
	latencyCheck, throughputCheck, mtuCheck, spreadCheck,
}

// check is one thing that an expectation can claim of each pair of dialer and target.
type check struct {
	name string
	// attributes are the attributes and blocks of the language that claim it.
	attributes []string
	// wanted describes what is claimed of a dialer, by its index in From, or of all
	// dialers with -1. Nothing: it is not claimed, or is implied.
	wanted func(r *Reach, from int) []string

	// What the walker knows as well as the probe does is judged by each and all, and
	// both may be nil. each judges one connection, of those that were answered unless
	// unanswered is set. It returns false, and why, unless what is always shown says it.
	each       func(p *Pair, r flow.Result) (why string, ok bool)
	unanswered bool
	// part is what each judges of a result.
	part func(r flow.Result) any
	// all judges the connections together, and returns descriptions of what is wrong.
	all func(p *Pair, e Evidence) (wrong []string)

	// measure judges what only packets show; nil: nothing. It returns descriptions of
	// what was measured and of what is wrong with it.
	measure func(p *Pair, own, references []flow.Observation) (measured, wrong []string)
	// noisy: the measurement depends on what else the machine does, so that one that is
	// wrong is repeated.
	noisy bool
}

// Claims are the attributes and blocks of an expectation that checks judge, or package state.
func Claims() []string {
	names := state.Kinds()
	for _, c := range checks {
		names = append(names, c.attributes...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Unpredicted are the claims of the expectation that paper cannot judge, by name.
func (r *Reach) Unpredicted() []string {
	var names []string
	for _, c := range checks {
		if c.measure != nil && r.claims(flow.Connected) && len(c.wanted(r, -1)) > 0 {
			names = append(names, c.name)
		}
	}
	return names
}
