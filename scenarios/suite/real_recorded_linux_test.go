package suite_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/netlab/netlab/datapath"
	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/datapath/plan/feature"
	"github.com/netlab/netlab/datapath/plan/ipvs"
	"github.com/netlab/netlab/scenarios/language"
	"github.com/netlab/netlab/topology"
)

// A machine that emulates another kernel is too slow for every scenario beside a real kube-proxy in
// mode ipvs, in a few of which make test-real-ipvs compares packets, too. Here its rules and sets
// are compared on this kernel, and its virtual servers as kube-proxy-recorded writes them down.
func TestRealVirtualServersInScenarios(t *testing.T) {
	path := realProxy(t, recorder)
	for _, lab := range realScenarios(t, path, []string{"ipvs"}) {
		t.Run(lab.Path+" "+lab.Scenario.Title(), func(t *testing.T) {
			t.Parallel()
			if rules := compareRecorded(t, lab.Scenario); len(rules.lines) > 0 {
				t.Errorf("other rules, sets or virtual servers:\n\t%s", rules)
			}
		})
	}
}

// In random labs, too.
func TestRealVirtualServersInRandomLabs(t *testing.T) {
	path := realProxy(t, recorder)
	for _, seed := range seeds(*realLabs) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			b, s := realRandom(t, seed, "ipvs", path)
			if rules := compareRecorded(t, s); len(rules.lines) > 0 {
				t.Errorf("-seed %d -real-labs 1: other rules, sets or virtual servers:\n\t%s\n%s", seed, rules, b.script)
			}
		})
	}
}

const (
	recorder = "kube-proxy-recorded"
	// recordVariable says where it writes the virtual servers of each node to.
	recordVariable = "NLAB_RECORD"
)

// compareRecorded builds a lab and returns how what kube-proxy made of it differs. In its own plan agents are
// told no folder, and need IPVS.
func compareRecorded(t *testing.T, s *language.Scenario) difference {
	t.Helper()
	dir := t.TempDir()
	s.Lab.Proxy.Agent.Env = map[string]string{recordVariable: dir}
	for try := 1; ; try++ {
		p, err := datapath.Compile(s.Lab)
		if err != nil {
			t.Fatal(err)
		}
		for i := range p.Netns {
			for k := range p.Netns[i].Execs {
				x := &p.Netns[i].Execs[k]
				x.Needs = slices.DeleteFunc(x.Needs, func(f string) bool { return f == string(feature.IPVS) || f == string(feature.Dummy) })
			}
		}
		running := (&built{plan: p}).startWith(t, realMeta(s, p))
		rules, err := realRules(t.Context(), s, running, dir)
		if err != nil {
			t.Fatal(err)
		}
		if rules.lostAgain(try) {
			t.Log(rules.lost())
			continue
		}
		return rules
	}
}

// addRecorded adds the virtual servers that were recorded on each node to what was read of a lab.
func addRecorded(have *plan.Plan, lab *topology.Lab, dir string) error {
	for _, node := range lab.Nodes {
		text, err := os.ReadFile(filepath.Join(dir, node.Name+".json"))
		if errors.Is(err, fs.ErrNotExist) {
			continue // not yet
		}
		if err != nil {
			return err
		}
		var list []ipvs.Server
		if err := json.Unmarshal(text, &list); err != nil {
			return fmt.Errorf("virtual servers of %s: %w", node.Name, err)
		}
		i := slices.IndexFunc(have.Netns, func(n plan.Netns) bool { return n.Name == node.Netns() })
		have.Netns[i].Virtual = list
	}
	return nil
}
