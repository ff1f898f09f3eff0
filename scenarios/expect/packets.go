package expect

import (
	"fmt"
	"slices"
	"strings"

	"github.com/netlab/netlab/datapath/flow"
	"github.com/netlab/netlab/reports"
)

// Judge decides whether the observations of Flows, in their order, are as claimed. It
// panics when observations is not as long as Flows.
func (r *Reach) Judge(observations []flow.Observation) Verdict {
	dials := len(r.Dials())
	if n := dials + len(r.references()); n != len(observations) {
		panic(fmt.Sprintf("expectation %q: %d flows, but %d observations", r.Name, n, len(observations)))
	}
	own, references := observations[:dials], observations[dials:]
	v := Verdict{OK: true}
	next, n := 0, r.Connections()
	for _, p := range r.pairs() {
		out := Pair{Row: reports.Row{Who: p.who(), To: p.target().Name, Wanted: p.wanted()}}
		if p.target().NotFound {
			p.observeUnresolved(&out)
		} else {
			for i := range n {
				out.Flows = append(out.Flows, next+i)
			}
			for i := range references {
				out.References = append(out.References, dials+i)
			}
			p.observe(&out, own[next:next+n], references)
			next += n
		}
		v.Pairs = append(v.Pairs, out)
		v.OK = v.OK && out.OK
	}
	return v
}

// wanted describes what the pair should see.
func (p *pair) wanted() string {
	if p.Allow != nil {
		return string(p.want)
	}
	return p.wantedOf(p.from)
}

// observeUnresolved judges a target whose name did not resolve: nothing was dialed.
func (p *pair) observeUnresolved(out *Pair) {
	e := unresolved()
	out.OK = len(p.check(e)) == 0
	e.made = 1
	e.tally().row(&out.Row)
	out.Observed = "dns: the name " + out.To + " did not resolve"
}

// observe judges the connections of the pair.
func (p *pair) observe(out *Pair, own, references []flow.Observation) {
	e := observed(own)
	t := e.tally()
	t.row(&out.Row)
	wrong := p.check(e)
	measured, beyond := p.measure(own, references)
	out.OK = len(wrong)+len(beyond) == 0
	out.Measured = strings.Join(measured, ", ")
	out.Observed = sentences(slices.Concat([]string{t.observed(errorsOf(own))}, wrong, measured, beyond))
}

// errorsOf are the distinct errors of probes that broke.
func errorsOf(own []flow.Observation) []string {
	var errs []string
	for _, o := range own {
		if o.Outcome == flow.Failed && !slices.Contains(errs, o.Err) {
			errs = append(errs, o.Err)
		}
	}
	return errs
}

// observed are the results of connections, weighted by their number.
func observed(own []flow.Observation) evidence {
	weights := map[flow.Result]float64{}
	sequence := make([]flow.Result, len(own))
	for i, o := range own {
		sequence[i] = o.Result()
		weights[sequence[i]]++
	}
	return newEvidence(len(own), weights, [][]flow.Result{sequence})
}

// sentences joins texts and leaves out empty ones.
func sentences(texts []string) string {
	var said []string
	for _, text := range texts {
		if text != asShown {
			said = append(said, text)
		}
	}
	return strings.Join(said, "; ")
}
