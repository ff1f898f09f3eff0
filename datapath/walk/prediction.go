package walk

import (
	"cmp"
	"net/netip"
	"slices"

	"github.com/netlab/netlab/datapath/flow"
)

// Prediction is everything that can come of a flow.
type Prediction struct {
	Flow     flow.Flow
	Branches []Branch // in the order of the rules that choose
}

// Branch is one way that a flow can take.
type Branch struct {
	Probability float64 `json:"probability"` // of all, between 0 and 1
	flow.End
	// Why says what became of the packet when nobody answered, in one sentence.
	Why   string     `json:"why,omitempty"`
	Local netip.Addr `json:"local,omitzero"` // the dialer's own address
	Steps []Step     `json:"steps"`
	// State is what the rules remember when this way was taken; a later walk may
	// start from it.
	State *State `json:"-"`
}

// Weight is a value and how likely it is.
type Weight[T any] struct {
	Value       T       `json:"value"`
	Probability float64 `json:"probability"`
}

// Ends are the different ends of the flow, the most likely first.
func (p Prediction) Ends() []Weight[flow.End] {
	return weigh(p, func(b *Branch) (flow.End, bool) { return b.End, true },
		func(a, b flow.End) int { return cmp.Compare(a.String(), b.String()) })
}

// Outcomes are the different outcomes, the most likely first.
func (p Prediction) Outcomes() []Weight[flow.Outcome] {
	return weigh(p, func(b *Branch) (flow.Outcome, bool) { return b.Outcome, true }, cmp.Compare[flow.Outcome])
}

// Answers are the agents that can answer, the most likely first. The probabilities
// are of all connections, answered or not.
func (p Prediction) Answers() []Weight[string] {
	return weigh(p, func(b *Branch) (string, bool) { return b.Answer, b.Answer != "" }, cmp.Compare[string])
}

// Sources are the addresses that servers can see of the dialer, the most likely
// first.
func (p Prediction) Sources() []Weight[netip.Addr] {
	return weigh(p, func(b *Branch) (netip.Addr, bool) { return b.Source, b.Source.IsValid() }, netip.Addr.Compare)
}

// Allows reports whether the flow can end so. An observed end that is not allowed
// is a disagreement.
func (p Prediction) Allows(e flow.End) bool {
	return slices.ContainsFunc(p.Branches, func(b Branch) bool { return b.End == e && b.Probability > 0 })
}

func weigh[T comparable](p Prediction, of func(*Branch) (T, bool), compare func(a, b T) int) []Weight[T] {
	sums := map[T]float64{}
	for i := range p.Branches {
		if v, ok := of(&p.Branches[i]); ok {
			sums[v] += p.Branches[i].Probability
		}
	}
	list := make([]Weight[T], 0, len(sums))
	for v, sum := range sums {
		list = append(list, Weight[T]{v, sum})
	}
	// Equal shares differ in the last digits, by the order of the rules.
	round := func(x float64) int { return int(x*1e9 + 0.5) }
	slices.SortFunc(list, func(a, b Weight[T]) int {
		return cmp.Or(cmp.Compare(round(b.Probability), round(a.Probability)), compare(a.Value, b.Value))
	})
	return list
}
