//go:build linux

package scenarios_test

import (
	"flag"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/netlab/netlab/datapath"
	"github.com/netlab/netlab/reports"
	"github.com/netlab/netlab/scenarios/language"
	"github.com/netlab/netlab/scenarios/language/source"
	"github.com/netlab/netlab/scenarios/suite"
)

var (
	modesSample = flag.Int("modes-sample", 12, "how many pairs of a scenario and a pod network are tried with packets; 0: all")
	modesSeed   = flag.Uint64("modes-seed", 0, "chooses them; 0: a random one")
)

// TestOtherNetworksOnPaper proves the scenarios of services and policies on every pod network:
// what they claim does not depend on how packets get from node to node. TestScenarios tries a
// sample of them with packets.
func TestOtherNetworksOnPaper(t *testing.T) {
	labs := onOtherNetworks(t)
	carried := map[string]int{}
	for _, lab := range labs {
		carried[lab.Scenario.Lab.Network.Mode.Name]++
		for _, r := range suite.Paper(t.Context(), []*suite.Lab{lab}).Results {
			if r.Status != reports.Passed && r.Status != reports.Skipped {
				t.Errorf("netlab test --paper --matrix %s scenarios/%s: %q: %s", lab.Scenario.Variation, lab.Path, r.Name, r.Status)
			}
		}
	}
	for mode, n := range carried {
		if most := slices.Max(slices.Collect(maps.Values(carried))); n < most*3/4 {
			t.Errorf("%s carries %d scenarios, another network %d", mode, n, most)
		}
	}
}

// sampled is a sample of the scenarios on other networks, or those that go test -run names:
// TestScenarios/cluster-ip/network=vxlan.
func sampled(t *testing.T) []*suite.Lab {
	t.Helper()
	switch n := *modesSample; {
	case len(asked()) == 2:
		return nil
	case len(asked()) > 2 || n == 0:
		return onOtherNetworks(t)
	default:
		seed := *modesSeed
		if seed == 0 {
			seed = 1 + uint64(rand.Uint32())
		}
		t.Logf("-modes-seed %d", seed)
		labs := onOtherNetworks(t)
		rand.New(rand.NewPCG(seed, 0)).Shuffle(len(labs), func(i, j int) { labs[i], labs[j] = labs[j], labs[i] })
		return labs[:min(n, len(labs))]
	}
}

// onOtherNetworks is every scenario of services and policies that does not choose its pod
// network, on every one that joins the pods of all nodes and can carry it.
func onOtherNetworks(t *testing.T) (labs []*suite.Lab) {
	paths, err := source.Find([]string{"services", "policies"})
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		own := load(t, path, nil)
		if own.Spec.Network.Mode.Set || len(own.Matrix) > 0 {
			continue
		}
		for _, mode := range datapath.Catalogue().Networks {
			v := language.Variation{{Axis: "network", Value: mode.Name}}
			if !mode.Routed || !wanted(t, own.Name, v.String()) {
				continue
			}
			s, diags := language.Load(path, language.Options{Catalogue: datapath.Catalogue(), Variation: v})
			if diags.HasErrors() {
				continue // such as two families in one that has IPv4 only
			}
			p, err := datapath.Compile(s.Lab)
			if err != nil {
				t.Fatalf("%s %s: %v", path, v, err)
			}
			labs = append(labs, &suite.Lab{Path: path, Scenario: s, Plan: p})
		}
	}
	return labs
}
