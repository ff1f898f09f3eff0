package datapath_test

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// Each golden file holds the whole plan of a lab: read it to see what a mode and a
// backend do.
func TestPlansAreAsInTestdata(t *testing.T) {
	for _, l := range labs {
		t.Run(l.name, func(t *testing.T) {
			p := compile(t, l.spec)
			got := &txtar.Archive{Comment: []byte(l.about)}
			for _, n := range strings.SplitAfter(string(p.Text()), "\n\n") {
				name := regexp.MustCompile(`(?m)^ip (netns add|netns exec|-n) (\S+)`).FindStringSubmatch(n)[2]
				if !strings.Contains(n, "ip netns add") {
					name += ", once its links are there"
				}
				got.Files = append(got.Files, txtar.File{Name: name, Data: []byte(n)})
			}
			path := filepath.Join("testdata", l.name+".txtar")
			if *update {
				if err := os.WriteFile(path, txtar.Format(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatalf("%v: write it with go test ./datapath -update", err)
			}
			if d := cmp.Diff(string(want), string(txtar.Format(got))); d != "" {
				t.Errorf("-%s +got:\n%s", path, d)
			}
		})
	}
}
