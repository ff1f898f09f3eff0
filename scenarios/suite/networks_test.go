package suite_test

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/netlab/netlab/datapath"
	"github.com/netlab/netlab/reports"
	"github.com/netlab/netlab/scenarios/language"
	"github.com/netlab/netlab/scenarios/suite"
)

var update = flag.Bool("update", false, "rewrite the table of pod networks in ARCHITECTURE.md")

// networksTable is what the Kubernetes network model finds in each pod network, and what they
// are on the wire, as netlab test --paper --matrix shows it.
func networksTable(t *testing.T) string {
	t.Helper()
	var rows []string
	for _, mode := range datapath.Modes() {
		path := "../networks/kubernetes-model.hcl"
		if mode.SharedCIDR {
			path = "../networks/kubernetes-model-broken.hcl" // the same without services
		}
		s, diags := language.Load(path, language.Options{Catalogue: datapath.Catalogue(), Variation: language.Variation{{Axis: "network", Value: mode.Name}}})
		if diags.HasErrors() {
			t.Fatal(diags.JSON())
		}
		p, err := datapath.Compile(s.Lab)
		if err != nil {
			t.Fatal(err)
		}
		report := suite.Paper(t.Context(), []*suite.Lab{{Path: path, Scenario: s, Plan: p}})
		var broken []string
		for _, r := range report.Results {
			_, rule, _ := strings.Cut(r.Name, ": ")
			rule, _, _ = strings.Cut(rule, ":")
			rule, fails := strings.CutSuffix(rule, " fails")
			if fails == (r.Status == reports.Passed) && !slices.Contains(broken, rule) {
				broken = append(broken, rule)
			}
		}
		if mode.SharedCIDR {
			broken = append(broken, "no services, so that goals 3 and 4 are not tried")
		}
		if len(report.Wires) != 1 {
			t.Fatalf("%s: %d connections to compare", mode.Name, len(report.Wires))
		}
		var names, values []string
		for _, f := range report.Wires[0].Facts {
			if f.Value != "-" || f.Name != "bytes on the uplink per byte of payload" {
				names, values = append(names, f.Name), append(values, f.Value)
			}
		}
		if rows == nil {
			rows = append(rows, fmt.Sprintf("| | %s | does not hold |", strings.Join(names, " | ")), strings.Repeat("|---", len(names)+2)+"|")
		}
		rows = append(rows, fmt.Sprintf("| `%s` | %s | %s |", mode.Name, strings.Join(values, " | "), cmp.Or(strings.Join(broken, ", "), "–")))
	}
	return strings.Join(rows, "\n") + "\n"
}

func TestNetworksAreDocumented(t *testing.T) {
	const path, begin, end = "../../ARCHITECTURE.md", "<!-- networks -->\n", "<!-- end of networks -->"
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok1 := strings.Cut(string(b), begin)
	have, after, ok2 := strings.Cut(rest, end)
	if !ok1 || !ok2 {
		t.Fatalf("%s has no markers for the table", path)
	}
	want := networksTable(t)
	if *update {
		if err := os.WriteFile(path, []byte(before+begin+want+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if have != want {
		t.Errorf("the table is out of date: run make golden\ngot\n%s\nwant\n%s", have, want)
	}
}
