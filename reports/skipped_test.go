package reports_test

import (
	"strings"
	"testing"

	"github.com/netlab/netlab/reports"
)

// A kernel that lacks IPVS lacks it for every expectation of the lab.
func TestTheSameReasonIsPrintedOncePerScenario(t *testing.T) {
	r := reports.Report{Results: []reports.Result{
		{Scenario: "a", Name: "one", Status: reports.Skipped, Reason: "no ip_vs"},
		{Scenario: "a", Name: "two", Status: reports.Skipped, Reason: "no ip_vs"},
		{Scenario: "a", Name: "three", Status: reports.Skipped, Reason: "no dummy"},
		{Scenario: "b", Name: "four", Status: reports.Skipped, Reason: "no dummy"},
	}}
	text := reports.Matrix(r, false)
	for _, line := range []string{"- one  skipped: no ip_vs\n", "- two  skipped\n", "- three  skipped: no dummy\n", "- four  skipped: no dummy\n"} {
		if !strings.Contains(text, line) {
			t.Errorf("no %q in\n%s", line, text)
		}
	}
}
