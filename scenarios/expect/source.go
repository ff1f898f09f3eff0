package expect

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/netlab/netlab/datapath/flow"
)

// The source: the address as which the server sees a dialer.
var sourceCheck = check{
	name:       "source",
	attributes: []string{"source"},
	wanted: func(r *Reach, from int) []string {
		if sources := r.sourcesOf(from); len(sources) > 0 {
			return []string{"seen as " + list(sources, "or")}
		}
		return nil
	},
	judge: byResults(func(p *pair, e evidence) []string {
		if p.from >= len(p.Sources) {
			return nil
		}
		return e.each(p, func(r flow.Result) string {
			switch {
			case !r.Source.IsValid():
				return "the server does not report the source"
			case !slices.ContainsFunc(p.Sources[p.from], func(allowed netip.Prefix) bool { return allowed.Contains(r.Source) }):
				return fmt.Sprintf("%s is not an allowed source", r.Source)
			}
			return ""
		})
	}),
}

// sourcesOf are the sources that the server may see for one of From, or for any.
func (r *Reach) sourcesOf(from int) []string {
	var texts []string
	for i, prefixes := range r.Sources {
		if from >= 0 && i != from {
			continue
		}
		for _, p := range prefixes {
			text := p.String()
			if p.IsSingleIP() {
				text = p.Addr().String()
			}
			if !slices.Contains(texts, text) {
				texts = append(texts, text)
			}
		}
	}
	return texts
}
