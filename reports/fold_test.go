package reports

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/netlab/netlab/datapath/flow"
)

// wide is a truth table with a column per name.
func wide(names ...string) Reachability {
	t := Reachability{Protocol: flow.TCP, Port: 80, From: []string{"a"}, To: names, Cells: [][]Cell{nil}}
	for i := range names {
		o := flow.Connected
		if i%2 == 1 {
			o = flow.Timeout
		}
		t.Cells[0] = append(t.Cells[0], Cell{Expected: []flow.Outcome{o}, Predicted: []flow.Outcome{o}})
	}
	return t
}

func names(n int) []string {
	var list []string
	for i := range n {
		list = append(list, fmt.Sprintf("frontend-%d", i))
	}
	return list
}

func TestWideTruthTablesNumberTheirColumns(t *testing.T) {
	text, _ := ReachTables([]Reachability{wide(names(9)...)}, false)
	want := `tcp 80
   1  2  3  4  5  6  7  8  9
a  .  X  .  X  .  X  .  X  .
1 frontend-0  2 frontend-1  3 frontend-2  4 frontend-3  5 frontend-4
6 frontend-5  7 frontend-6  8 frontend-7  9 frontend-8
`
	if !strings.HasPrefix(text, want) {
		t.Errorf("got\n%s\nwant\n%s", text, want)
	}
	if text, _ := ReachTables([]Reachability{wide("b", "c")}, false); !strings.Contains(text, "   b  c\na  .  X\n") {
		t.Errorf("a narrow table has names:\n%s", text)
	}
}

func TestTablesFitIn80Columns(t *testing.T) {
	var r Report
	for i := range 4 {
		r.Results = append(r.Results, Result{Scenario: "s", File: "s.hcl", Variation: fmt.Sprintf("network=vxlan policies=calico proxy=v%d", i), Name: "all", Status: Passed,
			Rows: []Row{{Who: "shell", To: "service web:80", OK: true, Outcomes: []Outcomes{{Outcome: flow.Outcome(strings.Repeat("x", 5+20*(i%2))), Count: 1}}}}})
	}
	reach, _ := ReachTables([]Reachability{wide(names(90)...)}, false)
	beside := Matrix(r, false)
	for _, text := range []string{reach, beside} {
		for line := range strings.Lines(text) {
			if n := utf8.RuneCountInString(strings.TrimSpace(line)); n > 80 {
				t.Errorf("%d columns: %s", n, line)
			}
		}
	}
	for _, want := range []string{"90 frontend-89", "  24  25"} {
		if !strings.Contains(reach, want) {
			t.Errorf("no %q in\n%s", want, reach)
		}
	}
	for _, want := range []string{"EXPECTATION, WHO → TO", "3 network=vxlan policies=calico proxy=v2", "✓ xxxxx "} {
		if !strings.Contains(beside, want) {
			t.Errorf("no %q in\n%s", want, beside)
		}
	}
}
