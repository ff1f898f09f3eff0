package expect

import (
	"slices"

	"github.com/netlab/netlab/datapath/flow"
)

// Session affinity: all connections of a pair get the same answer. Then one of Answers is
// enough.
var stickyCheck = check{
	name:       "sticky",
	attributes: []string{"sticky"},
	wanted: func(r *Reach, _ int) []string {
		if !r.Sticky {
			return nil
		}
		return []string{"always the same"}
	},
	all: func(p *Pair, e Evidence) []string {
		if !p.Sticky || p.outcomes[flow.Connected] == 0 {
			return nil
		}
		if len(p.Answers) == 0 {
			if slices.ContainsFunc(e.connected(p), func(w Weighted) bool { return w.Answer == "" }) {
				return []string{unnamed}
			}
		}
		var wrong []string
		for _, sequence := range e.Sequences {
			var names []string
			for _, r := range sequence {
				if r.Answer != "" {
					names = append(names, r.Answer)
				}
			}
			slices.Sort(names)
			names = slices.Compact(names)
			if text := list(names, "and") + " answered the same client"; len(names) > 1 && !slices.Contains(wrong, text) {
				wrong = append(wrong, text)
			}
		}
		return wrong
	},
}
