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
		if sources := prefixesOf(r.Sources, from); len(sources) > 0 {
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

// The client that a proxy in front of the server tells it (X-Forwarded-For).
var forwardedCheck = check{
	name:       "forwarded",
	attributes: []string{"forwarded"},
	wanted: func(r *Reach, from int) []string {
		if clients := prefixesOf(r.Forwarded, from); len(clients) > 0 {
			return []string{"forwarded for " + list(clients, "or")}
		}
		return nil
	},
	part: func(r flow.Result) any { return r.Forwarded },
	each: func(p *Pair, r flow.Result) (string, bool) {
		allowed := func(prefix netip.Prefix) bool { return prefix.Contains(r.Forwarded) }
		switch {
		case p.from >= len(p.Forwarded) || slices.ContainsFunc(p.Forwarded[p.from], allowed):
			return "", true
		case !r.Forwarded.IsValid():
			return "nobody told the server of a client (X-Forwarded-For), or it does not say", false
		}
		return fmt.Sprintf("forwarded for %s, which is not an allowed client", r.Forwarded), false
	},
}

// prefixesOf are what is allowed for one of From, or for any.
func prefixesOf(allowed [][]netip.Prefix, from int) []string {
	var texts []string
	for i, prefixes := range allowed {
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
