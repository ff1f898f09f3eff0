package state

import (
	"net/netip"
	"slices"
	"strings"
)

// ToRoute is a claim about a route of the main table. Those that the kernel adds with an address
// are not looked at.
type ToRoute struct {
	Host
	To     netip.Prefix
	Via    netip.Addr // a next hop; invalid: any
	Dev    string     // "": any
	Type   string     // "": any
	Absent bool
}

// Subject is the destination.
func (r *ToRoute) Subject() string { return "route to " + destination(r.To) }

// Wanted describes the route.
func (r *ToRoute) Wanted() string {
	words := []string{"there"}
	if r.Absent {
		words[0] = "none"
	}
	if r.Type != "" {
		words = append(words, r.Type)
	}
	if r.Via.IsValid() {
		words = append(words, "via "+r.Via.String())
	}
	if r.Dev != "" {
		words = append(words, "dev "+r.Dev)
	}
	return strings.Join(words, ", ")
}

// PerConnection: routes do not depend on connections.
func (r *ToRoute) PerConnection() bool { return false }

// Judge holds the routes against the claim.
func (r *ToRoute) Judge(views []View) Verdict { return each(views, r.judge) }

func (r *ToRoute) judge(v *View) Verdict {
	var there, fits []string
	for _, x := range v.Routes {
		if x.To != r.To {
			continue
		}
		there = append(there, x.String())
		if (!r.Via.IsValid() || slices.Contains(x.Via, r.Via)) && (r.Dev == "" || r.Dev == x.Dev) && (r.Type == "" || r.Type == x.Type) {
			fits = append(fits, x.String())
		}
	}
	what := "such route"
	if r.Absent {
		what = some(fits)
	}
	return Verdict{Shown: some(there), Wrong: number(len(fits), what, r.Absent, nil)}
}

func (x Route) String() string {
	text := destination(x.To)
	if x.Type != "unicast" {
		text = x.Type + " " + text
	}
	for _, a := range x.Via {
		text += " via " + a.String()
	}
	if x.Dev != "" {
		text += " dev " + x.Dev
	}
	return text
}

// destination is a prefix as ip route writes it.
func destination(p netip.Prefix) string {
	switch {
	case p.Bits() == 0:
		return "default"
	case p.IsSingleIP():
		return p.Addr().String()
	}
	return p.String()
}
