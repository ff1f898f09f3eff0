package language

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/netlab/netlab/datapath"
	"github.com/netlab/netlab/scenarios/language/source"
)

// FuzzLoad loads arbitrary text, as native syntax or as JSON: no panic, no hang, and
// a scenario without errors has what a lab needs.
func FuzzLoad(f *testing.F) {
	for _, name := range shipped(f) {
		src, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(src), false)
	}
	cases, err := filepath.Glob("testdata/diagnostics/*.txtar")
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range cases {
		archive, err := txtar.ParseFile(name)
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range archive.Files {
			if source.IsScenario(file.Name) {
				f.Add(string(file.Data), strings.HasSuffix(file.Name, ".json"))
			}
		}
	}
	f.Fuzz(func(t *testing.T, src string, asJSON bool) {
		name := "lab.hcl"
		if asJSON {
			name += ".json"
		}
		c := source.NewCollector("", map[string][]byte{name: []byte(src)})
		s, diags := load(&source.Input{Name: "lab", Dir: t.TempDir(), Files: []string{name}, Sources: c.Sources}, c, Options{Catalogue: datapath.Catalogue()})
		if err := diags.WriteText(&strings.Builder{}, true); err != nil {
			t.Fatal(err)
		}
		if s == nil || s.Lab == nil || s.Spec == nil {
			t.Fatal("no scenario")
		}
		if diags.HasErrors() {
			return
		}
		for _, e := range s.Expects {
			if len(e.State) > 0 && len(e.From) == 0 && len(e.To) == 0 {
				continue // it is about hosts
			}
			if len(e.From) == 0 || len(e.To) == 0 || e.Protocol == "" || e.Sources != nil && len(e.Sources) != len(e.From) {
				t.Errorf("expectation without an error: %+v", e)
			}
		}
		for _, p := range s.Lab.Pods {
			if p.Node == nil || len(p.Addrs) == 0 {
				t.Errorf("pod without an error: %+v", p)
			}
		}
	})
}
