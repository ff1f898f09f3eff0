package reports

import "testing"

func TestDifferencesAreOneTable(t *testing.T) {
	row := func(who, predicted, observed string) Row {
		return Row{Who: who, To: "web:80", Predicted: predicted, Observed: observed, Disagrees: predicted != observed, OK: predicted == observed}
	}
	r := Report{Results: []Result{
		{Scenario: "a", File: "a.hcl", Line: 3, Name: "it holds", Status: Passed, Rows: []Row{row("shell", "connected", "connected")}},
		{Scenario: "a", File: "a.hcl", Line: 9, Name: "it differs", Variation: "proxy=nftables", Status: Disagreed, Rows: []Row{
			row("shell", "connected", "connected"), row("laptop\x1b", "connected (observed but not predicted: timeout; predicted (100.0 %) but not observed in 1 connections: connected)", "timeout")}},
		{Scenario: "b", File: "b.hcl", Line: 2, Name: "it is false", Status: Failed, Rows: []Row{{Who: "x", To: "y", Predicted: "refused", Observed: "refused"}}},
		{Scenario: "c", File: "c.hcl", Line: 1, Name: "through it", Status: Skipped, Reason: "no such mode"},
	}, Duration: 2e9}
	const want = `CLAIM                                WHO         TO      PREDICTED  THROUGH KUBE-PROXY
a.hcl:9 it differs [proxy=nftables]  laptop\x1b  web:80  connected  timeout

✗ b.hcl:2 b: it is false: not as claimed, through the agent and by netlab's rules alike
- c.hcl:1 c: through it: no such mode

1 of 3 claims hold through kube-proxy, 1 pair differs, 1 skipped in 2.0 s
`
	if got := Differences(r, "kube-proxy", false); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
