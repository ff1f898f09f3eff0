package trial

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/netlab/netlab/datapath/flow"
	"github.com/netlab/netlab/datapath/walk/trace"
	"github.com/netlab/netlab/scenarios/expect"
)

// certain is the probability above which a result should have been observed.
const certain = 1 - expect.Missed

// Disagrees says how what was observed of the pair's flows differs from the forecast: a
// result that the rules do not allow, or one that should have been observed among so many
// connections (unless rules remember the client, since its connections then depend on each
// other). Neither has to do with the claim: a disagreement is a bug in the walk on paper,
// in the lab or in the kernel.
func (f Forecast) Disagrees(observations []flow.Observation) []string {
	if !f.known() || len(observations) == 0 {
		return nil
	}
	var wrong []string
	met := map[flow.Result]bool{}
	for _, o := range observations {
		r := o.Result()
		if met[r] {
			continue
		}
		met[r] = true
		if !f.allows(r) {
			wrong = append(wrong, "observed but not predicted: "+r.Full())
		}
	}
	if f.remembers() {
		return wrong
	}
	for _, e := range f.Prediction.Results() {
		likely := 1 - math.Pow(1-e.Probability, float64(len(observations)))
		if likely > certain && !meets(met, e.Value) {
			wrong = append(wrong, fmt.Sprintf("predicted (%.1f %%) but not observed in %d connections: %s", 100*e.Probability, len(observations), e.Value.Full()))
		}
	}
	return wrong
}

// remembers reports whether rules remember the client, so that its connections depend on
// each other.
func (f Forecast) remembers() bool {
	return slices.ContainsFunc(f.Prediction.Branches, func(b trace.Branch) bool { return b.State.Remembers() })
}

// compare adds to a pair what was predicted of it, and whether that is the claim and what
// was observed. A failed probe is not an observation.
func (f Forecast) compare(p *Pair, observations []flow.Observation) {
	var seen []flow.Observation
	for _, place := range p.Flows {
		if o := observations[place]; o.Outcome != flow.Failed {
			seen = append(seen, o)
		}
	}
	p.Predicted, p.OK = f.Predicted, p.OK && f.OK
	if wrong := f.Disagrees(seen); len(wrong) > 0 {
		p.Disagrees = true
		p.Predicted += " (" + strings.Join(wrong, "; ") + ")"
	}
}

// known reports whether paper predicts the pair.
func (f Forecast) known() bool { return len(f.Prediction.Branches) > 0 && f.Unknown == "" }

// allows reports whether a result is possible, apart from what is assumed of programs. A
// server may not identify itself.
func (f Forecast) allows(r flow.Result) bool {
	return slices.ContainsFunc(f.Prediction.Branches, func(b trace.Branch) bool {
		if b.Probability == 0 || b.Assumed {
			return false
		}
		return r.Agrees(b.Result) || r.Outcome == flow.Connected && r.Answer == "" && b.Outcome == flow.Connected
	})
}

// meets reports whether a predicted result was among those observed, or one of a server
// that does not identify itself.
func meets(met map[flow.Result]bool, predicted flow.Result) bool {
	for r := range met {
		if r.Agrees(predicted) || r.Outcome == flow.Connected && r.Answer == "" {
			return true
		}
	}
	return false
}
