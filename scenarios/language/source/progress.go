package source

import (
	"sync/atomic"

	"github.com/hashicorp/hcl/v2"
)

// Progress says what is being evaluated, to whoever watches a load from another goroutine:
// functions of libraries cannot be interrupted, but the place that called them can be named.
type Progress struct{ at atomic.Pointer[Place] }

// Place is where a load is: an expression, a block, a file, or, with an empty range, what is
// done with all of them together.
type Place struct {
	Range hcl.Range
	src   []byte
	path  func(file string) string
}

// At is the latest place; nil: nothing was read yet. It is another one whenever something is
// evaluated again.
func (p *Progress) At() *Place { return p.at.Load() }

// Now says what is evaluated from here on.
func (c *Collector) Now(r hcl.Range) {
	if c.Progress != nil {
		c.Progress.at.Store(&Place{r, c.Sources[r.Filename], c.Path})
	}
}

// Error is a diagnostic about the place.
func (p *Place) Error(summary, detail string) Diagnostic {
	d := Diagnostic{Severity: Error, Summary: summary, Detail: detail}
	d.locate(p.Range, p.src, p.path)
	return d
}
