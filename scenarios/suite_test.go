//go:build linux

package scenarios_test

import (
	"flag"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/onsi/ginkgo/v2"

	"github.com/netlab/netlab/datapath"
	"github.com/netlab/netlab/datapath/engine"
	"github.com/netlab/netlab/reports"
	"github.com/netlab/netlab/scenarios"
	"github.com/netlab/netlab/scenarios/suite"
)

func TestMain(m *testing.M) {
	engine.Main() // this program is also the engine of the labs under test
	os.Exit(m.Run())
}

// TestScenarios proves every scenario of this folder in the kernel: applied twice,
// compared with its plan, every expectation with real packets, and taken down.
func TestScenarios(t *testing.T) {
	paths, err := scenarios.Find([]string{"."})
	if err != nil {
		t.Fatal(err)
	}
	wanted := subtests(t)
	var labs []*suite.Lab
	for _, path := range paths {
		for _, v := range scenarios.Variations(load(t, path, nil).Matrix) {
			s := load(t, path, v)
			p, err := datapath.Compile(s.Lab)
			if err != nil {
				t.Fatalf("%s: %v", path, err)
			}
			labs = append(labs, &suite.Lab{Path: path, Scenario: s, Plan: p})
		}
	}
	suite.New(labs, suite.Options{Thorough: true}).Specs()
	ginkgo.RunSpecs(t, "scenarios")
}

func load(t *testing.T, path string, v scenarios.Variation) *scenarios.Scenario {
	t.Helper()
	s, diags := scenarios.Load(path, scenarios.Options{Variation: v})
	if diags.HasErrors() {
		t.Fatalf("%s: %s", path, diags.JSON())
	}
	return s
}
