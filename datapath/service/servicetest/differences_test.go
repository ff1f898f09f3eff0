package servicetest

import (
	"flag"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/netlab/netlab/datapath"
	"github.com/netlab/netlab/datapath/flow"
)

var update = flag.Bool("update", false, "rewrite the table of differences in ARCHITECTURE.md")

// Every answer that differs between backends has a row, and every row occurs.
func TestAnswersDifferWhereARowSaysSo(t *testing.T) {
	backends := datapath.Backends()
	for _, b := range backends[1:] {
		t.Run(b.Name, func(t *testing.T) { differ(t, b.Name, backends[0].Name) })
	}
}

func differ(t *testing.T, backend, first string) {
	rows := differencesOf(backend)
	asked := make([]int, len(rows))
	for _, s := range Setups(backend) {
		other := s
		other.Backend, other.Layout = first, ""
		r := open(t, &s)
		cases, others := r.cases(), open(t, &other).cases()
		for i := range cases {
			c := &cases[i]
			if c.Name != others[i].Name {
				t.Fatalf("%s: %q and %q", s.Name, c.Name, others[i].Name)
			}
			same := sameEnds(c, &others[i])
			if !same && !r.differs(c) {
				t.Errorf("%s: %s: no row explains %v becoming %v", s.Name, c.Name, others[i].Ends, c.Ends)
			}
			for j, d := range rows {
				if !same && d.Others[backend] != "" && d.applies(r, c) {
					asked[j]++
				}
			}
		}
	}
	for j, d := range rows {
		if asked[j] == 0 && d.Others[backend] != "" {
			t.Errorf("no question for the row: %s", d.What)
		}
	}
}

func sameEnds(a, b *Case) bool {
	return len(a.Ends) == len(b.Ends) && !slices.ContainsFunc(a.Ends, func(e flow.Result) bool { return !slices.Contains(b.Ends, e) })
}

func TestDifferencesAreDocumented(t *testing.T) {
	const path, begin, end = "../../../ARCHITECTURE.md", "<!-- differences -->\n", "<!-- end of differences -->"
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok1 := strings.Cut(string(b), begin)
	have, after, ok2 := strings.Cut(rest, end)
	if !ok1 || !ok2 {
		t.Fatalf("%s has no markers for the table", path)
	}
	want := DifferencesTable()
	if *update {
		if err := os.WriteFile(path, []byte(before+begin+want+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if have != want {
		t.Errorf("got\n%s\nwant\n%s", have, want)
	}
}
