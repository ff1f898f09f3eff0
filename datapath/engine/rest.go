//go:build linux

package engine

import (
	"fmt"
	"os"

	"github.com/netlab/netlab/datapath/plan"
)

// Check is what was found behind the last Apply, which answered when the change was made
// and left namespaces out that the change does not touch (kernel.Update).
type Check struct {
	Summary string   // of what was put right, one line; empty: nothing had drifted
	Lines   []string // the same as command lines, but for those of a great many
	Err     string   // why not all could be looked at or put right
}

// maxCheckLines bounds what is remembered of a lab that has fallen apart.
const maxCheckLines = 100

// checkRest looks at all namespaces once more, now that a change of some was answered,
// and puts right what has drifted. The caller hands over the lock: whatever comes next
// (a program, a probe, status, another change) waits, and finds the lab as planned. It
// ends early when the lab goes down.
func (e *engine) checkRest() {
	defer e.mu.Unlock()
	changes, err := e.kernel.Apply(e.working, e.kernel.Applied())
	if e.working.Err() != nil {
		return
	}
	found := Check{Lines: firstLines(changes)}
	if !changes.Empty() {
		found.Summary = changes.Summary()
	}
	if err != nil {
		found.Err = err.Error()
		fmt.Fprintln(os.Stderr, "netlab engine: after a change:", err)
	}
	e.found.Store(&found)
}

func firstLines(c plan.Changes) []string {
	lines := c.Lines()
	if len(lines) > maxCheckLines {
		more := fmt.Sprintf("# and %d lines more", len(lines)-maxCheckLines)
		lines = append(lines[:maxCheckLines:maxCheckLines], more)
	}
	return lines
}
