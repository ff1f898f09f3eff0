package expect

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/netlab/netlab/datapath/flow"
	"github.com/netlab/netlab/reports"
)

// Expectation is one claim about a lab.
//
// What the rules predict for the same claim comes from datapath/walk and will be
// a method Predict beside Flows: it, too, is judged by Judge.
type Expectation interface {
	// Describe says what is claimed, in one line.
	Describe() string
	// Flows are the connections that prove it. The order is the same on each
	// call.
	Flows() []flow.Flow
	// Judge says whether what was seen of Flows, in their order, is as claimed.
	Judge(seen []flow.Seen) Verdict
}

// Verdict is the judgement of one expectation.
type Verdict struct {
	OK    bool
	Pairs []Pair // of dialer and target, in the order of Flows
}

// Pair is the judgement of what one dialer saw of one target.
type Pair struct {
	Who      string
	To       string
	OK       bool
	Outcomes []reports.Outcomes // most frequent first
	Sources  []netip.Addr       // of the dialer as the servers saw it, sorted
	Answers  []reports.Answers  // by name
	Wanted   string             // in words
	Observed string             // in words, with what is wrong about it
	Measured string             // in words
	// References are the places in Flows of whom the pair is compared with.
	References []int
	Flows      []int // the pair's places in Flows; none when the name did not resolve
}

// Again lists the places in Flows that are to be dialed again: all connections of
// the pairs that are not as claimed. Replace what was seen at these places, and
// judge anew; pairs that were as claimed keep what was seen of them.
func (v Verdict) Again() []int {
	var again []int
	for _, p := range v.Pairs {
		if !p.OK {
			again = append(again, p.Flows...)
			again = append(again, p.References...)
		}
	}
	slices.Sort(again)
	return slices.Compact(again)
}

// Rows is the verdict as the reports show it. The rules that a packet should have
// met are not known here.
func (v Verdict) Rows() []reports.Row {
	rows := make([]reports.Row, len(v.Pairs))
	for i, p := range v.Pairs {
		rows[i] = reports.Row{
			Who: p.Who, To: p.To, OK: p.OK, Outcomes: p.Outcomes, Sources: p.Sources,
			Answers: p.Answers, Wanted: p.Wanted, Observed: p.Observed, Measured: p.Measured,
		}
	}
	return rows
}

// tally is what was seen of one pair, counted.
type tally struct {
	n        int // connections
	outcomes []reports.Outcomes
	answers  []reports.Answers
	sources  []netip.Addr
	errs     []string // distinct, of the outcome failed
}

func count(seen []flow.Seen) tally {
	t := tally{n: len(seen)}
	outcomes := map[flow.Outcome]int{}
	answers := map[reports.Answers]int{}
	sources := map[netip.Addr]bool{}
	for _, s := range seen {
		outcomes[s.Outcome]++
		if s.Answer != "" {
			answers[reports.Answers{Name: s.Answer, Node: s.Node}]++
		}
		if s.Source.IsValid() {
			sources[s.Source.Addr().Unmap()] = true
		}
		if s.Outcome == flow.Failed && !slices.Contains(t.errs, s.Err) {
			t.errs = append(t.errs, s.Err)
		}
	}
	for o, n := range outcomes {
		t.outcomes = append(t.outcomes, reports.Outcomes{Outcome: o, Count: n})
	}
	slices.SortFunc(t.outcomes, func(a, b reports.Outcomes) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Outcome, b.Outcome))
	})
	for a, n := range answers {
		a.Count = n
		t.answers = append(t.answers, a)
	}
	slices.SortFunc(t.answers, func(a, b reports.Answers) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Node, b.Node))
	})
	for a := range sources {
		t.sources = append(t.sources, a)
	}
	slices.SortFunc(t.sources, netip.Addr.Compare)
	return t
}

// answered is how many connections the agent answered.
func (t tally) answered(name string) int {
	n := 0
	for _, a := range t.answers {
		if a.Name == name {
			n += a.Count
		}
	}
	return n
}

// String says what was seen, in words.
func (t tally) String() string {
	var parts []string
	for _, o := range t.outcomes {
		part := string(o.Outcome)
		if len(t.outcomes) > 1 {
			part = fmt.Sprintf("%s (%d of %d)", o.Outcome, o.Count, t.n)
		}
		if o.Outcome == flow.Failed {
			part += ": " + strings.Join(t.errs, "; ")
		}
		parts = append(parts, part)
	}
	var names []string
	for _, a := range t.answers {
		name := a.Name
		if len(t.answers) > 1 {
			name += fmt.Sprintf(" (%d)", a.Count)
		}
		names = append(names, name)
	}
	if len(names) > 0 {
		parts = append(parts, "answered by "+list(names, "and"))
	}
	if len(t.sources) > 0 {
		parts = append(parts, "seen as "+list(texts(t.sources), "and"))
	}
	return strings.Join(parts, ", ")
}

// list joins words as in "a, b and c".
func list(words []string, last string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	n := len(words) - 1
	return strings.Join(words[:n], ", ") + " " + last + " " + words[n]
}

func texts[T fmt.Stringer](items []T) []string {
	var all []string
	for _, i := range items {
		all = append(all, i.String())
	}
	return all
}
