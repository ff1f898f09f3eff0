package expect

import (
	"fmt"
	"slices"

	"github.com/netlab/netlab/datapath/flow"
)

// checks are all that an expectation can claim of a pair, in the order in which claims
// are described.
var checks = []check{
	outcomeCheck, answerCheck, stickyCheck, statusCheck, headerCheck, sourceCheck, ttlCheck,
	latencyCheck, throughputCheck, mtuCheck, spreadCheck,
}

// check is one thing that an expectation can claim of each pair of dialer and target.
type check struct {
	name string
	// attributes are the attributes and blocks of the language that claim it.
	attributes []string
	// wanted describes what is claimed of a dialer, by its index in From, or of all
	// dialers with -1. Nothing: it is not claimed, or is implied.
	wanted func(r *Reach, from int) []string

	// What the walker knows as well as the probe does is judged by each and all, and
	// both may be nil. each judges one connection, of those that were answered unless
	// unanswered is set. It returns false, and why, unless what is always shown says it.
	each       func(p *pair, r flow.Result) (why string, ok bool)
	unanswered bool
	// part is what each judges of a result.
	part func(r flow.Result) any
	// all judges the connections together, and returns descriptions of what is wrong.
	all func(p *pair, e evidence) (wrong []string)

	// measure judges what only packets show; nil: nothing. It returns descriptions of
	// what was measured and of what is wrong with it.
	measure func(p *pair, own, references []flow.Observation) (measured, wrong []string)
	// noisy: the measurement depends on what else the machine does, so that one that is
	// wrong is repeated.
	noisy bool
}

// Claims are the attributes and blocks of an expectation that checks judge.
func Claims() []string {
	var names []string
	for _, c := range checks {
		names = append(names, c.attributes...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Unpredicted are the claims of the expectation that paper cannot judge, by name.
func (r *Reach) Unpredicted() []string {
	var names []string
	for _, c := range checks {
		if c.measure != nil && r.claims(flow.Connected) && len(c.wanted(r, -1)) > 0 {
			names = append(names, c.name)
		}
	}
	return names
}

// pair is one dialer and one target of an expectation.
type pair struct {
	*Reach
	from, to int
	outcomes map[flow.Outcome]float64 // how connections may end, by weights
}

// pairs are those of an expectation, dialer by dialer.
func (r *Reach) pairs() []pair {
	var all []pair
	for from := range r.From {
		for to := range r.To {
			if r.Only == nil || r.Only[from][to] {
				all = append(all, pair{r, from, to, r.outcomesOf(from, to)})
			}
		}
	}
	return all
}

func (p *pair) who() string    { return p.From[p.from].Name }
func (p *pair) target() Target { return p.To[p.to] }

// unresolved is the evidence of a target whose name did not resolve: nothing is dialed.
func unresolved() evidence { return evidence{results: []weighted{{flow.Result{Outcome: flow.DNS}, 1}}} }

// check judges results, from packets or from paper: every connection must be as claimed,
// or with Sometimes any, and then those that are must be as claimed together. With Broken
// none may be.
func (p *pair) check(e evidence) (wrong []string) {
	if p.Broken {
		if len(e.only(p.asClaimed).results) > 0 {
			return []string{"what should not hold does"}
		}
		return nil
	}
	if p.Sometimes {
		if e = e.only(p.asClaimed); len(e.results) == 0 {
			return []string{"no connection is as claimed"}
		}
	} else {
		wrong = p.outside(e)
	}
	for _, c := range checks {
		if c.all != nil {
			wrong = append(wrong, c.all(p, e)...)
		}
	}
	return wrong
}

// outside describes the results that are not as claimed, nothing twice.
func (p *pair) outside(e evidence) (wrong []string) {
	for _, w := range e.results {
		for _, c := range checks {
			why, ok := p.each(c, w.Result)
			if ok {
				continue
			}
			if e.made == 0 && len(e.results) > 1 {
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
func outsideOnPaper(w weighted, why string) string {
	text := fmt.Sprintf("outside the claim: %.3g %% %s", 100*w.weight, w.Result)
	if why != asShown {
		text += " (" + why + ")"
	}
	return text
}

// each judges one connection by one check.
func (p *pair) each(c check, r flow.Result) (why string, ok bool) {
	if c.each == nil || !c.unanswered && !(r.Outcome == flow.Connected && p.outcomes[r.Outcome] > 0) {
		return "", true
	}
	return c.each(p, r)
}

// asClaimed reports whether one connection is as claimed.
func (p *pair) asClaimed(r flow.Result) bool {
	return !slices.ContainsFunc(checks, func(c check) bool {
		_, ok := p.each(c, r)
		return !ok
	})
}

// judged is what the claim is about in a result: results that are equal in it are the
// same to the claim.
func (p *pair) judged(r flow.Result) string {
	var parts []any
	for _, c := range checks {
		if c.part != nil && len(c.wanted(p.Reach, p.from)) > 0 {
			parts = append(parts, c.part(r))
		}
	}
	return fmt.Sprint(parts...)
}

// measure judges what only packets show. noisy: all that is wrong may be due to what else
// the machine does.
func (p *pair) measure(own, references []flow.Observation) (measured, wrong []string, noisy bool) {
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

// evidence is what is known of the connections of one pair.
type evidence struct {
	results []weighted // distinct, in the order of their texts
	// sequences are consecutive connections of one client: those that were made, or on
	// paper, for each first one, it and the possible results of the next.
	sequences [][]flow.Result
	made      int // connections that packets made; 0: on paper
}

// weighted is a result and how much of the whole it is: connections, or a probability.
type weighted struct {
	flow.Result
	weight float64
}

func newEvidence(made int, weights map[flow.Result]float64, sequences [][]flow.Result) evidence {
	e := evidence{made: made, sequences: sequences}
	for r, w := range weights {
		if w > 0 {
			e.results = append(e.results, weighted{r, w})
		}
	}
	slices.SortFunc(e.results, func(a, b weighted) int { return a.Compare(b.Result) })
	return e
}

// connected are the results of connections that were answered, if that is what is
// claimed: else the outcome suffices.
func (e evidence) connected(p *pair) []weighted {
	if p.outcomes[flow.Connected] == 0 {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(e.results), func(w weighted) bool { return w.Outcome != flow.Connected })
}

// answerers are the names of those who answered, sorted.
func answerers(results []weighted) []string {
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
func answered(results []weighted, name string) float64 {
	sum := 0.0
	for _, w := range results {
		if w.Answer == name {
			sum += w.weight
		}
	}
	return sum
}

// only is the evidence of some results.
func (e evidence) only(fit func(flow.Result) bool) evidence {
	out := evidence{made: e.made}
	for _, w := range e.results {
		if fit(w.Result) {
			out.results = append(out.results, w)
		}
	}
	for _, s := range e.sequences {
		out.sequences = append(out.sequences, slices.DeleteFunc(slices.Clone(s), func(r flow.Result) bool { return !fit(r) }))
	}
	return out
}

// missing says that agents never answered.
func (e evidence) missing(names []string) string {
	if e.made == 0 {
		return list(names, "and") + " cannot answer"
	}
	return fmt.Sprintf("no answer from %s in %d connections", list(names, "and"), e.made)
}
