//go:build linux

package engine

import (
	"fmt"
	"os"

	"github.com/netlab/netlab/datapath/plan"
)

// Check is the result of the check after the last Apply, which replied when the change
// was made and left out namespaces that the change does not touch (kernel.Update).
type Check struct {
	Summary string   // of what was repaired, one line; empty: nothing had drifted
	Lines   []string // the same as command lines, truncated if very long
	Err     string   // why not everything could be checked or repaired
}

// maxCheckLines bounds what is kept for a badly drifted lab.
const maxCheckLines = 100

// checkRest checks all namespaces once more, after the reply to a change of some, and
// repairs what has drifted. It runs with the lock held: whatever comes next (a program,
// a probe, status, another change) waits, and finds the lab as planned. It ends early
// if the lab goes down.
func (e *engine) checkRest() {
	changes, err := e.kernel.Apply(e.working, e.kernel.Applied())
	if e.working.Err() != nil {
		return
	}
	e.inside.Begin(e.meta.Load().Hosts, e.kernel.Namespace)
	found := Check{Lines: firstLines(changes)}
	if !changes.Empty() {
		found.Summary = changes.Summary()
	}
	if err != nil {
		found.Err = err.Error()
		fmt.Fprintf(os.Stderr, "%safter a change: %v\n", logPrefix, err)
	}
	e.found.Store(&found)
}

func firstLines(c plan.Changes) []string {
	lines := c.Lines()
	if len(lines) > maxCheckLines {
		more := fmt.Sprintf("# and %d more lines", len(lines)-maxCheckLines)
		lines = append(lines[:maxCheckLines:maxCheckLines], more)
	}
	return lines
}
