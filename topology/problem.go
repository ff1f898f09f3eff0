package topology

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Problem is something wrong with a scenario: what is wrong, what to do, and the
// smallest place that shows it.
type Problem struct {
	Summary string // at most six words
	Detail  string // one sentence: what is wrong; one sentence: how to fix it
	Origin  Origin
	Warning bool
}

// Problems is a list of problems in the order of the file.
type Problems []Problem

// Failed reports whether one of the problems is an error, not a warning.
func (p Problems) Failed() bool {
	return slices.ContainsFunc(p, func(q Problem) bool { return !q.Warning })
}

// Sort orders the problems by file, line and column.
func (p Problems) Sort() {
	slices.SortStableFunc(p, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Origin.File, b.Origin.File),
			cmp.Compare(a.Origin.Line, b.Origin.Line),
			cmp.Compare(a.Origin.Column, b.Origin.Column))
	})
}

// errorf adds an error at the first of the origins that was written.
func (p *Problems) errorf(at []Origin, summary, format string, args ...any) {
	*p = append(*p, Problem{Summary: summary, Detail: fmt.Sprintf(format, args...), Origin: firstWritten(at)})
}

// warnf is errorf for a warning.
func (p *Problems) warnf(at []Origin, summary, format string, args ...any) {
	*p = append(*p, Problem{Summary: summary, Detail: fmt.Sprintf(format, args...), Origin: firstWritten(at), Warning: true})
}

func at(origins ...Origin) []Origin { return origins }

func firstWritten(origins []Origin) Origin {
	for _, o := range origins {
		if o != (Origin{}) {
			return o
		}
	}
	return Origin{}
}

// seenFrom is a place as a sentence about another place mentions it.
func (o Origin) seenFrom(here Origin) string {
	switch {
	case o.Line == 0:
		return "by default"
	case o.File != here.File:
		return fmt.Sprintf("at %s:%d", o.File, o.Line)
	default:
		return fmt.Sprintf("on line %d", o.Line)
	}
}

// didYouMean is a sentence that suggests the nearest of the known names, with a
// leading space, or nothing.
func didYouMean(name string, known []string) string {
	if n := Nearest(name, known); n != "" {
		return fmt.Sprintf(" Did you mean %q?", n)
	}
	return ""
}

// oneOf lists known words for a sentence.
func oneOf(known []string) string {
	if len(known) < 2 {
		return strings.Join(known, "")
	}
	return strings.Join(known[:len(known)-1], ", ") + " or " + known[len(known)-1]
}
