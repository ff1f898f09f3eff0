//go:build linux

package scenarios_test

import (
	"flag"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/onsi/ginkgo/v2"

	"github.com/netlab/netlab/datapath"
	"github.com/netlab/netlab/datapath/engine"
	"github.com/netlab/netlab/reports"
	"github.com/netlab/netlab/scenarios/language"
	"github.com/netlab/netlab/scenarios/language/source"
	"github.com/netlab/netlab/scenarios/suite"
)

func TestMain(m *testing.M) {
	engine.Main() // this program is also the engine of the labs under test
	os.Exit(m.Run())
}

// TestScenarios proves every scenario of this folder in the kernel: applied twice,
// compared with its plan, every expectation with real packets, and taken down.
func TestScenarios(t *testing.T) {
	paths, err := source.Find([]string{"."})
	if err != nil {
		t.Fatal(err)
	}
	var labs []*suite.Lab
	for _, path := range paths {
		for _, v := range language.Variations(load(t, path, nil).Matrix) {
			s := load(t, path, v)
			p, err := datapath.Compile(s.Lab)
			if err != nil {
				t.Fatalf("%s: %v", path, err)
			}
			if wanted(t, s.Name, v.String()) {
				labs = append(labs, &suite.Lab{Path: path, Scenario: s, Plan: p})
			}
		}
	}
	labs = append(labs, sampled(t)...)
	slices.SortStableFunc(labs, func(a, b *suite.Lab) int { return strings.Compare(a.Path, b.Path) })
	runner := suite.New(labs, suite.Options{Thorough: true})
	runner.Specs()
	ginkgo.RunSpecs(t, "scenarios")
	report := runner.Report()
	// One test per scenario, with one per variation in it: their names are the same whichever
	// of them run.
	for len(labs) > 0 {
		n := 1
		for n < len(labs) && labs[n].Path == labs[0].Path {
			n++
		}
		variations := labs[:n]
		labs = labs[n:]
		t.Run(variations[0].Scenario.Name, func(t *testing.T) {
			var plain *suite.Lab
			for _, lab := range variations {
				if v := lab.Scenario.Variation.String(); v != "" {
					t.Run(v, func(t *testing.T) { tell(t, lab, report) })
				} else {
					plain = lab
				}
			}
			if plain != nil {
				tell(t, plain, report)
			}
		})
	}
}

// wanted reports whether go test -run asks for a scenario, and a variation of it:
// TestScenarios/local-policy builds no other.
func wanted(t *testing.T, names ...string) bool {
	t.Helper()
	levels := asked()
	for i, name := range names {
		if i+1 >= len(levels) || name == "" {
			return true
		}
		ok, err := regexp.MatchString(levels[i+1], strings.ReplaceAll(name, " ", "_"))
		if err != nil {
			t.Fatal(err)
		}
		if !ok {
			return false
		}
	}
	return true
}

// asked is what go test -run says, level by level.
func asked() []string { return strings.Split(flag.Lookup("test.run").Value.String(), "/") }

// tell ends the test of a lab as its specs did, with the reason where the kernel lacks
// something: by it, the tests for a virtual machine are chosen.
func tell(t *testing.T, lab *suite.Lab, report reports.Report) {
	reason := ""
	for _, r := range report.Results {
		switch {
		case r.Scenario != lab.Scenario.Name || r.Variation != lab.Scenario.Variation.String():
		case r.Status == reports.Failed || r.Status == reports.Disagreed:
			t.Errorf("%s: see its spec", r.Name)
		case r.Status == reports.Skipped:
			reason = r.Reason
		}
	}
	if reason != "" && !t.Failed() {
		t.Skip(reason)
	}
}

func load(t *testing.T, path string, v language.Variation) *language.Scenario {
	t.Helper()
	s, diags := language.Load(path, language.Options{Catalogue: datapath.Catalogue(), Variation: v})
	if diags.HasErrors() {
		t.Fatalf("%s: %s", path, diags.JSON())
	}
	return s
}
