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

// each judges every view by itself. Where several differ, what is wrong is said once.
func each(views []View, judge func(v *View) Verdict) (out Verdict) {
	var shown []string
	for i := range views {
		v := judge(&views[i])
		if !slices.Contains(shown, v.Shown) {
			shown = append(shown, v.Shown)
		}
		for _, w := range v.Wrong {
			if !slices.Contains(out.Wrong, w) {
				out.Wrong = append(out.Wrong, w)
			}
		}
		if out.Unknown == "" {
			out.Unknown = v.Unknown
		}
	}
	const most = 4
	if more := len(shown) - most; more > 0 {
		shown = append(shown[:most], fmt.Sprintf("and %d more", more))
	}
	out.Shown = strings.Join(shown, "; or ")
	if len(out.Wrong) > 0 {
		out.Unknown = "" // one view is enough to refute a claim about all
	}
	return out
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
		if !slices.Contains(list, t) {
			list = append(list, t)
		}
	}
	if more := len(list) - most; more > 0 {
		list = append(list[:most], fmt.Sprintf("and %d more", more))
	}
	if list == nil {
		return "nothing"
	}
	return strings.Join(list, "; ")
}
