package scenarios

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func diagnosticsText(d Diagnostics) string {
	var b strings.Builder
	if err := d.WriteText(&b, false); err != nil {
		panic(err)
	}
	return b.String()
}

func shipped(t testing.TB) []string {
	files, err := filepath.Glob("*.hcl")
	if err != nil || len(files) < 9 {
		t.Fatalf("found %d scenarios: %v", len(files), err)
	}
	return files
}

func TestShippedScenariosLoadWithoutDiagnostics(t *testing.T) {
	for _, f := range shipped(t) {
		t.Run(f, func(t *testing.T) {
			s, diags := Load(f, Options{})
			if len(diags) > 0 {
				t.Fatalf("\n%s", diagnosticsText(diags))
			}
			if len(s.Expects) == 0 || s.Name != strings.TrimSuffix(f, ".hcl") {
				t.Errorf("name %q, %d expectations", s.Name, len(s.Expects))
			}
			for _, e := range s.Expects {
				if e.Origin.File != f || !strings.Contains(sourceLine(s.Sources[f], e.Origin.Line), e.Name) {
					t.Errorf("the origin of %q is %v", e.Name, e.Origin)
				}
			}
		})
	}
}

func TestShippedScenariosSayWhatTheyShow(t *testing.T) {
	for _, f := range shipped(t) {
		src, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		head, _, _ := strings.Cut(string(src), "\n\n")
		for _, want := range []string{"# What you will see:", "# What to try:", "# The proof:"} {
			if !strings.Contains(head, want) {
				t.Errorf("%s: the opening comment has no %q", f, want)
			}
		}
		flat := strings.ReplaceAll(head, "\n# ", " ")
		_, proof, _ := strings.Cut(flat, "# The proof:")
		for i, name := range strings.Split(proof, `"`) {
			if i%2 == 1 && !strings.Contains(string(src), `expect "`+name+`" {`) {
				t.Errorf("%s: the proof names %q, which is no expectation", f, name)
			}
		}
		if out, diags := Format(src); len(diags) > 0 || string(out) != string(src) {
			t.Errorf("%s is not formatted", f)
		}
	}
}
