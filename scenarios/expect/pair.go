package expect

import (
	"fmt"
	"slices"

	"github.com/netlab/netlab/datapath/flow"
)

// Pair is one dialer and one target of an expectation.
type Pair struct {
	*Reach
	from, to int
	outcomes map[flow.Outcome]float64 // how connections may end, by weights
}

// Pairs are those of an expectation, dialer by dialer.
func (r *Reach) Pairs() []Pair {
	var all []Pair
	for from := range r.From {
		for to := range r.To {
			if r.Only == nil || r.Only[from][to] {
				all = append(all, Pair{r, from, to, r.outcomesOf(from, to)})
			}
		}
	}
	return all
}

// Who is the name of the dialer.
func (p *Pair) Who() string { return p.From[p.from].Name }

// Target is what is dialed.
func (p *Pair) Target() Target { return p.To[p.to] }

// Flow is the n-th connection of the pair.
func (p *Pair) Flow(n int) flow.Flow { return p.flow(p.from, p.to, n) }

// MayEnd reports whether connections of the pair may end in a way.
func (p *Pair) MayEnd(o flow.Outcome) bool { return p.outcomes[o] > 0 }

// Wanted describes what the pair should see.
func (p *Pair) Wanted() string {
	if p.Allow != nil {
		return string(p.OutcomeOf(p.from, p.to))
	}
	return p.wantedOf(p.from)
}

// Check judges results, from packets or from paper: every connection must be as claimed,
// or with Sometimes any, and then those that are must be as claimed together. With Broken
// none may be.
func (p *Pair) Check(e Evidence) (wrong []string) {
	if p.Broken {
		if len(e.only(p.asClaimed).Results) > 0 {
			return []string{"what should not hold does"}
		}
		return nil
	}
	if p.Sometimes {
		if e = e.only(p.asClaimed); len(e.Results) == 0 {
			return []string{"no connection is as claimed"}
		}
	} else {
		wrong = p.Outside(e)
	}
	for _, c := range checks {
		if c.all != nil {
			wrong = append(wrong, c.all(p, e)...)
		}
	}
	return wrong
}

// Outside describes the results that are not as claimed, nothing twice.
func (p *Pair) Outside(e Evidence) (wrong []string) {
	for _, w := range e.Results {
		for _, c := range checks {
			why, ok := p.each(c, w.Result)
			if ok {
				continue
			}
			if e.Made == 0 && len(e.Results) > 1 {
				why = outsideOnPaper(w, why)
			}
			if !slices.Contains(wrong, why) {
				wrong = append(wrong, why)
			}
		}
	}
	return wrong
}

// outsideOnPaper names a result that can occur although it is not as claimed.
func outsideOnPaper(w Weighted, why string) string {
	text := fmt.Sprintf("outside the claim: %.3g %% %s", 100*w.Weight, w.Result)
	if why != asShown {
		text += " (" + why + ")"
	}
	return text
}

// each judges one connection by one check.
func (p *Pair) each(c check, r flow.Result) (why string, ok bool) {
	if c.each == nil || !c.unanswered && !(r.Outcome == flow.Connected && p.outcomes[r.Outcome] > 0) {
		return "", true
	}
	return c.each(p, r)
}

// asClaimed reports whether one connection is as claimed.
func (p *Pair) asClaimed(r flow.Result) bool {
	return !slices.ContainsFunc(checks, func(c check) bool {
		_, ok := p.each(c, r)
		return !ok
	})
}

// Judged is what the claim is about in a result: results that are equal in it are the
// same to the claim.
func (p *Pair) Judged(r flow.Result) string {
	var parts []any
	for _, c := range checks {
		if c.part != nil && len(c.wanted(p.Reach, p.from)) > 0 {
			parts = append(parts, c.part(r))
		}
	}
	return fmt.Sprint(parts...)
}

// Measure judges what only packets show. noisy: all that is wrong may be due to what else
// the machine does.
func (p *Pair) Measure(own, references []flow.Observation) (measured, wrong []string, noisy bool) {
	if p.outcomes[flow.Connected] == 0 {
		return nil, nil, true
	}
	noisy = true
	for _, c := range checks {
		if c.measure != nil {
			m, w := c.measure(p, own, references)
			measured, wrong = append(measured, m...), append(wrong, w...)
			noisy = noisy && (c.noisy || len(w) == 0)
		}
	}
	return measured, wrong, noisy
}
