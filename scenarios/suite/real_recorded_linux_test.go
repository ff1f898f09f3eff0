package suite_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/netlab/netlab/datapath"
	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/datapath/plan/feature"
	"github.com/netlab/netlab/datapath/plan/occupant"
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

// recordedFeatures are what kube-proxy-recorded can do without.
var recordedFeatures = []feature.Feature{feature.IPVS, feature.Dummy, feature.MatchIPVS}

// compareRecorded builds a lab, without the programs of pods, which may wait for services, and
// returns how what kube-proxy made of it differs.
func compareRecorded(t *testing.T, s *language.Scenario) difference {
	t.Helper()
	dir := t.TempDir()
	s.Lab.Proxy.Agent.Env = map[string]string{recordVariable: dir}
	p, err := datapath.Compile(s.Lab)
	if err != nil {
		t.Fatal(err)
	}
	for i := range p.Netns {
		n := &p.Netns[i]
		n.Execs = slices.DeleteFunc(n.Execs, func(x occupant.Exec) bool { return !x.Agent })
		for k := range n.Execs {
			x := &n.Execs[k]
			x.Needs = slices.DeleteFunc(x.Needs, func(f string) bool { return slices.Contains(recordedFeatures, feature.Feature(f)) })
		}
	}
	_, rules := (&built{plan: p}).startReal(t, s, dir)
	return rules
}

// addRecorded adds the virtual servers that were recorded on each node to what was read of a lab, and
// the matches of rules in whose place are comments.
func addRecorded(have *plan.Plan, lab *topology.Lab, dir string) error {
	for _, node := range lab.Nodes {
		n := &have.Netns[slices.IndexFunc(have.Netns, func(n plan.Netns) bool { return n.Name == node.Netns() })]
		for _, t := range n.Tables {
			for _, c := range t.Chains {
				for i := range c.Rules {
					c.Rules[i].Raw = recordedMatch.ReplaceAllStringFunc(c.Rules[i].Raw, func(text string) string {
						m := recordedMatch.FindStringSubmatch(text)
						proto := map[string]string{"tcp": "6", "udp": "17", "sctp": "132"}[m[2]]
						return fmt.Sprintf("-m ipvs --vproto %s --vaddr %s --vport %s", proto, m[1], m[3])
					})
				}
			}
		}
		text, err := os.ReadFile(filepath.Join(dir, node.Name+".json"))
		if errors.Is(err, fs.ErrNotExist) {
			continue // not yet
		}
		if err == nil {
			err = json.Unmarshal(text, &n.Virtual)
		}
		if err != nil {
			return fmt.Errorf("virtual servers of %s: %w", node.Name, err)
		}
	}
	return nil
}

// recordedMatch is the comment that kube-proxy-recorded writes for a match.
var recordedMatch = regexp.MustCompile(`-m comment --comment "?ipvs/([^/]+)/([a-z]+)/(\d+)"?`)
