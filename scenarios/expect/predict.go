package expect

import (
	"fmt"
	"math"
	"slices"

	"github.com/netlab/netlab/datapath/flow"
	"github.com/netlab/netlab/datapath/walk"
)

// certain is the probability above which an end that was not seen should have
// been.
const certain = 1 - missed

// Forecast is what the rules make of one pair of dialer and target, on paper.
type Forecast struct {
	Who        string
	To         string
	Prediction walk.Prediction // without branches when the name did not resolve
	// Wrong says what the prediction lacks of the claim; nil: nothing.
	Wrong []string
}

// Predict follows a connection of every pair through a plan, in the order of the
// pairs of Judge. What rules remember of earlier connections is left out.
func (r *Reach) Predict(w *walk.World) []Forecast {
	var all []Forecast
	for from := range r.From {
		for to := range r.To {
			f := Forecast{Who: r.From[from].Name, To: r.To[to].Name}
			if r.To[to].NotFound {
				if r.outcomeOf(from, to) != flow.DNS {
					f.Wrong = []string{"the name " + f.To + " does not resolve"}
				}
			} else {
				f.Prediction = r.walk(w, from, to)
				f.Wrong = r.wrongForecast(from, r.outcomeOf(from, to), f.Prediction)
			}
			all = append(all, f)
		}
	}
	return all
}

// walk follows a connection of a pair: to each address of the target, since
// connections take them in turn.
func (r *Reach) walk(w *walk.World, from, to int) walk.Prediction {
	addresses := min(1+len(r.To[to].Also), r.Connections())
	p := w.Walk(r.flow(Dial{From: from, To: to}))
	for n := 1; n < addresses; n++ {
		p.Branches = append(p.Branches, w.Walk(r.flow(Dial{From: from, To: to, N: n})).Branches...)
	}
	for i := range p.Branches {
		p.Branches[i].Probability /= float64(addresses)
	}
	return p
}

// wrongForecast judges a prediction as Judge judges what is seen, but exactly:
// chances are known.
func (r *Reach) wrongForecast(from int, want flow.Outcome, p walk.Prediction) []string {
	var wrong []string
	whole := 0.0
	for _, e := range p.Ends() {
		end := e.Value
		switch {
		case end.Outcome != want:
			wrong = append(wrong, fmt.Sprintf("%s, %.1f %%", end, 100*e.Probability))
			continue
		case end.Outcome != flow.Connected:
			continue
		}
		whole += e.Probability
		if len(r.Answers) > 0 && !slices.Contains(r.Answers, end.Answer) {
			wrong = append(wrong, end.Answer+" should not answer")
		}
		if from < len(r.Sources) && !r.allowsSource(from, end) {
			wrong = append(wrong, fmt.Sprintf("%s is not an allowed source", end.Source))
		}
	}
	if want == flow.Connected && whole > 0 {
		wrong = append(wrong, r.wrongChances(p, whole)...)
	}
	return wrong
}

func (r *Reach) allowsSource(from int, end flow.End) bool {
	for _, p := range r.Sources[from] {
		if p.Contains(end.Source) {
			return true
		}
	}
	return false
}

// wrongChances says who cannot answer but should, and whose share is out of
// tolerance.
func (r *Reach) wrongChances(p walk.Prediction, whole float64) []string {
	chances := map[string]float64{}
	var answering []string
	for _, a := range p.Answers() {
		chances[a.Value] = a.Probability / whole
		answering = append(answering, a.Value)
	}
	var wrong []string
	for _, name := range r.Answers {
		if chances[name] == 0 && !r.mayStaySilent(name) {
			wrong = append(wrong, name+" cannot answer")
		}
	}
	if r.Spread == nil {
		return wrong
	}
	names := r.agents()
	if len(names) == 0 {
		names = answering
	}
	shares := r.Spread.shares(names)
	for _, name := range names {
		// Rules hold chances in 31 bits, so that a third is not quite one.
		if math.Abs(chances[name]-shares[name]) > r.Spread.Tolerance*shares[name]+1e-6 {
			wrong = append(wrong, fmt.Sprintf("%s gets %.1f %% of the answers, not %.1f %%", name, 100*chances[name], 100*shares[name]))
		}
	}
	return wrong
}

// Disagrees says how what was seen of the pair's flows differs from the forecast:
// an end that the rules do not allow, or one that should have been seen among so
// many connections; not so where rules remember the client, since its connections
// then follow each other. Neither has to do with the claim: a disagreement is a bug
// in the rules' reading on paper, in the lab or in the kernel.
func (f Forecast) Disagrees(seen []flow.Seen) []string {
	if len(f.Prediction.Branches) == 0 || len(seen) == 0 {
		return nil
	}
	var wrong []string
	met := map[flow.End]bool{}
	for _, s := range seen {
		end := s.End()
		if met[end] {
			continue
		}
		met[end] = true
		if !f.allows(end) {
			wrong = append(wrong, "observed but not predicted: "+end.String())
		}
	}
	if slices.ContainsFunc(f.Prediction.Branches, func(b walk.Branch) bool { return b.State.Remembers() }) {
		return wrong
	}
	for _, e := range f.Prediction.Ends() {
		likely := 1 - math.Pow(1-e.Probability, float64(len(seen)))
		if !met[e.Value] && likely > certain && !nameless(met) {
			wrong = append(wrong, fmt.Sprintf("predicted (%.1f %%) but not observed in %d connections: %s", 100*e.Probability, len(seen), e.Value))
		}
	}
	return wrong
}

// allows compares with a server that may not say who it is.
func (f Forecast) allows(end flow.End) bool {
	if end.Outcome != flow.Connected || end.Answer != "" {
		return f.Prediction.Allows(end)
	}
	return slices.ContainsFunc(f.Prediction.Branches, func(b walk.Branch) bool { return b.Outcome == flow.Connected })
}

func nameless(met map[flow.End]bool) bool {
	return met[flow.End{Outcome: flow.Connected}]
}
