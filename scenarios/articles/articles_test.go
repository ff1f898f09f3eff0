package articles_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/netlab/netlab/datapath"
	"github.com/netlab/netlab/scenarios/articles"
	"github.com/netlab/netlab/scenarios/language"
	"github.com/netlab/netlab/scenarios/language/source"
)

var update = flag.Bool("update", false, "rewrite scenarios/ARTICLES.md")

func TestTheTableIsThatOfTheScenarios(t *testing.T) {
	want, err := articles.Markdown()
	if err != nil {
		t.Fatal(err)
	}
	const file = "../ARTICLES.md"
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

// Every claim has a proof, or a reason why it has none.
func TestEveryClaimHasItsProof(t *testing.T) {
	const claims = 276 // in four articles
	proofs, err := articles.Proofs()
	if err != nil {
		t.Fatal(err)
	}
	all := articles.Claims()
	if len(all) != claims {
		t.Errorf("%d claims, want %d", len(all), claims)
	}
	for i, c := range all {
		proved := c.Refusal != nil || len(proofs[c.Number]) > 0
		switch {
		case c.Number != i+1:
			t.Errorf("claim %d is in place %d", c.Number, i+1)
		case c.Says == "" || c.Section == "":
			t.Errorf("%d: no text, or no section", c.Number)
		case c.Verdict == articles.Open && proved:
			t.Errorf("%d: %q has a proof: which verdict is that?", c.Number, c.Says)
		case c.Verdict != articles.Open && !proved:
			t.Errorf("%d: %q has no proof: add proves = [\"articles.%d\"] to the expectation that is", c.Number, c.Says, c.Number)
		case c.Verdict != articles.Holds && c.Why == "":
			t.Errorf("%d: %q %s: why?", c.Number, c.Says, c.Verdict)
		case !slices.Contains([]articles.Verdict{articles.Holds, articles.Errs, articles.Depends, articles.Open}, c.Verdict):
			t.Errorf("%d: verdict %q", c.Number, c.Verdict)
		}
	}
}

// What is refused is refused for the reason that is named, and its right form is not.
func TestRefusals(t *testing.T) {
	for _, c := range articles.Claims() {
		r := c.Refusal
		if r == nil {
			continue
		}
		load := func(part string) source.Diagnostics {
			file := filepath.Join(t.TempDir(), "lab.hcl")
			if err := os.WriteFile(file, fmt.Appendf(nil, r.Lab, part), 0o600); err != nil {
				t.Fatal(err)
			}
			_, diags := language.Load(file, language.Options{Catalogue: datapath.Catalogue()})
			return slices.DeleteFunc(diags, func(d source.Diagnostic) bool { return d.Severity != source.Error })
		}
		if got := load(r.Wrong); len(got) != 1 || got[0].Summary != r.Because {
			t.Errorf("%d: with %s: %s, want %q", c.Number, r.Wrong, got.JSON(), r.Because)
		}
		if got := load(r.Right); len(got) > 0 {
			t.Errorf("%d: with %s: %s", c.Number, r.Right, got.JSON())
		}
	}
}
