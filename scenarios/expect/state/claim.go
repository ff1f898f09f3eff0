package state

import (
	"fmt"
	"slices"
	"strings"

	"github.com/netlab/netlab/topology"
)

// Claim is something that is found on a host, or is not.
type Claim interface {
	// On is the host, and the line that claims it.
	On() Host
	// Subject is what is looked at there, and Wanted what is claimed of it, both in words.
	Subject() string
	Wanted() string
	// PerConnection reports whether there is a view for each connection.
	PerConnection() bool
	// Judge holds all views against the claim. It describes what there is, and what is wrong
	// with that. What paper cannot know is unknown: why, or "".
	Judge(views []View) Verdict
}

// Host is where to look.
type Host struct {
	Name   string // as the reports show it
	Netns  string // in the plan
	Origin topology.Origin
}

// On is the host itself, for the kinds of claims that embed it.
func (h Host) On() Host { return h }

// Verdict is what a claim says of its views.
type Verdict struct {
	Shown   string   // what there is, in words
	Wrong   []string // what is wrong with it; nil: the claim holds
	Unknown string   // why the views do not tell; empty: they do
}

// Kinds are the blocks that make such claims.
func Kinds() []string { return []string{"rules", "run", "interface", "route", "tracked", "seen"} }

// each judges every view by itself. Where some are wrong, it shows what there is in these, and says
// in how many.
func each(views []View, judge func(v *View) Verdict) (out Verdict) {
	var shown, wrongly []string
	refuted := 0
	for i := range views {
		v := judge(&views[i])
		list := &shown
		if len(v.Wrong) > 0 {
			list = &wrongly
			refuted++
		}
		*list = appendNew(*list, v.Shown)
		for _, w := range v.Wrong {
			out.Wrong = appendNew(out.Wrong, w)
		}
		if out.Unknown == "" {
			out.Unknown = v.Unknown
		}
	}
	if refuted > 0 {
		out.Unknown = "" // one view is enough to refute a claim about all
		shown = wrongly
	}
	if refuted > 0 && refuted < len(views) {
		what := "connections"
		if views[0].Paper {
			what = "paths"
		}
		out.Wrong = append(out.Wrong, fmt.Sprintf("so it is in %d of %d %s", refuted, len(views), what))
	}
	const most = 2
	if more := len(shown) - most; more > 0 {
		shown = append(shown[:most], fmt.Sprintf("%d more", more))
	}
	out.Shown = strings.Join(shown, "; or ")
	return out
}

// appendNew appends a text that is not there yet.
func appendNew(list []string, text string) []string {
	if slices.Contains(list, text) {
		return list
	}
	return append(list, text)
}

// number judges how many of something there are: at least one, none with absent, or exactly
// count.
func number(n int, what string, absent bool, count *int) (wrong []string) {
	switch {
	case absent && n > 0:
		return []string{fmt.Sprintf("there is %s", what)}
	case count != nil && n != *count:
		return []string{fmt.Sprintf("%d are so, not %d", n, *count)}
	case !absent && count == nil && n == 0:
		return []string{fmt.Sprintf("there is no %s", what)}
	}
	return nil
}

// some lists the first of many texts, none twice.
func some(texts []string) string {
	const most = 8
	var list []string
	for _, t := range texts {
		list = appendNew(list, t)
	}
	if more := len(list) - most; more > 0 {
		list = append(list[:most], fmt.Sprintf("and %d more", more))
	}
	if list == nil {
		return "nothing"
	}
	return strings.Join(list, "; ")
}
