package expect

import (
	"fmt"
	"slices"

	"github.com/netlab/netlab/datapath/flow"
)

// Unresolved is the evidence of a target whose name did not resolve: nothing is dialed.
func Unresolved() Evidence { return Evidence{Results: []Weighted{{flow.Result{Outcome: flow.DNS}, 1}}} }

// Evidence is what is known of the connections of one pair.
type Evidence struct {
	Results []Weighted // distinct, in the order of their texts
	// sequences are consecutive connections of one client: those that were made, or on
	// paper, for each first one, it and the possible results of the next.
	Sequences [][]flow.Result
	Made      int // connections that packets made; 0: on paper
}

// Weighted is a result and how much of the whole it is: connections, or a probability.
type Weighted struct {
	flow.Result
	Weight float64
}

// NewEvidence are results with their weights; made is how many connections brought them, 0 on
// paper.
func NewEvidence(made int, weights map[flow.Result]float64, sequences [][]flow.Result) Evidence {
	e := Evidence{Made: made, Sequences: sequences}
	for r, w := range weights {
		if w > 0 {
			e.Results = append(e.Results, Weighted{r, w})
		}
	}
	slices.SortFunc(e.Results, func(a, b Weighted) int { return a.Compare(b.Result) })
	return e
}

// connected are the results of connections that were answered, if that is what is
// claimed: else the outcome suffices.
func (e Evidence) connected(p *Pair) []Weighted {
	if p.outcomes[flow.Connected] == 0 {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(e.Results), func(w Weighted) bool { return w.Outcome != flow.Connected })
}

// answerers are the names of those who answered, sorted.
func answerers(results []Weighted) []string {
	var names []string
	for _, w := range results {
		if w.Answer != "" {
			names = append(names, w.Answer)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// answered is how much of the whole an agent answered.
func answered(results []Weighted, name string) float64 {
	sum := 0.0
	for _, w := range results {
		if w.Answer == name {
			sum += w.Weight
		}
	}
	return sum
}

// only is the evidence of some results.
func (e Evidence) only(fit func(flow.Result) bool) Evidence {
	out := Evidence{Made: e.Made}
	for _, w := range e.Results {
		if fit(w.Result) {
			out.Results = append(out.Results, w)
		}
	}
	for _, s := range e.Sequences {
		out.Sequences = append(out.Sequences, slices.DeleteFunc(slices.Clone(s), func(r flow.Result) bool { return !fit(r) }))
	}
	return out
}

// missing says that agents never answered.
func (e Evidence) missing(names []string) string {
	if e.Made == 0 {
		return list(names, "and") + " cannot answer"
	}
	return fmt.Sprintf("no answer from %s in %d connections", list(names, "and"), e.Made)
}
