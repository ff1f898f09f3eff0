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
	realLabs = flag.Int("real-labs", 200, "how many random labs a real kube-proxy is tried in, in each proxy mode")
	realOnly = flag.String("real-only", "", "only scenarios whose path matches")
	realMode = flag.String("real-modes", "iptables,nftables", "the proxy modes")
)

// realProxy is the kube-proxy to be compared with.
func realProxy(t *testing.T) string {
	t.Helper()
	dir := os.Getenv(realVariable)
	if dir == "" {
		t.Skip("kube-proxy is not built: make test-real")
	}
	path := filepath.Join(dir, "kube-proxy")
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
	path := realProxy(t)
	only := regexp.MustCompile(*realOnly)
	paths, err := source.Find([]string{".."})
	if err != nil {
		t.Fatal(err)
	}
	var list []*suite.Lab
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
			for _, mode := range strings.Split(*realMode, ",") {
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
	var differ sync.Map
	runner := suite.New(list, suite.Options{Meta: func(lab *suite.Lab) engine.Meta { return realMeta(lab.Scenario, lab.Plan) },
		Finish: func(ctx context.Context, lab *suite.Lab, running *engine.Client, _ bool) error {
			lines, err := realRules(ctx, lab.Scenario, running)
			differ.Store(lab.Path+" "+lab.Scenario.Title(), lines)
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
	differ.Range(func(lab, lines any) bool {
		compared++
		if list := lines.([]string); len(list) > 0 {
			t.Errorf("%s: other rules:\n\t%s", lab, strings.Join(list[:min(len(list), 20)], "\n\t"))
		}
		return true
	})
	for _, r := range report.Results {
		switch r.Status {
		case reports.Skipped:
			t.Logf("skipped: %s: %s: %s", r.Title(), r.Name, r.Reason)
		case reports.Failed, reports.Disagreed:
			if wrong := slices.ContainsFunc(r.Rows, func(row reports.Row) bool { return row.Disagrees }); wrong || len(r.Rows) == 0 {
				t.Errorf("%s:%d: %s: %s\n%s", r.File, r.Line, r.Title(), r.Name, suite.Explain(r))
			}
		}
	}
	t.Logf("rules of %d labs compared; %s", compared, strings.TrimSpace(reports.Differences(report, "kube-proxy", false)))
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
	s.Lab.Proxy.Agent = datapath.RealAgent(s.Lab, proxy)
	p, err := datapath.Compile(s.Lab)
	if err != nil {
		t.Fatal(err)
	}
	return tried{&suite.Lab{Path: file, Scenario: s, Plan: p}}, ""
}

// In random labs, too.
func TestRealKubeProxyInRandomLabs(t *testing.T) {
	path := realProxy(t)
	for _, mode := range strings.Split(*realMode, ",") {
		t.Run(mode, func(t *testing.T) {
			for _, seed := range seeds(*realLabs) {
				t.Run(fmt.Sprint(seed), func(t *testing.T) {
					t.Parallel()
					script := randomIn(seed, datapath.ClusterModes())
					s, err := script.load(t, language.Variation{{Axis: "proxy", Value: mode}})
					if err != nil {
						t.Skipf("not valid in proxy mode %s: %v", mode, err) // options that only others have
					}
					twin, err := datapath.Compile(s.Lab)
					if err != nil {
						t.Fatal(err)
					}
					s.Lab.Proxy.Agent = datapath.RealAgent(s.Lab, path)
					p, err := datapath.Compile(s.Lab)
					if err != nil {
						t.Fatal(err)
					}
					b := &built{script, s.Lab, p, walk.New(twin)}
					running := b.startWith(t, realMeta(s, p))
					lines, err := realRules(t.Context(), s, running)
					if err != nil {
						t.Fatal(err)
					}
					if len(lines) > 0 {
						t.Errorf("-seed %d -real-labs 1 -real-modes %s: other rules:\n\t%s\n%s", seed, mode, strings.Join(lines[:min(len(lines), 20)], "\n\t"), script)
					}
					b.askIn(t, seed, running)
				})
			}
		})
	}
}

// settles is how long kube-proxy may take for what it learns after its first rules, such as the
// service CIDRs: it writes rules once a second.
const settles = 5 * time.Second

// realRules are the differences between what the agents of a lab have made and the rules that they
// are measured by, but for those that have a name.
func realRules(ctx context.Context, s *language.Scenario, running *engine.Client) ([]string, error) {
	if s.Lab.PolicyOptions.Agent != nil {
		return nil, nil // its rules are of no style
	}
	like := *s.Lab.WithoutAgents()
	if list := like.Proxy.Mode.LayoutNames(); len(list) > 0 {
		like.Proxy.Layout = list[0] // that of kube-proxy
	}
	twin, err := datapath.Compile(&like)
	if err != nil {
		return nil, err
	}
	for began := time.Now(); ; {
		have, _, err := running.ReadAll(ctx)
		if err != nil {
			return nil, err
		}
		lines := servicetest.Unexplained(plan.Drift(rulesOnly(s.Lab, have), rulesOnly(s.Lab, twin)))
		if len(lines) == 0 || time.Since(began) > settles {
			return lines, nil
		}
		time.Sleep(100 * time.Millisecond)
	}
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
		m := plan.Netns{Name: n.Name, Kind: n.Kind, IPv6: n.IPv6, NFT: n.NFT, Virtual: n.Virtual, Sets: n.Sets}
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
var unordered = map[string]bool{"KUBE-SERVICES": true, "KUBE-NODEPORTS": true, "KUBE-EXTERNAL-SERVICES": true, "KUBE-PROXY-FIREWALL": true}
