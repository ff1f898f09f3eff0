package suite_test

import (
	"fmt"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/netlab/netlab/datapath"
	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/datapath/plan/iptables"
	"github.com/netlab/netlab/datapath/plan/ipvs"
	"github.com/netlab/netlab/reports"
	"github.com/netlab/netlab/scenarios/language"
	"github.com/netlab/netlab/scenarios/suite"
)

// issues are what the scenarios about Kubernetes issues are about, and how to take it away: a
// scenario that holds without proves nothing.
var issues = map[string]struct {
	about   string
	without func(p *plan.Plan) int // how many things it took away
}{
	"k8s-59368-udp-node-port": {"one rule for each endpoint", func(p *plan.Plan) int {
		return rulesWithout(p, func(chain, rule string) bool {
			return strings.HasPrefix(chain, "KUBE-SVC-") && strings.Contains(rule, "--mode random")
		})
	}},
	"k8s-65387-local-policy-from-inside": {"pods are sent to all endpoints", func(p *plan.Plan) int {
		return rulesWithout(p, func(_, rule string) bool { return strings.Contains(rule, `"pod traffic for `) })
	}},
	"k8s-66354-local-policy-nodes-without-pods": {"processes of the node are sent to all endpoints", func(p *plan.Plan) int {
		return rulesWithout(p, func(_, rule string) bool { return strings.Contains(rule, `"route LOCAL traffic for `) })
	}},
	"k8s-71596-ipvs-every-node": {"virtual servers have their node's endpoints only", everyReal},
	"k8s-71596-local-policy-every-node": {"outside connections go to their node's endpoints only", func(p *plan.Plan) (n int) {
		eachRule(p, func(r *iptables.Rule) {
			if j, ok := r.Target.(iptables.Jump); ok && strings.HasPrefix(j.Chain, "KUBE-SVL-") {
				r.Target = iptables.Jump{Chain: "KUBE-SVC-" + strings.TrimPrefix(j.Chain, "KUBE-SVL-")}
				n++
			}
		})
		return n
	}},
	"k8s-72236-ipvs-host-ports": {"KUBE-IPVS-FILTER", func(p *plan.Plan) int {
		return rulesWithout(p, func(chain, _ string) bool { return chain == "KUBE-IPVS-FILTER" })
	}},
	"k8s-74839-invalid-packets": {"KUBE-FORWARD drops invalid packets", func(p *plan.Plan) int {
		return rulesWithout(p, func(_, rule string) bool { return strings.Contains(rule, "--ctstate INVALID") })
	}},
	"k8s-75262-ipvs-no-local-endpoints": {"a node without endpoints has those of all", func(p *plan.Plan) (n int) {
		for i := range p.Netns {
			if p.Netns[i].Name != "node.node2" {
				continue
			}
			for j := range p.Netns[i].Virtual {
				n += len(p.Netns[i].Virtual[j].Real)
				p.Netns[i].Virtual[j].Real = nil
			}
		}
		return n
	}},
	"k8s-90259-localhost-services": {"KUBE-FIREWALL", func(p *plan.Plan) int {
		return rulesWithout(p, func(chain, _ string) bool { return chain == "KUBE-FIREWALL" })
	}},
	"k8s-93456-ipvs-host-network": {"the load balancer's address is local on the endpoint's node, too", func(p *plan.Plan) (n int) {
		vip := netip.MustParseAddr("203.0.113.10")
		for i := range p.Netns {
			if p.Netns[i].Name == "node.node1" {
				n = len(p.Netns[i].Addrs)
				p.Netns[i].Addrs = slices.DeleteFunc(p.Netns[i].Addrs, func(a plan.Addr) bool { return a.Prefix.Addr() == vip })
				n -= len(p.Netns[i].Addrs)
			}
		}
		return n
	}},
	"k8s-100698-switched-endpoints": {"endpoints are those of the selector", func(p *plan.Plan) (n int) {
		eachRule(p, func(r *iptables.Rule) {
			if to, ok := r.Target.(iptables.DNAT); ok {
				r.Target, n = iptables.DNAT{To: netip.AddrPortFrom(to.To.Addr(), to.To.Port()+1)}, n+1
			}
		})
		return n
	}},
}

func eachRule(p *plan.Plan, f func(*iptables.Rule)) {
	for i := range p.Netns {
		for j := range p.Netns[i].Tables {
			for k := range p.Netns[i].Tables[j].Chains {
				for l := range p.Netns[i].Tables[j].Chains[k].Rules {
					f(&p.Netns[i].Tables[j].Chains[k].Rules[l])
				}
			}
		}
	}
}

// rulesWithout removes rules.
func rulesWithout(p *plan.Plan, gone func(chain, rule string) bool) (n int) {
	for i := range p.Netns {
		for j := range p.Netns[i].Tables {
			for k := range p.Netns[i].Tables[j].Chains {
				c := &p.Netns[i].Tables[j].Chains[k]
				n += len(c.Rules)
				c.Rules = slices.DeleteFunc(c.Rules, func(r iptables.Rule) bool { return gone(c.Name, r.Save()) })
				n -= len(c.Rules)
			}
		}
	}
	return n
}

// everyReal gives each virtual server the real servers of all nodes.
func everyReal(p *plan.Plan) (n int) {
	all := map[netip.AddrPort][]ipvs.Real{}
	each := func(f func(v *ipvs.Server)) {
		for i := range p.Netns {
			for j := range p.Netns[i].Virtual {
				f(&p.Netns[i].Virtual[j])
			}
		}
	}
	each(func(v *ipvs.Server) {
		for _, r := range v.Real {
			if !slices.ContainsFunc(all[v.Addr], func(x ipvs.Real) bool { return x.Addr == r.Addr }) {
				all[v.Addr] = append(all[v.Addr], r)
			}
		}
	})
	each(func(v *ipvs.Server) {
		n += len(all[v.Addr]) - len(v.Real)
		v.Real = all[v.Addr]
	})
	return n
}

func TestScenariosFailWithoutWhatTheyAreAbout(t *testing.T) {
	files, err := filepath.Glob("../issues/k8s-*.hcl")
	if err != nil || len(files) == 0 {
		t.Fatal("no scenarios", err)
	}
	for _, path := range files {
		name := strings.TrimSuffix(filepath.Base(path), ".hcl")
		t.Run(name, func(t *testing.T) {
			issue, known := issues[name]
			if !known {
				t.Fatal("nobody knows what it is about: add to issues, in this file, what to take away")
			}
			if failed := failedOnPaper(t, path, func(*plan.Plan) int { return 1 }); len(failed) > 0 {
				t.Errorf("as it is, it fails on paper: %q", failed)
			}
			if failed := failedOnPaper(t, path, issue.without); len(failed) == 0 {
				t.Errorf("it holds on paper without this: %s", issue.about)
			}
		})
	}
}

// failedOnPaper are the expectations of a scenario that fail on paper once its plan is changed.
func failedOnPaper(t *testing.T, path string, change func(*plan.Plan) int) (failed []string) {
	t.Helper()
	s, diags := language.Load(path, language.Options{Catalogue: datapath.Catalogue()})
	if diags.HasErrors() {
		t.Fatal(fmt.Sprint(diags))
	}
	p, err := datapath.Compile(s.Lab)
	if err != nil {
		t.Fatal(err)
	}
	if change(p) == 0 {
		t.Fatal("there is nothing to take away: the rules have changed")
	}
	for _, r := range suite.Paper(t.Context(), []*suite.Lab{{Path: path, Scenario: s, Plan: p}}).Results {
		if r.Status == reports.Failed {
			failed = append(failed, r.Name)
		}
	}
	return failed
}

// Shares that an article has wrong are told from the right ones, also those that are just a half
// away from them.
func TestSharesAreToldFromWrongOnes(t *testing.T) {
	for path, c := range map[string]struct {
		claim string
		wrong func(p *plan.Plan) int
	}{
		// A third, and a half of all instead of what is left.
		"../tour/05-equal-shares.hcl": {"equal shares", func(p *plan.Plan) (n int) {
			eachRule(p, func(r *iptables.Rule) {
				for i, m := range r.Matches {
					if l, ok := m.(iptables.Random); ok && l.Probability == 0.5 {
						r.Matches[i] = iptables.Random{Probability: 0.75}
						n++
					}
				}
			})
			return n
		}},
		// A quarter for each pod: all are asked on each node.
		"../tour/07-behind-a-balancer.hcl": {"half for one, half for three", func(p *plan.Plan) (n int) {
			eachRule(p, func(r *iptables.Rule) {
				if j, ok := r.Target.(iptables.Jump); ok && strings.HasPrefix(j.Chain, "KUBE-SVL-") {
					r.Target = iptables.Jump{Chain: "KUBE-SVC-" + strings.TrimPrefix(j.Chain, "KUBE-SVL-")}
					n++
				}
			})
			return n
		}},
	} {
		if failed := failedOnPaper(t, path, c.wrong); !slices.Contains(failed, c.claim) {
			t.Errorf("%s: %q holds on paper of other shares", path, c.claim)
		}
	}
}
