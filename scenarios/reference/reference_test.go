package reference

import (
	"flag"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite scenarios/LANGUAGE.md")

func TestEveryEntryIsUsedByAScenario(t *testing.T) {
	seen := 0
	for _, e := range top().all() {
		seen++
		empty := e.Block && e.Path != "locals" && len(e.within()) == 0 // a mode without options
		if !empty && len(e.Uses()) == 0 {
			t.Errorf("no scenario that ships uses %s", e.Path)
		}
	}
	if seen < 150 {
		t.Errorf("found %d entries only", seen)
	}
}

func TestThePageIsThatOfTheTables(t *testing.T) {
	const file = "../LANGUAGE.md"
	want := Markdown()
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

func TestFind(t *testing.T) {
	for path, want := range map[string]string{
		"service.type":        "service.type string, default \"ClusterIP\"",
		"policy.pod_selector": "policy.pod_selector label selector",
		"expect.spread":       "How answers are balanced.",
		"expect.from":         "required",
		"netlab":              "Attributes",
	} {
		found, _, _ := Find(path)
		if text := strings.Join(strings.Fields(Text(found)), " "); !strings.Contains(text, want) {
			t.Errorf("%s: no %q in\n%s", path, want, text)
		}
	}
	for path, want := range map[string][2]string{
		"service.tipe": {"service.tipe", "service.type"}, "servise.type": {"servise", "service"},
		"service.type.x": {"service.type.x", ""}, "": {"", "pod"}, ".": {"", "pod"}, "locals.x": {"locals.x", ""},
	} {
		found, unknown, near := Find(path)
		if len(found) > 0 || unknown != want[0] || want[1] != "" && !slices.Contains(near, want[1]) {
			t.Errorf("%q: found %v, unknown %q, near %v", path, found, unknown, near)
		}
	}
}

// Help is read in terminals of 80 columns.
func TestTextIsNarrow(t *testing.T) {
	texts := []string{Overview(), FunctionsText(), ReferencesText()}
	for _, path := range Paths() {
		found, _, _ := Find(path)
		texts = append(texts, Text(found))
	}
	for _, text := range texts {
		for line := range strings.Lines(text) {
			quoted := regexp.MustCompile(`^  \d+: `).MatchString(line) // a line of a scenario
			if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > 80 && !quoted {
				t.Errorf("%d columns: %s", n, line)
			}
		}
	}
}
