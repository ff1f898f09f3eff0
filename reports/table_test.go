package reports

import (
	"strings"
	"testing"

	"github.com/netlab/netlab/datapath/flow"
)

// tableReport is a truth table of a and b with one pair that should be denied.
func tableReport() Report {
	row := func(who, to string, ok bool, o flow.Outcome) Row {
		return Row{Who: who, To: to, OK: ok, Outcomes: []Outcomes{{Outcome: o, Count: 1}}, Wanted: "timeout", Observed: string(o)}
	}
	cell := func(want, saw flow.Outcome) Cell {
		c := Cell{Expected: []flow.Outcome{want}, Predicted: []flow.Outcome{want}, Observed: []flow.Outcome{saw}}
		c.Judge()
		return c
	}
	return Report{Results: []Result{{
		Scenario: "policies", File: "policies.hcl", Line: 7, Name: "who reaches whom", Status: Failed,
		Rows: []Row{row("a", "a", true, flow.Connected), row("a", "b", true, flow.Timeout), row("b", "a", false, flow.Connected), row("b", "b", true, flow.Connected)},
		Table: &Reachability{Protocol: flow.TCP, Port: 80, From: []string{"a", "b"}, To: []string{"a", "b"},
			Cells: [][]Cell{{cell(flow.Connected, flow.Connected), cell(flow.Timeout, flow.Timeout)}, {cell(flow.Timeout, flow.Connected), cell(flow.Connected, flow.Connected)}}},
	}}}
}

func TestATruthTableIsFollowedByWrongRowsOnly(t *testing.T) {
	want := `policies  policies.hcl
    WHO  TO  OUTCOME    SOURCE SEEN  WHO ANSWERED
✗ who reaches whom  0 ms  policies.hcl:7
    tcp 80
       a      b
    a  .      X
    b  X/X/.  .
    . connected   X timeout   expected/predicted/observed where they differ
  ✗ b    a   connected  -            -
      wanted:    timeout
      observed:  connected
`
	if got := Matrix(tableReport(), false); !strings.HasPrefix(got, want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	junit, err := JUnit(tableReport())
	if err != nil || strings.Count(string(junit), "X/X/.") != 1 {
		t.Errorf("%v: %s", err, junit)
	}
	html, err := HTML(tableReport())
	if err != nil || strings.Count(string(html), "X/X/.") != 1 || strings.Count(string(html), "<tr>") != 3 {
		t.Errorf("%v: %s", err, html)
	}
}
