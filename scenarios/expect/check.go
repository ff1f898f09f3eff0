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
	judge  judge
}

// judge is how a check judges a pair: byResults or byPackets.
type judge interface{ judge() }

// byResults judges what the walker knows as well as the probe does. It returns
// descriptions of what is wrong.
type byResults func(p *pair, e evidence) (wrong []string)

// byPackets judges what only packets show. It returns descriptions of what was measured
// and of what is wrong with it.
type byPackets func(p *pair, own, references []flow.Observation) (measured, wrong []string)

func (byResults) judge() {}
func (byPackets) judge() {}

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
		if _, only := c.judge.(byPackets); only && r.outcome() == flow.Connected && len(c.wanted(r, -1)) > 0 {
			names = append(names, c.name)
		}
	}
	return names
}

// pair is one dialer and one target of an expectation.
type pair struct {
	*Reach
	from, to int
	want     flow.Outcome
}

// pairs are those of an expectation, dialer by dialer.
func (r *Reach) pairs() []pair {
	var all []pair
	for from := range r.From {
		for to := range r.To {
			all = append(all, pair{r, from, to, r.outcomeOf(from, to)})
		}
	}
	return all
}

func (p *pair) who() string    { return p.From[p.from].Name }
func (p *pair) target() Target { return p.To[p.to] }

// unresolved is the evidence of a target whose name did not resolve: nothing is dialed.
func unresolved() evidence { return evidence{results: []weighted{{flow.Result{Outcome: flow.DNS}, 1}}} }

// check judges results, from packets or from paper.
func (p *pair) check(e evidence) (wrong []string) {
	for _, c := range checks {
		if judge, ok := c.judge.(byResults); ok {
			wrong = append(wrong, judge(p, e)...)
		}
	}
	return wrong
}

// measure judges what only packets show.
func (p *pair) measure(own, references []flow.Observation) (measured, wrong []string) {
	if p.want != flow.Connected {
		return nil, nil
	}
	for _, c := range checks {
		if judge, ok := c.judge.(byPackets); ok {
			m, w := judge(p, own, references)
			measured, wrong = append(measured, m...), append(wrong, w...)
		}
	}
	return measured, wrong
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
	if p.want != flow.Connected {
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

// each lists what is wrong with the answered connections, nothing twice.
func (e evidence) each(p *pair, wrong func(flow.Result) string) []string {
	var texts []string
	for _, w := range e.connected(p) {
		if text := wrong(w.Result); text != "" && !slices.Contains(texts, text) {
			texts = append(texts, text)
		}
	}
	return texts
}

// missing says that agents never answered.
func (e evidence) missing(names []string) string {
	if e.made == 0 {
		return list(names, "and") + " cannot answer"
	}
	return fmt.Sprintf("no answer from %s in %d connections", list(names, "and"), e.made)
}
