package trial

import (
	"slices"
	"strings"

	"github.com/netlab/netlab/datapath/flow"
	"github.com/netlab/netlab/reports"
	"github.com/netlab/netlab/scenarios/expect"
)

// pair is one dialer and one target of an expectation that is tried.
type pair struct{ expect.Pair }

// pairs are those of an expectation, dialer by dialer.
func pairs(r *expect.Reach) []pair {
	var all []pair
	for _, p := range r.Pairs() {
		all = append(all, pair{p})
	}
	return all
}

// judge judges the pair's connections: so many of observations from an index on. Those that
// it is compared with begin at another.
func (p *pair) judge(observations []flow.Observation, from, count, references int) Pair {
	out := Pair{Row: reports.Row{Who: p.Who(), To: p.Target().Name, Wanted: p.Wanted(), Connections: count}}
	if count == 0 {
		p.observeUnresolved(&out)
		return out
	}
	for i := range count {
		out.Flows = append(out.Flows, from+i)
	}
	for i := range len(observations) - references {
		out.References = append(out.References, references+i)
	}
	p.observe(&out, observations[from:from+count], observations[references:])
	return out
}

// observeUnresolved judges a target whose name did not resolve: nothing was dialed.
func (p *pair) observeUnresolved(out *Pair) {
	e := expect.Unresolved()
	out.OK = len(p.Check(e)) == 0
	e.Made = 1
	newTally(e).row(&out.Row)
	out.Observed = "dns: the name " + out.To + " did not resolve"
}

// observe judges the connections of the pair.
func (p *pair) observe(out *Pair, own, references []flow.Observation) {
	e := observed(own)
	t := newTally(e)
	t.row(&out.Row)
	wrong := p.Check(e)
	measured, beyond, noisy := p.Measure(own, references)
	out.OK = len(wrong)+len(beyond) == 0
	out.Unlikely = len(wrong) > 0
	out.Noisy = len(wrong) == 0 && len(beyond) > 0 && noisy
	out.Measured = strings.Join(measured, ", ")
	out.Observed = sentences(slices.Concat([]string{t.observed(errorsOf(own, flow.Failed), errorsOf(own, flow.DNS))}, wrong, measured, beyond))
}

// errorsOf are the distinct errors of probes with an outcome: failed or dns.
func errorsOf(own []flow.Observation, outcome flow.Outcome) []string {
	var errs []string
	for _, o := range own {
		if o.Outcome == outcome && !slices.Contains(errs, o.Err) {
			errs = append(errs, o.Err)
		}
	}
	return errs
}

// observed are the results of connections, weighted by their number.
func observed(own []flow.Observation) expect.Evidence {
	weights := map[flow.Result]float64{}
	sequence := make([]flow.Result, len(own))
	for i, o := range own {
		sequence[i] = o.Result()
		weights[sequence[i]]++
	}
	return expect.NewEvidence(len(own), weights, [][]flow.Result{sequence})
}

// sentences joins texts and leaves out empty ones.
func sentences(texts []string) string {
	var said []string
	for _, text := range texts {
		if text != "" {
			said = append(said, text)
		}
	}
	return strings.Join(said, "; ")
}
