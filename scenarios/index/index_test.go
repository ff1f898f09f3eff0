package index

import (
	"flag"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite scenarios/README.md")

func TestTheIndexIsThatOfTheScenarios(t *testing.T) {
	want, err := Markdown()
	if err != nil {
		t.Fatal(err)
	}
	const file = "../README.md"
	if *update {
		if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, string(got)); d != "" {
		t.Errorf("make golden rewrites it:\n%s", d)
	}
}
