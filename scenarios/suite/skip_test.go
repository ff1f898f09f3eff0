//go:build linux

package suite

import (
	"fmt"
	"testing"

	"github.com/netlab/netlab/datapath/engine/inside"
)

// A program that Debian has is named with its package, and its lab skipped; one that nobody
// knows is most likely misspelt, and fails.
func TestALabIsSkippedForAKnownProgramOnly(t *testing.T) {
	missing := func(program string) error {
		return fmt.Errorf("apply: %w", &inside.ProgramError{Pod: "web", File: "lab.hcl", Line: 3, Missing: program})
	}
	for _, row := range []struct {
		err  error
		want string
	}{
		{missing("nginx"), "this machine lacks nginx: apt-get install nginx"},
		{missing("/usr/sbin/nginx"), "this machine lacks nginx: apt-get install nginx"},
		{missing("ngnix"), ""},
		{&inside.ProgramError{Pod: "web", File: "lab.hcl", Line: 3, Why: "exited 1"}, ""},
		{fmt.Errorf("another failure"), ""},
	} {
		if got := notInstalled(row.err); got != row.want {
			t.Errorf("%v: skipped for %q, want %q", row.err, got, row.want)
		}
	}
}
