package reports

import (
	"strings"
	"testing"

	"github.com/netlab/netlab/datapath/flow"
)

func TestReportsSayHowManyConnectionsAndWhatWasDialedAgain(t *testing.T) {
	r := Report{NotRun: 3, Results: []Result{{Scenario: "lab", File: "lab.hcl", Line: 7, Name: "it answers", Status: Passed, Rows: []Row{
		{Who: "a", To: "b", OK: true, Connections: 12, Again: 2, Outcomes: []Outcomes{{Outcome: flow.Connected, Count: 12}}},
		{Who: "c", To: "b", OK: true, Connections: 1, Outcomes: []Outcomes{{Outcome: flow.Connected, Count: 1}}},
	}}}}
	junit, err := JUnit(r)
	if err != nil {
		t.Fatal(err)
	}
	data, err := JSON(r)
	if err != nil {
		t.Fatal(err)
	}
	page, err := HTML(r)
	if err != nil {
		t.Fatal(err)
	}
	for text, wanted := range map[string][]string{
		Matrix(r, false): {"connected ×12, 2 of 12 dialed again", "c    b   connected ", "1 passed, 3 not run", "; 2 of 13 dialed again"},
		string(junit):    {"connected ×12, 2 of 12 dialed again"},
		string(data):     {`"connections": 12`, `"dialed_again": 2`, `"not_run": 3`},
		string(page):     {"2 of 12 dialed again"},
	} {
		for _, want := range wanted {
			if !strings.Contains(text, want) {
				t.Errorf("no %q in:\n%s", want, text)
			}
		}
	}
}
