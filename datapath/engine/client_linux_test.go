package engine

import (
	"os"
	"testing"

	"github.com/netlab/netlab/datapath/plan"
)

// TestMain lets this program be the engine of a lab.
func TestMain(m *testing.M) {
	Main()
	os.Exit(m.Run())
}

// A caller that has no files for a program gives it none.
func TestExecWithoutFiles(t *testing.T) {
	lab, err := Start(t.Context(), "")
	if err != nil {
		t.Skipf("no lab can run here: %v", err)
	}
	t.Cleanup(lab.Abandon)
	if _, err := lab.Apply(t.Context(), &plan.Plan{Lab: "x", Netns: []plan.Netns{{Name: "node.a", Kind: plan.Node}}}, Meta{}, false); err != nil {
		t.Fatal(err)
	}
	for script, want := range map[string]int{"read line": 1, "echo out; echo err >&2": 0} {
		got, err := lab.Exec(t.Context(), Command{Netns: "node.a", Argv: []string{"sh", "-c", script}, Env: os.Environ()})
		if err != nil || got != want {
			t.Errorf("%s: status %d, %v; want %d", script, got, err, want)
		}
	}
}
