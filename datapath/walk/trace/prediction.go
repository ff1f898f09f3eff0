package trace

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"

	"github.com/netlab/netlab/datapath/flow"
	"github.com/netlab/netlab/datapath/walk/memory"
)

// Prediction is every possible result of a flow.
type Prediction struct {
	Flow     flow.Flow
	Branches []Branch // in the order of the rules that choose
	// Asked are the queries of the flow's lookup, one for each name server that can be asked: what
	// becomes of a query besides an answer is a branch of the flow, too.
	Asked []Prediction
}

// Branch is one path that a flow can take.
type Branch struct {
	Probability float64 `json:"probability"` // of all, between 0 and 1
	flow.Result
	// Why says in one sentence what happened to the packet when there was no answer.
	Why string `json:"why,omitempty"`
	// Assumed: a program runs where the packet arrives, and the plan does not say what it
	// does there. The result assumes that it does not listen on a port that no port block
	// names, and that it answers on one that does.
	Assumed bool       `json:"assumed,omitempty"`
	Local   netip.Addr `json:"local,omitzero"` // the dialer's own address
	Steps   []Step     `json:"steps"`
	// Passed are the packets at every link that they pass, in order, of all parts of the
	// conversation; Tracked what connection tracking has afterwards; Hits the rules that they
	// met, once for each packet.
	Passed  []flow.Packet `json:"-"`
	Tracked []flow.Entry  `json:"-"`
	Hits    []Hit         `json:"-"`
	// State is what the rules remember after this branch; a later walk may start from
	// it.
	State *memory.State `json:"-"`
}

// ChoosesAgain reports whether a branch lost its packet in a namespace whose rules choose
// at random. What tracking noted of it goes with it (an entry is confirmed when its
// packet leaves, nf_conntrack_confirm), so that the rules choose anew when it is sent
// again.
func (p Prediction) ChoosesAgain(b *Branch) bool {
	if b.Outcome != flow.Timeout || len(b.Steps) == 0 {
		return false
	}
	last := b.Steps[len(b.Steps)-1]
	chooses := func(s Step) bool { return s.Leg == Request && s.Netns == last.Netns && s.Chance > 0 }
	return last.Leg == Request && slices.ContainsFunc(p.Branches, func(b Branch) bool { return slices.ContainsFunc(b.Steps, chooses) })
}

// Weight is a value and how likely it is.
type Weight[T any] struct {
	Value       T       `json:"value"`
	Probability float64 `json:"probability"`
}

// Results are the different results of the flow, the most likely first.
func (p Prediction) Results() []Weight[flow.Result] {
	return weigh(p, func(b *Branch) (flow.Result, bool) { return b.Result, true },
		flow.Result.Compare)
}

// Outcomes are the different outcomes, the most likely first.
func (p Prediction) Outcomes() []Weight[flow.Outcome] {
	return weigh(p, func(b *Branch) (flow.Outcome, bool) { return b.Outcome, true }, cmp.Compare[flow.Outcome])
}

// Answers are the agents that can answer, the most likely first. The probabilities are
// relative to all connections, answered or not.
func (p Prediction) Answers() []Weight[string] {
	return weigh(p, func(b *Branch) (string, bool) { return b.Answer, b.Answer != "" }, cmp.Compare[string])
}

// Sources are the source addresses that servers can see, the most likely first.
func (p Prediction) Sources() []Weight[netip.Addr] {
	return weigh(p, func(b *Branch) (netip.Addr, bool) { return b.Source, b.Source.IsValid() }, netip.Addr.Compare)
}

// Allows reports whether the flow can have this result. An observed result that is not
// allowed is a disagreement.
func (p Prediction) Allows(r flow.Result) bool {
	return slices.ContainsFunc(p.Branches, func(b Branch) bool { return r.Agrees(b.Result) && b.Probability > 0 })
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

// MarshalJSON returns the prediction for other programs: the flow, its results with
// their probabilities, and every branch with all steps.
func (p Prediction) MarshalJSON() ([]byte, error) {
	type end struct {
		flow.Result
		Probability float64 `json:"probability"`
	}
	out := struct {
		From     string        `json:"from"`
		To       string        `json:"to"`
		Protocol flow.Protocol `json:"protocol"`
		Ends     []end         `json:"ends"`
		Branches []Branch      `json:"branches"`
		Asked    []Prediction  `json:"asked,omitempty"`
	}{Asked: p.Asked, From: p.Flow.From, To: p.Flow.To.String(), Protocol: cmp.Or(p.Flow.Protocol, flow.TCP), Ends: []end{}, Branches: p.Branches}
	for _, e := range p.Results() {
		out.Ends = append(out.Ends, end{e.Value, e.Probability})
	}
	b, err := json.Marshal(out)
	if err != nil {
		return nil, fmt.Errorf("prediction: %w", err)
	}
	return b, nil
}
