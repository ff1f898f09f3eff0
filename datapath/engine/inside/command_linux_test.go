//go:build linux

package inside

import (
	"os"
	"path/filepath"
	"testing"
)

// Without PATH, as under env -i, programs are found where shells find them, and never
// in the working folder.
func TestProgramsAreFoundWithoutAPath(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("only-here", []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, env := range [][]string{{"PATH="}, {}} {
		t.Setenv("PATH", searchPath(""))
		if file, err := lookPath("sh", env); err != nil || !filepath.IsAbs(file) {
			t.Errorf("%v: sh: %q, %v", env, file, err)
		}
		if file, err := lookPath("only-here", env); err == nil {
			t.Errorf("%v: a program in the working folder: %q", env, file)
		}
	}
}

func TestAMissingProgramIsNamedWithItsPackage(t *testing.T) {
	if _, err := lookPath("dig", []string{"PATH=/nonexistent"}); err == nil || err.Error() != "dig: command not found; on Debian: apt-get install bind9-dnsutils" {
		t.Errorf("got %v", err)
	}
	if _, err := lookPath("no-such-program", nil); err == nil || err.Error() != "no-such-program: command not found" {
		t.Errorf("got %v", err)
	}
}
