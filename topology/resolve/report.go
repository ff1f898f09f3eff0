package resolve

import (
	"fmt"
	"strings"

	"github.com/netlab/netlab/topology"
)

// errorf adds an error at the first of the origins that was written.
func (r *resolver) errorf(at []topology.Origin, summary, format string, args ...any) {
	r.Problems = append(r.Problems, topology.Problem{Summary: summary, Detail: fmt.Sprintf(format, args...), Origin: firstWritten(at)})
}

// warnf is errorf for a warning.
func (r *resolver) warnf(at []topology.Origin, summary, format string, args ...any) {
	r.Problems = append(r.Problems, topology.Problem{Summary: summary, Detail: fmt.Sprintf(format, args...), Origin: firstWritten(at), Warning: true})
}

func at(origins ...topology.Origin) []topology.Origin { return origins }

func firstWritten(origins []topology.Origin) topology.Origin {
	for _, o := range origins {
		if o != (topology.Origin{}) {
			return o
		}
	}
	return topology.Origin{}
}

// seenFrom describes a place relative to another one, for a sentence.
func seenFrom(o, here topology.Origin) string {
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
// leading space, or "".
func didYouMean(name string, known []string) string {
	if n := topology.Nearest(name, known); n != "" {
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
