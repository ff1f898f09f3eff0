package reports

import (
	"strings"
	"testing"

	"github.com/netlab/netlab/datapath/flow"
)

func TestDisagreementIsAStatusOfItsOwn(t *testing.T) {
	r := Report{Results: []Result{{Scenario: "lab", File: "lab.hcl", Line: 7, Name: "it answers", Status: Disagreed, Rows: []Row{{
		Who: "a", To: "b", OK: true, Outcomes: []Outcomes{{Outcome: flow.Connected, Count: 1}},
		Wanted: "connected", Observed: "connected", Predicted: "timeout", Disagrees: true,
	}}}}}
	agent := Report{Results: []Result{r.Results[0]}}
	agent.Results[0].Rows = []Row{r.Results[0].Rows[0]}
	agent.Results[0].Rows[0].Agents = "the proxy's agent, for iptables"
	if text := Matrix(agent, false); !strings.Contains(text, "(the proxy's agent, for iptables)") || strings.Contains(text, "the kernel disagree") {
		t.Errorf("the agent is not named:\n%s", text)
	}
	junit, err := JUnit(r)
	if err != nil {
		t.Fatal(err)
	}
	data, err := JSON(r)
	if err != nil {
		t.Fatal(err)
	}
	for text, wanted := range map[string][]string{
		Matrix(r, false): {"≠ it answers", "≠ a", "predicted: timeout", "1 disagreed"},
		string(junit):    {`type="disagreement"`, `failures="1"`, "predicted timeout; observed connected"},
		string(data):     {`"disagreed": 1`, `"status": "disagreed"`, `"predicted": "timeout"`},
	} {
		for _, want := range wanted {
			if !strings.Contains(text, want) {
				t.Errorf("no %q in:\n%s", want, text)
			}
		}
	}
}
