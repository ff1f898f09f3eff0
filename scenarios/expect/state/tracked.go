package state

import (
	"fmt"
	"strings"
)

// Tracked is a claim about the entries that connection tracking of a host has after a connection
// and had not before it. Those of the datagrams of tunnels do not count.
type Tracked struct {
	Host
	Protocol                      string // "": any
	Source, Destination           Endpoint
	ReplySource, ReplyDestination Endpoint
	Replied                       *bool // whether an answer was seen; nil: not claimed
	Count                         *int
	Absent                        bool
}

// Subject is the table.
func (t *Tracked) Subject() string { return "tracked connections" }

// Wanted describes the entry.
func (t *Tracked) Wanted() string {
	words := amount(t.Absent, t.Count)
	if t.Protocol != "" {
		words = append(words, t.Protocol)
	}
	words = described(words, "from", t.Source)
	words = described(words, "to", t.Destination)
	words = described(words, "replies from", t.ReplySource)
	words = described(words, "replies to", t.ReplyDestination)
	if t.Replied != nil {
		words = append(words, map[bool]string{true: "replied", false: "unreplied"}[*t.Replied])
	}
	return strings.Join(words, " ")
}

// amount says how many are claimed.
func amount(absent bool, count *int) []string {
	switch {
	case absent:
		return []string{"none"}
	case count != nil:
		return []string{fmt.Sprint(*count)}
	}
	return []string{"some"}
}

func described(words []string, what string, e Endpoint) []string {
	if !e.given() {
		return words
	}
	return append(words, what, e.String())
}

// PerConnection: there are entries for each.
func (t *Tracked) PerConnection() bool { return true }

// Judge holds the entries against the claim.
func (t *Tracked) Judge(views []View) Verdict { return each(views, t.judge) }

func (t *Tracked) judge(v *View) Verdict {
	var m matching
	var there []string
	for _, e := range v.Entries {
		if e.Netns != t.Netns {
			continue
		}
		there = append(there, e.String())
		if t.Protocol != "" && t.Protocol != e.Protocol || t.Replied != nil && *t.Replied != e.Replied {
			continue
		}
		m.add(t.Source.fits(e.Source, v.Paper), t.Destination.fits(e.Destination, v.Paper), t.ReplySource.fits(e.ReplySource, v.Paper), t.ReplyDestination.fits(e.ReplyDestination, v.Paper))
	}
	what := "such entry"
	if t.Absent {
		what = "one"
	}
	return m.judge(some(there), what, t.Absent, t.Count)
}
