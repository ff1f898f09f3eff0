package reports

import (
	"strings"
	"testing"

	"github.com/netlab/netlab/datapath/flow"
)

// On paper there are probabilities instead of counts, nothing is observed, and nothing
// is known about some pairs.
func TestReportsOfPaper(t *testing.T) {
	r := Report{Paper: true, Results: []Result{{
		Scenario: "twins", File: "twins.hcl", Line: 7, Name: "only one answers", Status: Failed,
		Rows: []Row{
			{
				Who: "a", To: "twins:80", Outcomes: []Outcomes{{Outcome: flow.Connected, Chance: 0.75}, {Outcome: flow.Refused, Chance: 0.25}},
				Answers: []Answers{{Name: "one", Chance: 0.25}, {Name: "two", Chance: 0.5}},
				Wanted:  "connected, answered by one", Predicted: "25 %: refused; two should not answer",
			},
			{Who: "b", To: "program:80", OK: true, Predicted: "not predicted: who knows"},
		},
	}}}
	text := Matrix(r, false)
	for _, want := range []string{
		"✗ a", "connected 75 %, refused 25 %", "one 25 %, two 50 %", "- b",
		"      wanted:    connected, answered by one\n      predicted: 25 %: refused; two should not answer\n", "0 passed, 1 failed on paper in",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if strings.Contains(text, "observed") {
		t.Errorf("something was observed:\n%s", text)
	}
	if got, want := firstFailure(r.Results[0]), "a to twins:80: wanted connected, answered by one; predicted 25 %: refused; two should not answer"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	data, err := JSON(r)
	if err != nil || !strings.Contains(string(data), `"paper": true`) || !strings.Contains(string(data), `"chance": 0.75`) {
		t.Errorf("%v\n%s", err, data)
	}
}
