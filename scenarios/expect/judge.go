package expect

import (
	"fmt"
	"maps"
	"math"
	"net/netip"
	"slices"
	"strings"

	"github.com/netlab/netlab/datapath/flow"
	"github.com/netlab/netlab/reports"
)

// Judge says whether what was seen of Flows, in their order, is as claimed: each
// connection ended as it should, was answered by one of Answers and seen with an
// allowed source, and each pair met every one of Answers, in fair shares if the
// expectation says so. It panics when seen is not as long as Flows.
func (r *Reach) Judge(seen []flow.Seen) Verdict {
	dials := len(r.Dials())
	if n := dials + len(r.references()); n != len(seen) {
		panic(fmt.Sprintf("expectation %q: %d flows, but %d were seen", r.Name, n, len(seen)))
	}
	seen, references := seen[:dials], seen[dials:]
	v := Verdict{OK: true}
	next, n := 0, r.Connections()
	for from := range r.From {
		for to := range r.To {
			p := Pair{Who: r.From[from].Name, To: r.To[to].Name, Wanted: r.wantedOf(from)}
			if r.Allow != nil {
				p.Wanted = string(r.outcomeOf(from, to))
			}
			if r.To[to].NotFound {
				r.judgeNotFound(&p, r.outcomeOf(from, to))
			} else {
				for i := range n {
					p.Flows = append(p.Flows, next+i)
				}
				r.judgePair(&p, from, r.outcomeOf(from, to), seen[next:next+n])
				r.measurePair(&p, to, seen[next:next+n], references)
				for i := range references {
					p.References = append(p.References, dials+i)
				}
				next += n
			}
			v.Pairs = append(v.Pairs, p)
			v.OK = v.OK && p.OK
		}
	}
	return v
}

// judgeNotFound judges a target whose name did not resolve: nothing was dialed.
func (r *Reach) judgeNotFound(p *Pair, want flow.Outcome) {
	p.OK = want == flow.DNS
	p.Outcomes = []reports.Outcomes{{Outcome: flow.DNS, Count: 1}}
	p.Observed = "dns: the name " + p.To + " did not resolve"
}

func (r *Reach) judgePair(p *Pair, from int, want flow.Outcome, seen []flow.Seen) {
	t := count(seen)
	p.Outcomes, p.Sources, p.Answers = t.outcomes, t.sources, t.answers
	wrong := r.wrongSources(from, seen)
	wrong = append(wrong, r.wrongAnswers(t, seen)...)
	wrong = append(wrong, r.wrongShares(t)...)
	wrong = append(wrong, r.unsteady(t, seen)...)
	wrong = append(wrong, r.wrongResponses(seen)...)
	p.OK = len(wrong) == 0
	for _, o := range t.outcomes {
		p.OK = p.OK && o.Outcome == want
	}
	p.Observed = strings.Join(append([]string{t.String()}, wrong...), "; ")
}

// measurePair adds what was measured of a pair to its judgement.
func (r *Reach) measurePair(p *Pair, to int, seen, references []flow.Seen) {
	measured, wrong := r.wrongMeasures(to, seen, references)
	p.OK = p.OK && len(wrong) == 0
	p.Observed = strings.Join(append([]string{p.Observed}, append(measured, wrong...)...), "; ")
	p.Measured = strings.Join(measured, ", ")
}

// wrongSources says which sources the servers should not have seen.
func (r *Reach) wrongSources(from int, seen []flow.Seen) []string {
	if from >= len(r.Sources) || r.outcome() != flow.Connected {
		return nil
	}
	var wrong []string
	for _, s := range seen {
		if s.Outcome != flow.Connected {
			continue
		}
		text := ""
		switch source := s.Source.Addr().Unmap(); {
		case !s.Source.IsValid():
			text = "the server does not say whom it saw"
		case !slices.ContainsFunc(r.Sources[from], func(p netip.Prefix) bool { return p.Contains(source) }):
			text = fmt.Sprintf("%s is not an allowed source", source)
		}
		if text != "" && !slices.Contains(wrong, text) {
			wrong = append(wrong, text)
		}
	}
	return wrong
}

// wrongAnswers says who answered but should not have, and who did not.
func (r *Reach) wrongAnswers(t tally, seen []flow.Seen) []string {
	if len(r.Answers) == 0 || r.outcome() != flow.Connected {
		return nil
	}
	var wrong, missing []string
	for _, a := range t.answers {
		if text := a.Name + " should not answer"; !slices.Contains(r.Answers, a.Name) && !slices.Contains(wrong, text) {
			wrong = append(wrong, text)
		}
	}
	mute := func(s flow.Seen) bool { return s.Outcome == flow.Connected && s.Answer == "" }
	if slices.ContainsFunc(seen, mute) {
		wrong = append(wrong, "the server does not say who it is")
	}
	for _, name := range r.Answers {
		if t.answered(name) == 0 && !r.mayStaySilent(name) && !r.Sticky {
			missing = append(missing, name)
		}
	}
	// Without any answer the outcome says it all.
	if len(missing) > 0 && len(t.answers) > 0 {
		wrong = append(wrong, fmt.Sprintf("no answer of %s in %d connections", list(missing, "and"), t.n))
	}
	return wrong
}

// unsteady says that a client got several answers where it should get one.
func (r *Reach) unsteady(t tally, seen []flow.Seen) []string {
	if !r.Sticky || r.outcome() != flow.Connected {
		return nil
	}
	var names []string
	for _, a := range t.answers {
		names = append(names, a.Name)
	}
	mute := func(s flow.Seen) bool { return s.Outcome == flow.Connected && s.Answer == "" }
	switch {
	case len(names) > 1:
		return []string{list(names, "and") + " answered the same client"}
	case len(r.Answers) == 0 && slices.ContainsFunc(seen, mute):
		return []string{"the server does not say who it is"}
	}
	return nil
}

// wrongResponses says what HTTP responses should not have been.
func (r *Reach) wrongResponses(seen []flow.Seen) []string {
	if r.HTTP == nil || r.outcome() != flow.Connected {
		return nil
	}
	var wrong []string
	add := func(text string) {
		if !slices.Contains(wrong, text) {
			wrong = append(wrong, text)
		}
	}
	for _, s := range seen {
		if s.Outcome != flow.Connected {
			continue
		}
		if s.Status == 0 {
			add("the answer is no HTTP response")
			continue
		}
		if want := r.HTTP.Status; want != 0 && s.Status != want {
			add(fmt.Sprintf("status %d, not %d", s.Status, want))
		}
		for _, name := range slices.Sorted(maps.Keys(r.HTTP.Header)) {
			got, ok := s.Header[strings.ToLower(name)]
			switch want := r.HTTP.Header[name]; {
			case !ok:
				add("no header " + name)
			case got != want:
				add(fmt.Sprintf("header %s is %q, not %q", name, got, want))
			}
		}
	}
	return wrong
}

// mayStaySilent reports whether the agent's expected share is nothing.
func (r *Reach) mayStaySilent(name string) bool {
	return r.Spread != nil && len(r.Spread.Weights) > 0 && r.Spread.Weights[name] <= 0
}

// wrongShares says whose share of the answers is out of tolerance.
func (r *Reach) wrongShares(t tally) []string {
	if r.Spread == nil || r.outcome() != flow.Connected {
		return nil
	}
	names := r.agents()
	if len(names) == 0 { // balanced over whoever answered
		for _, a := range t.answers {
			if !slices.Contains(names, a.Name) {
				names = append(names, a.Name)
			}
		}
	}
	whole := 0
	for _, name := range names {
		whole += t.answered(name)
	}
	if whole == 0 {
		return nil
	}
	shares := r.Spread.shares(names)
	var wrong []string
	for _, name := range names {
		got := float64(t.answered(name)) / float64(whole)
		if math.Abs(got-shares[name]) > r.Spread.Tolerance*shares[name] {
			wrong = append(wrong, fmt.Sprintf("%s has %.1f %% of the answers, not %.1f %%", name, 100*got, 100*shares[name]))
		}
	}
	return wrong
}
