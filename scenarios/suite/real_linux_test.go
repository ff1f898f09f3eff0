package suite_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/netlab/netlab/cmd/netlab/labs"
	"github.com/netlab/netlab/datapath"
	"github.com/netlab/netlab/datapath/engine"
	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/datapath/plan/iptables"
	"github.com/netlab/netlab/datapath/plan/nft"
	"github.com/netlab/netlab/datapath/service/servicetest"
	"github.com/netlab/netlab/datapath/walk"
	"github.com/netlab/netlab/reports"
	"github.com/netlab/netlab/scenarios/language"
	"github.com/netlab/netlab/scenarios/language/source"
	"github.com/netlab/netlab/scenarios/suite"
	"github.com/netlab/netlab/topology"
)

// realVariable is the folder with the programs of Kubernetes that make test-real builds.
const realVariable = "NLAB_TEST_REAL"

var (
	realLabs   = flag.Int("real-labs", 200, "how many random labs a real kube-proxy is tried in, in each proxy mode")
	realOnly   = flag.String("real-only", "", "only scenarios whose path matches")
	realAtOnce = flag.Int("real-parallel", 0, "how many scenarios at once; 0: by the number of cores")
	realMode   = flag.String("real-modes", "iptables,nftables", "the proxy modes")
)

// realProxy is the program to be compared with: kube-proxy, or what else make real builds of it.
func realProxy(t *testing.T, name string) string {
	t.Helper()
	dir := os.Getenv(realVariable)
	if dir == "" {
		t.Skip("kube-proxy is not built: make test-real")
	}
	path := filepath.Join(dir, name)
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("%s: %v", realVariable, err)
	}
	return path
}

// realMeta makes a lab serve the API that kube-proxy asks.
func realMeta(s *language.Scenario, p *plan.Plan) engine.Meta {
	meta := labs.MetaOf(s, p, s.Name, s.Name)
	labs.Serve(&meta, s)
	meta.HostPrograms = s.Lab.Proxy.Mode.VirtualServers // which the kernel denies to a program in a cell
	return meta
}

// In every scenario that ships, the real kube-proxy writes the rules that netlab writes, and packets
// through them do what was predicted.
func TestRealKubeProxyInScenarios(t *testing.T) {
	path := realProxy(t, "kube-proxy")
	list := realScenarios(t, path, strings.Split(*realMode, ","))
	for try := 1; len(list) > 0; try++ {
		list = compareReal(t, list, try)
	}
}

// realScenarios are the scenarios that ship, and what their matrices make of them, with the real
// kube-proxy in some modes.
func realScenarios(t *testing.T, path string, modes []string) (list []*suite.Lab) {
	t.Helper()
	only := regexp.MustCompile(*realOnly)
	paths, err := source.Find([]string{".."})
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, file := range paths {
		plain, diags := language.Load(file, language.Options{Catalogue: datapath.Catalogue()})
		if diags.HasErrors() {
			t.Fatal(string(diags.JSON()))
		}
		if !only.MatchString(file) {
			continue
		}
		for _, v := range language.Variations(plain.Matrix) {
			for _, mode := range modes {
				lab, why := realLab(t, file, inMode(v, mode), path)
				switch key := file + lab.title(); {
				case why != "":
					t.Logf("not tried: %s [%s]: %s", file, mode, why)
				case !seen[key]:
					seen[key] = true
					list = append(list, lab.Lab)
				}
			}
		}
	}
	return list
}

// compareReal runs labs and compares them with what netlab says. It returns those that are to be
// tried again, because kube-proxy has lost the zone of a node.
func compareReal(t *testing.T, list []*suite.Lab, try int) (again []*suite.Lab) {
	t.Helper()
	var found sync.Map
	var done atomic.Int64
	titled := func(path, title string) string { return path + " [" + title + "]" }
	runner := suite.New(list, suite.Options{Parallel: *realAtOnce, Meta: func(lab *suite.Lab) engine.Meta { return realMeta(lab.Scenario, lab.Plan) },
		Finish: func(ctx context.Context, lab *suite.Lab, running *engine.Client, _ bool) error {
			rules, err := realRules(ctx, lab.Scenario, running, "")
			key := titled(lab.Path, lab.Scenario.Title())
			found.Store(key, rules)
			t.Logf("%d of %d: %s", done.Add(1), len(list), key)
			if err != nil {
				running.Abandon()
				return err
			}
			return running.Down(ctx)
		}})
	runner.Start(t.Context())
	runner.Wait()
	report := runner.Report()
	compared := 0
	skip, weighted := map[string]bool{}, map[string]bool{}
	for _, lab := range list {
		key := titled(lab.Path, lab.Scenario.Title())
		weighted[key] = hasWeights(lab.Scenario.Lab)
		v, ok := found.Load(key)
		if !ok {
			continue
		}
		compared++
		switch rules := v.(difference); {
		case rules.lostAgain(try):
			t.Logf("%s: %s", key, rules.lost())
			skip[key], again = true, append(again, lab)
		case len(rules.lines) > 0:
			t.Errorf("%s: other rules:\n\t%s", key, rules)
		}
	}
	for _, r := range report.Results {
		switch r.Status {
		case reports.Skipped:
			t.Logf("skipped: %s: %s: %s", r.Title(), r.Name, r.Reason)
		case reports.Failed, reports.Disagreed:
			wrong := slices.ContainsFunc(r.Rows, func(row reports.Row) bool { return row.Disagrees })
			switch key := titled(r.File, r.Title()); {
			case skip[key]:
			case wrong && weighted[key]:
				t.Logf("%s:%d: %s: %s: kube-proxy is told no weights", r.File, r.Line, r.Title(), r.Name)
			case wrong || len(r.Rows) == 0:
				t.Errorf("%s:%d: %s: %s\n%s", r.File, r.Line, r.Title(), r.Name, suite.Explain(r))
			}
		}
	}
	if compared == 0 {
		t.Error("no lab came up: nothing was compared")
	}
	t.Logf("rules of %d labs compared; %s", compared, strings.TrimSpace(reports.Differences(report, "kube-proxy", false)))
	return again
}

// hasWeights reports whether endpoints have weights, which only virtual servers can have and the
// Kubernetes API has not: servicetest's table of what the rules of kube-proxy lack.
func hasWeights(lab *topology.Lab) bool {
	return lab.Proxy.Mode.VirtualServers && slices.ContainsFunc(lab.Services, func(s *topology.Service) bool {
		return slices.ContainsFunc(s.Ports, func(p *topology.ServicePort) bool {
			return slices.ContainsFunc(p.Endpoints, func(e *topology.Endpoint) bool { return e.Weight != 1 })
		})
	})
}

// inMode is a variation with a proxy mode.
func inMode(v language.Variation, mode string) language.Variation {
	v = slices.DeleteFunc(slices.Clone(v), func(s language.Setting) bool { return s.Axis == "proxy" })
	return append(v, language.Setting{Axis: "proxy", Value: mode})
}

// tried is a lab with a real kube-proxy.
type tried struct{ *suite.Lab }

func (l tried) title() string {
	if l.Lab == nil {
		return ""
	}
	return l.Scenario.Title()
}

// realLab is a scenario with the real kube-proxy; or why there is none.
func realLab(t *testing.T, file string, v language.Variation, proxy string) (tried, string) {
	t.Helper()
	s, diags := language.Load(file, language.Options{Catalogue: datapath.Catalogue(), Variation: v})
	switch {
	case diags.HasErrors():
		return tried{}, "not valid in this mode: " + diags[0].Detail
	case s.Lab.Network.Mode.SharedCIDR:
		return tried{}, "the network has no services"
	}
	if why := datapath.KubeProxyLacks(s.Lab); why != "" {
		return tried{}, why
	}
	datapath.UseKubeProxy(s.Lab, proxy)
	p, err := datapath.Compile(s.Lab)
	if err != nil {
		t.Fatal(err)
	}
	return tried{&suite.Lab{Path: file, Scenario: s, Plan: p}}, ""
}

// In random labs, too.
func TestRealKubeProxyInRandomLabs(t *testing.T) {
	path := realProxy(t, "kube-proxy")
	for _, mode := range strings.Split(*realMode, ",") {
		t.Run(mode, func(t *testing.T) {
			for _, seed := range seeds(*realLabs) {
				t.Run(fmt.Sprint(seed), func(t *testing.T) {
					t.Parallel()
					b, s := realRandom(t, seed, mode, path)
					twin, err := datapath.OnPaper(s.Lab, b.plan)
					if err != nil {
						t.Fatal(err)
					}
					b.world = walk.New(twin)
					running, rules := b.startReal(t, s, "")
					if len(rules.lines) > 0 {
						t.Errorf("-seed %d -real-labs 1 -real-modes %s: other rules:\n\t%s\n%s", seed, mode, rules, b.script)
					}
					b.askIn(t, seed, running)
				})
			}
		})
	}
}

// realRandom is a random lab with the real kube-proxy, without a world to walk in.
func realRandom(t *testing.T, seed uint64, mode, path string) (*built, *language.Scenario) {
	t.Helper()
	script := randomBehind(seed, datapath.ClusterModes(), mode)
	s, err := script.load(t)
	if err != nil {
		t.Fatal(err)
	}
	datapath.UseKubeProxy(s.Lab, path)
	p, err := datapath.Compile(s.Lab)
	if err != nil {
		t.Fatal(err)
	}
	return &built{script: script, lab: s.Lab, plan: p}, s
}

// startReal builds a lab with the real kube-proxy, again if that has lost the zone of a node, and
// returns how its rules differ.
func (b *built) startReal(t *testing.T, s *language.Scenario, recorded string) (*engine.Client, difference) {
	t.Helper()
	for try := 1; ; try++ {
		running := b.startWith(t, realMeta(s, b.plan))
		rules, err := realRules(t.Context(), s, running, recorded)
		if err != nil {
			t.Fatal(err)
		}
		if !rules.lostAgain(try) {
			return running, rules
		}
		t.Log(rules.lost())
	}
}

// settles is how long kube-proxy may take for what it learns after its first rules, on a machine
// on which many labs run at once: it writes rules once a second.
const settles = 15 * time.Second

// difference is how the rules of a real kube-proxy differ from those that it is measured by.
type difference struct {
	lines []string // of plan.Drift, without what has a reason
	zones []string // the nodes whose rules are as if they had no zone: then no other node has lines
}

func (d difference) String() string { return strings.Join(d.lines[:min(len(d.lines), 20)], "\n\t") }

// lostAgain reports whether kube-proxy has lost zones and is worth another try: so it does once in
// a thousand starts.
func (d difference) lostAgain(try int) bool { return len(d.zones) > 0 && try < 3 }

func (d difference) lost() string {
	return "kube-proxy has lost the zones of " + strings.Join(d.zones, ", ") + "; the lab is built again"
}

// realRules are the differences between what the agents of a lab have made and the rules that they
// are measured by, but for those that have a name. Virtual servers are read from a folder, if they
// were recorded.
func realRules(ctx context.Context, s *language.Scenario, running *engine.Client, recorded string) (difference, error) {
	if s.Lab.PolicyOptions.Agent != nil {
		return difference{}, nil // its rules are of no style
	}
	like := s.Lab.WithoutAgents()
	twin, err := datapath.Compile(like)
	if err != nil {
		return difference{}, err
	}
	for began := time.Now(); ; {
		have, _, err := running.ReadAll(ctx)
		if err == nil && recorded != "" {
			err = addRecorded(have, s.Lab, recorded)
		}
		if err != nil {
			return difference{}, err
		}
		lines := realLines(like, have, twin)
		if len(lines) == 0 {
			return difference{}, nil
		}
		if time.Since(began) > settles {
			zones, err := lostZones(like, have, twin)
			return difference{lines, zones}, err
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// realLines are the unexplained differences between the rules of two plans.
func realLines(lab *topology.Lab, have, want *plan.Plan) []string {
	return servicetest.Unexplained(plan.Drift(rulesOnly(lab, have), rulesOnly(lab, want)))
}

// lostZones are the nodes that have the rules of a node without a zone, if that is all in which the
// plans differ.
func lostZones(lab *topology.Lab, have, want *plan.Plan) (lost []string, err error) {
	zones := make([]string, len(lab.Nodes))
	for i, n := range lab.Nodes {
		zones[i], n.Zone = n.Zone, ""
	}
	without, err := datapath.Compile(lab)
	for i, n := range lab.Nodes {
		n.Zone = zones[i]
	}
	if err != nil {
		return nil, err
	}
	mixed := *want
	mixed.Netns = slices.Clone(want.Netns)
	for _, n := range lab.Nodes {
		of := func(p *plan.Plan) *plan.Plan {
			is := func(x plan.Netns) bool { return x.Name == n.Netns() }
			return &plan.Plan{Netns: slices.DeleteFunc(slices.Clone(p.Netns), func(x plan.Netns) bool { return !is(x) })}
		}
		if n.Zone == "" || len(realLines(lab, of(have), of(want))) == 0 {
			continue
		}
		lost = append(lost, n.Name)
		for i := range mixed.Netns {
			if mixed.Netns[i].Name == n.Netns() {
				mixed.Netns[i] = of(without).Netns[0]
			}
		}
	}
	if len(realLines(lab, have, &mixed)) > 0 {
		return nil, nil
	}
	return lost, nil
}

// rulesOnly are the rules, sets and virtual servers of the nodes of a plan, without what has no
// order: kube-proxy writes the rules of some chains in that of a map in Go, and puts its own at the
// head of built-in chains.
func rulesOnly(lab *topology.Lab, p *plan.Plan) *plan.Plan {
	out := &plan.Plan{Lab: p.Lab}
	// It writes both families, whether there are addresses or not.
	idle := func(six bool) bool { return !topology.PrefixOfFamily(lab.Network.ServiceCIDRs, six).IsValid() }
	for _, n := range p.Netns {
		if n.Kind != plan.Node {
			continue
		}
		m := plan.Netns{Name: n.Name, Kind: n.Kind, IPv6: n.IPv6, NFT: n.NFT, Virtual: n.Virtual}
		for _, s := range n.Sets {
			if !idle(strings.HasPrefix(s.Name, "KUBE-6-")) {
				m.Sets = append(m.Sets, s)
			}
		}
		for _, t := range n.Tables {
			if idle(t.IPv6) {
				continue
			}
			chains := slices.Clone(t.Chains)
			for i := range chains {
				if c := &chains[i]; c.Policy != "" || unordered[c.Name] {
					c.Rules = slices.Clone(c.Rules)
					slices.SortFunc(c.Rules, func(a, b iptables.Rule) int { return strings.Compare(a.Save(), b.Save()) })
				}
			}
			m.Tables = append(m.Tables, iptables.Table{IPv6: t.IPv6, Name: t.Name, Chains: chains})
		}
		m.NFT = slices.DeleteFunc(slices.Clone(m.NFT), func(t nft.Table) bool { return t.Family == "ip6" && idle(true) || t.Family == "ip" && idle(false) })
		out.Netns = append(out.Netns, m)
	}
	out.Sort()
	return out
}

// unordered are the chains whose rules kube-proxy writes in no order.
var unordered = map[string]bool{"KUBE-SERVICES": true, "KUBE-NODEPORTS": true, "KUBE-EXTERNAL-SERVICES": true, "KUBE-PROXY-FIREWALL": true, "KUBE-IPVS-OUT-FILTER": true}

// A node with the rules of a node without a zone is told from one with any other rules.
func TestLostZonesAreRecognized(t *testing.T) {
	const file = "../services/prefer-same-node.hcl"
	for _, mode := range []string{"iptables", "nftables", "ipvs"} {
		s, diags := language.Load(file, language.Options{Catalogue: datapath.Catalogue(), Variation: language.Variation{{Axis: "proxy", Value: mode}}})
		if diags.HasErrors() {
			t.Fatal(string(diags.JSON()))
		}
		compile := func() *plan.Plan {
			p, err := datapath.Compile(s.Lab)
			if err != nil {
				t.Fatal(err)
			}
			return p
		}
		judge := func(have, want *plan.Plan) string {
			lost, err := lostZones(s.Lab, have, want)
			if err != nil {
				t.Fatal(err)
			}
			return strings.Join(lost, " ")
		}
		want := compile()
		node := s.Lab.Nodes[2]
		zone := node.Zone
		node.Zone = ""
		lost := compile()
		node.Zone = zone
		if got := judge(want, want); got != "" {
			t.Errorf("%s: nothing is lost: %s", mode, got)
		}
		if got := judge(lost, want); got != node.Name {
			t.Errorf("%s: got %q, want %s; %q", mode, got, node.Name, realLines(s.Lab, lost, want))
		}
		for i := range lost.Netns {
			if n := &lost.Netns[i]; n.Name == s.Lab.Nodes[0].Netns() {
				n.NFT, n.Tables, n.Virtual = nil, nil, nil
			}
		}
		if got := judge(lost, want); got != "" {
			t.Errorf("%s: other rules are missing, too, but %s is lost", mode, got)
		}
	}
}
