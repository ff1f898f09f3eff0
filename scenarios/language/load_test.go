package language

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/netlab/netlab/datapath"
	"github.com/netlab/netlab/scenarios/language/source"
)

func diagnosticsText(d source.Diagnostics) string {
	var b strings.Builder
	if err := d.WriteText(&b, false); err != nil {
		panic(err)
	}
	return b.String()
}

func shipped(t testing.TB) []string {
	files, err := source.Find([]string{".."})
	if err != nil || len(files) < 9 {
		t.Fatalf("found %d scenarios: %v", len(files), err)
	}
	return files
}

func TestShippedScenariosLoadWithoutDiagnostics(t *testing.T) {
	for _, path := range shipped(t) {
		f := filepath.Base(path)
		t.Run(f, func(t *testing.T) {
			s, diags := Load(path, Options{Catalogue: datapath.Catalogue()})
			if len(diags) > 0 {
				t.Fatalf("\n%s", diagnosticsText(diags))
			}
			name := filepath.Base(f)
			if len(s.Expects) == 0 || s.Name != strings.TrimSuffix(name, ".hcl") {
				t.Errorf("name %q, %d expectations", s.Name, len(s.Expects))
			}
			for _, e := range s.Expects {
				if e.Origin.File != name || !strings.HasPrefix(strings.TrimSpace(source.SourceLine(s.Sources[name], e.Origin.Line)), `expect "`) {
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
				t.Errorf("%s: the proof names %q, which is not an expectation", f, name)
			}
		}
		if out, diags := source.Format("lab.hcl", src, nil); len(diags) > 0 || string(out) != string(src) {
			t.Errorf("%s is not formatted", f)
		}
	}
}

func TestFoldersAreSearchedRecursively(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"b.hcl": `node "n" {}`, "a/c.hcl": `node "n" {}`, "a/testdata/no.hcl": `node "n" {}`, ".git/no.hcl": `node "n" {}`,
		"parts.lab/x.hcl": `node "n" {}`, "parts.lab/y.hcl": `pod "p" {}`, "parts.lab/below/no.hcl": `node "n" {}`,
		"many/x.hcl": `node "n" {}`, "many/y.hcl": `pod "p" {}`, "many/x.auto.vars.hcl": `v = 1`, "1/2/2.lab/x.hcl": ``, "1/2/3/4/yes.hcl": `node "n" {}`, "1/2/3/4/5/no.hcl": `node "n" {}`,
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, row := range []struct {
		find func() ([]string, error)
		want string
	}{
		{func() ([]string, error) { return source.Find([]string{dir}) }, "b.hcl parts.lab 1/2/2.lab 1/2/3/4/yes.hcl a/c.hcl many/x.hcl many/y.hcl"},
		{func() ([]string, error) { return source.FindIn(dir) }, "b.hcl parts.lab"},
		{func() ([]string, error) { return source.FindIn(filepath.Join(dir, "parts.lab")) }, "parts.lab"},
		{func() ([]string, error) { return source.FindIn(filepath.Join(dir, "many")) }, "many/x.hcl many/y.hcl"},
		{func() ([]string, error) { return source.Parts(filepath.Join(dir, "parts.lab")) }, "parts.lab/x.hcl parts.lab/y.hcl"},
	} {
		found, err := row.find()
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.ReplaceAll(strings.Join(found, " "), dir+"/", ""); got != row.want {
			t.Errorf("got %s, want %s", got, row.want)
		}
	}
	if _, err := source.FindIn(filepath.Join(dir, "1")); err == nil || !strings.Contains(err.Error(), "no scenario") {
		t.Errorf("a folder without scenarios: %v", err)
	}
}

// A search ends after so many files, whatever is below the folder.
func TestSearchIsBounded(t *testing.T) {
	dir := t.TempDir()
	for i := range 101 {
		below := filepath.Join(dir, strconv.Itoa(i))
		if err := os.Mkdir(below, 0o755); err != nil {
			t.Fatal(err)
		}
		for j := range 200 {
			if err := os.WriteFile(filepath.Join(below, strconv.Itoa(j)+".hcl"), nil, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	if found, err := source.Find([]string{dir}); err == nil || !strings.Contains(err.Error(), "name a folder closer") {
		t.Errorf("found %d scenarios, %v", len(found), err)
	}
	if found, err := source.Find([]string{filepath.Join(dir, "7")}); err != nil || len(found) != 200 {
		t.Errorf("found %d scenarios, %v", len(found), err)
	}
}
