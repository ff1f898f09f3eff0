package trial

import (
	"cmp"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/netlab/netlab/datapath/flow"
	"github.com/netlab/netlab/reports"
	"github.com/netlab/netlab/scenarios/expect"
)

// tally is the evidence of one pair, added up for the columns of a report.
type tally struct {
	made     int                // connections; 0: on paper
	outcomes []reports.Outcomes // most frequent first
	answers  []reports.Answers  // by name
	sources  []netip.Addr
	ttls     []int
}

func newTally(e expect.Evidence) tally {
	t := tally{made: e.Made}
	outcomes := map[flow.Outcome]float64{}
	answers := map[reports.Answers]float64{}
	sources := map[netip.Addr]bool{}
	ttls := map[int]bool{}
	for _, w := range e.Results {
		outcomes[w.Outcome] += w.Weight
		if w.Answer != "" {
			answers[reports.Answers{Name: w.Answer, Node: w.Node}] += w.Weight
		}
		if w.Source.IsValid() {
			sources[w.Source] = true
		}
		if w.TTL != 0 {
			ttls[w.TTL] = true
		}
	}
	for o, weight := range outcomes {
		n, chance := share(e, weight)
		t.outcomes = append(t.outcomes, reports.Outcomes{Outcome: o, Count: n, Chance: chance})
	}
	slices.SortFunc(t.outcomes, func(a, b reports.Outcomes) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(b.Chance, a.Chance), cmp.Compare(a.Outcome, b.Outcome))
	})
	for a, weight := range answers {
		a.Count, a.Chance = share(e, weight)
		t.answers = append(t.answers, a)
	}
	slices.SortFunc(t.answers, func(a, b reports.Answers) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Node, b.Node))
	})
	t.sources = slices.SortedFunc(maps.Keys(sources), netip.Addr.Compare)
	t.ttls = slices.Sorted(maps.Keys(ttls))
	return t
}

// share is a weight as reports show it: a number of connections, or on paper a
// probability, whose last digits differ by the order of the rules.
func share(e expect.Evidence, weight float64) (n int, chance float64) {
	if e.Made > 0 {
		return int(weight), 0
	}
	const digits = 1e9
	return 0, float64(int(weight*digits+0.5)) / digits
}

// row fills in the columns of a report.
func (t tally) row(r *reports.Row) {
	r.Outcomes, r.Answers, r.Sources, r.TTLs = t.outcomes, t.answers, t.sources, t.ttls
}

// observed describes what was observed; errs are those of probes that broke,
// and names says why names did not resolve.
func (t tally) observed(errs, names []string) string {
	var parts []string
	for _, o := range t.outcomes {
		part := string(o.Outcome)
		if len(t.outcomes) > 1 {
			part = fmt.Sprintf("%s (%d of %d)", o.Outcome, o.Count, t.made)
		}
		if o.Outcome == flow.Failed {
			part += ": " + strings.Join(errs, "; ")
		}
		if o.Outcome == flow.DNS && len(names) > 0 {
			part += ": " + strings.Join(names, "; ")
		}
		parts = append(parts, part)
	}
	var who []string
	for _, a := range t.answers {
		name := a.Name
		if len(t.answers) > 1 {
			name += fmt.Sprintf(" (%d)", a.Count)
		}
		who = append(who, name)
	}
	if len(who) > 0 {
		parts = append(parts, "answered by "+list(who, "and"))
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
