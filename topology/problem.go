package topology

import (
	"cmp"
	"fmt"
	"slices"
)

// Problem is something wrong with a scenario: what is wrong, what to do, and the
// smallest place that shows it.
type Problem struct {
	Summary string // at most six words
	Detail  string // one sentence: what is wrong; one sentence: how to fix it
	Origin  Origin
	Warning bool
	// Instance is the address of the object, if its block made several.
	Instance string
}

// Problems is a list of problems in the order of the file.
type Problems []Problem

// Failed reports whether one of the problems is an error, not a warning.
func (p Problems) Failed() bool { return p.Err() != nil }

// Err is the first error as a Go error, for specs that programs write; nil: there is none.
func (p Problems) Err() error {
	i := slices.IndexFunc(p, func(q Problem) bool { return !q.Warning })
	if i < 0 {
		return nil
	}
	return fmt.Errorf("%s: %s", p[i].Summary, p[i].Detail)
}

// Sort orders the problems by file, line and column.
func (p Problems) Sort() {
	slices.SortStableFunc(p, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Origin.File, b.Origin.File),
			cmp.Compare(a.Origin.Line, b.Origin.Line),
			cmp.Compare(a.Origin.Column, b.Origin.Column))
	})
}
