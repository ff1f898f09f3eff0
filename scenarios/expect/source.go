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
	part: func(r flow.Result) any { return r.Source },
	each: func(p *Pair, r flow.Result) (string, bool) {
		allowed := func(prefix netip.Prefix) bool { return prefix.Contains(r.Source) }
		switch {
		case p.from >= len(p.Sources) || slices.ContainsFunc(p.Sources[p.from], allowed):
			return "", true
		case !r.Source.IsValid():
			return "the server does not report the source", false
		}
		return fmt.Sprintf("%s is not an allowed source", r.Source), false
	},
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
