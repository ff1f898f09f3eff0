package language

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/netlab/netlab/datapath"
)

var update = flag.Bool("update", false, "rewrite the expected output of the cases")

// Every archive is a scenario and, in the file "want", its diagnostics. A
// scenario of one file is loaded as that file, else as a folder.
func TestDiagnostics(t *testing.T) {
	cases, err := filepath.Glob("testdata/diagnostics/*.txtar")
	if err != nil || len(cases) < 25 {
		t.Fatalf("found %d cases: %v", len(cases), err)
	}
	for _, path := range cases {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(path)
			if err != nil {
				t.Fatal(err)
			}
			got := diagnose(t, archive)
			want := ""
			files := archive.Files[:0:0]
			for _, f := range archive.Files {
				if f.Name == "want" {
					want = string(f.Data)
					continue
				}
				files = append(files, f)
			}
			if *update {
				archive.Files = append(files, txtar.File{Name: "want", Data: []byte(got)})
				if err := os.WriteFile(path, txtar.Format(archive), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if got != want {
				t.Errorf("make golden rewrites it; got:\n%s\nwant:\n%s", got, want)
			}
		})
	}
}

func diagnose(t *testing.T, archive *txtar.Archive) string {
	dir := t.TempDir()
	var files []string
	for _, f := range archive.Files {
		if f.Name == "want" {
			continue
		}
		files = append(files, filepath.Join(dir, f.Name))
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, f.Name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, f.Name), f.Data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	path := dir
	if len(files) == 1 && !strings.HasSuffix(files[0], "notes.txt") {
		path = files[0]
	}
	_, diags := Load(path, Options{Catalogue: datapath.Catalogue()})
	if len(diags) == 0 {
		t.Error("no diagnostics")
	}
	for _, d := range diags {
		if n := len(strings.Fields(d.Summary)); n > 6 {
			t.Errorf("summary %q has %d words", d.Summary, n)
		}
		if d.Detail == "" || strings.Contains(d.Detail, "\x00") {
			t.Errorf("summary %q has the detail %q", d.Summary, d.Detail)
		}
	}
	var list []map[string]any
	if err := json.Unmarshal(diags.JSON(), &list); err != nil || len(list) != len(diags) {
		t.Errorf("%d diagnostics are %d in JSON: %v", len(diags), len(list), err)
	}
	return strings.ReplaceAll(strings.ReplaceAll(diagnosticsText(diags), dir+string(filepath.Separator), ""), dir, "FOLDER")
}

func TestColorChangesOnlyEscapes(t *testing.T) {
	_, diags := Load("testdata/missing.hcl", Options{Catalogue: datapath.Catalogue()})
	var plain, colored bytes.Buffer
	if err := diags.WriteText(&plain, false); err != nil {
		t.Fatal(err)
	}
	if err := diags.WriteText(&colored, true); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(colored.String(), "\x1b[1;31merror:\x1b[0m") || strings.Contains(plain.String(), "\x1b") {
		t.Errorf("plain %q, colored %q", &plain, &colored)
	}
}
