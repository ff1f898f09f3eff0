package trial

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/netlab/netlab/datapath/flow"
	"github.com/netlab/netlab/datapath/walk"
	"github.com/netlab/netlab/datapath/walk/trace"
	"github.com/netlab/netlab/reports"
	"github.com/netlab/netlab/scenarios/expect"
)

// Forecast is what the rules do with one pair of dialer and target, on paper, as the
// reports show it. OK: the prediction is as claimed, as far as paper can judge
// (Unknown, and Reach.Unpredicted).
type Forecast struct {
	reports.Row
	Unknown    string           // why paper cannot predict the pair; empty: it can
	Prediction trace.Prediction // without branches when the name did not resolve
	Wrong      []string         // what is wrong with the prediction
	Outside    []trace.Branch   // those that do not end as claimed; of a mix, all
}

// Predict follows connections of every pair through a plan, in the order of the pairs of
// Judge, and judges their results as Judge does.
func Predict(r *expect.Reach, w *walk.World) []Forecast {
	var all []Forecast
	for _, p := range pairs(r) {
		f := Forecast{Row: reports.Row{Who: p.Who(), To: p.Target().Name, Wanted: p.Wanted()}}
		e := expect.Unresolved()
		if !p.Target().NotFound {
			f.Prediction = p.walk(w)
			e = p.predicted(w, f.Prediction)
			f.Outside = slices.DeleteFunc(slices.Clone(f.Prediction.Branches), func(b trace.Branch) bool { return p.Mix == nil && p.MayEnd(b.Outcome) })
		}
		if f.Unknown = p.unknown(f.Prediction); f.Unknown != "" {
			if !p.Sometimes {
				f.Wrong = p.Outside(f.certain())
			}
			f.Predicted = "not predicted: " + f.Unknown
		} else {
			newTally(e).row(&f.Row)
			f.Wrong = p.Check(e)
			f.Predicted = f.inWords()
		}
		f.OK = len(f.Wrong) == 0
		f.Predicted = sentences(append([]string{f.Predicted}, f.Wrong...))
		all = append(all, f)
	}
	return all
}

// choosesAgain reports whether a packet can be lost where it would take its chances anew
// when it is sent again.
func (f Forecast) choosesAgain() bool {
	return slices.ContainsFunc(f.Prediction.Branches, func(b trace.Branch) bool { return f.Prediction.ChoosesAgain(&b) })
}

// unknown says why paper cannot judge what is claimed of the flow.
func (p *pair) unknown(of trace.Prediction) string {
	for _, b := range of.Branches {
		switch {
		case b.Probability == 0:
		case b.Assumed:
			return b.Why
		case b.Status == flow.AnyStatus && p.HTTP != nil && p.HTTP.Status != 0:
			return fmt.Sprintf("the status that the program of %s answers is not in the plan", b.Answer)
		case p.HTTP != nil:
			for _, name := range slices.Sorted(maps.Keys(p.HTTP.Header)) {
				if _, known, there := b.Header.Get(strings.ToLower(name)); there && !known {
					return fmt.Sprintf("the header %s that %s answers with is not in the plan", name, cmp.Or(b.Answer, p.Target().Name))
				}
			}
			for _, name := range slices.Sorted(maps.Keys(p.HTTP.Seen)) {
				if _, known, there := b.Seen.Get(strings.ToLower(name)); there && !known {
					return fmt.Sprintf("what %s sees of a request is not in the plan", b.Answer)
				}
			}
		}
	}
	return ""
}

// certain are the results that do not depend on what is unknown.
func (f Forecast) certain() expect.Evidence {
	weights := map[flow.Result]float64{}
	for _, b := range f.Prediction.Branches {
		if !b.Assumed && b.Status != flow.AnyStatus {
			weights[b.Result] += b.Probability
		}
	}
	return expect.NewEvidence(0, weights, nil)
}

// flowsOnPaper are one connection of the pair to each address of the target, since
// connections take them in turn.
func (p *pair) flowsOnPaper() []flow.Flow {
	var flows []flow.Flow
	for n := range 1 + len(p.Target().Also) {
		flows = append(flows, p.Flow(n))
	}
	return flows
}

// walk follows the first connection of the pair.
func (p *pair) walk(w *walk.World) trace.Prediction {
	flows := p.flowsOnPaper()
	prediction := ByName(w, flows[0])
	for _, f := range flows[1:] {
		prediction.Branches = append(prediction.Branches, ByName(w, f).Branches...)
	}
	for i := range prediction.Branches {
		prediction.Branches[i].Probability /= float64(len(flows))
	}
	return prediction
}

// predicted are the results of a prediction, weighted by their probability. Where the
// client's next connections matter, they are walked from what rules remember of its first.
func (p *pair) predicted(w *walk.World, prediction trace.Prediction) expect.Evidence {
	weights := map[flow.Result]float64{}
	var sequences [][]flow.Result
	for _, first := range prediction.Branches {
		weights[first.Result] += first.Probability
		if !p.Sticky || first.Probability == 0 {
			continue
		}
		sequence := []flow.Result{first.Result}
		for _, f := range p.flowsOnPaper() {
			for _, next := range w.WalkFrom(first.State, f).Branches {
				sequence = append(sequence, next.Result)
			}
		}
		sequences = append(sequences, sequence)
	}
	return expect.NewEvidence(0, weights, sequences)
}

// inWords lists the possible results of the pair's connections, with probabilities where there is
// a choice.
func (f Forecast) inWords() string {
	results := f.Prediction.Results()
	switch len(results) {
	case 0:
		return "dns: the name " + f.To + " does not resolve"
	case 1:
		return results[0].Value.String()
	}
	var words []string
	for _, e := range results {
		words = append(words, fmt.Sprintf("%.3g %%: %s", 100*e.Probability, e.Value))
	}
	return strings.Join(words, "; ")
}
