package suite_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/datapath/walk"
)

// A comparison that nothing fails is worth nothing: each of these mistakes in the
// rules of random labs has to be noticed.
func TestMistakesInRulesAreNoticed(t *testing.T) {
	const enough = 110 // labs
	var labs []*built
	for seed := range uint64(enough) {
		b, err := randomScript(seed + 1).build(t)
		if err != nil {
			t.Fatal(err)
		}
		labs = append(labs, b)
	}
	in := func(prefix string, is func(plan.Rule) bool) mistake {
		return func(chain string, r plan.Rule) bool { return strings.HasPrefix(chain, prefix) && is(r) }
	}
	marks := func(r plan.Rule) bool { return r.Target == plan.Target(plan.Jump{Chain: "KUBE-MARK-MASQ"}) }
	drops := func(r plan.Rule) bool { return r.Target == plan.Target(plan.Drop{}) }
	rejects := func(r plan.Rule) bool { _, ok := r.Target.(plan.Reject); return ok }
	returns := func(r plan.Rule) bool { return r.Target == plan.Target(plan.Return{}) }
	masquerades := func(r plan.Rule) bool { _, ok := r.Target.(plan.Masquerade); return ok }
	every := func(plan.Rule) bool { return true }
	leadsTo := func(prefix string) func(plan.Rule) bool {
		return func(r plan.Rule) bool { j, ok := r.Target.(plan.Jump); return ok && strings.HasPrefix(j.Chain, prefix) }
	}
	asks := func(set string) func(plan.Rule) bool {
		return func(r plan.Rule) bool {
			return slices.ContainsFunc(r.Matches, func(m plan.Match) bool { s, ok := m.(plan.MatchSet); return ok && s.Set == set })
		}
	}
	both := func(a, b func(plan.Rule) bool) func(plan.Rule) bool {
		return func(r plan.Rule) bool { return a(r) && b(r) }
	}
	for name, wrong := range map[string]mistake{
		"no masquerade of endpoints that reach themselves": in("KUBE-SEP-", marks),
		"no masquerade of external traffic":                in("KUBE-EXT-", marks),
		"no masquerade to cluster IPs":                     in("KUBE-SVC-", marks),
		"no short cut":                                     in("KUBE-EXT-", leadsTo("KUBE-SVC-")),
		"no local endpoints":                               in("KUBE-EXT-", leadsTo("KUBE-SVL-")),
		"no node ports":                                    in("KUBE-SERVICES", leadsTo("KUBE-NODEPORTS")),
		"no refusal":                                       in("KUBE-", rejects),
		"no firewall of load balancers":                    in("KUBE-PROXY-FIREWALL", drops),
		"no drop without local endpoints":                  in("KUBE-EXTERNAL-SERVICES", drops),
		"no drop within":                                   in("KUBE-SERVICES", drops),
		"no masquerade by services":                        in("KUBE-POSTROUTING", masquerades),
		"no masquerade by the pod network":                 in("FLANNEL-POSTRTG", masquerades),
		"masquerade of pods to pods":                       in("FLANNEL-POSTRTG", returns),
		"no external services in INPUT":                    in("INPUT", leadsTo("KUBE-EXTERNAL-SERVICES")),
		"no external services in FORWARD":                  in("FORWARD", leadsTo("KUBE-EXTERNAL-SERVICES")),
		"no services in OUTPUT":                            in("OUTPUT", leadsTo("KUBE-SERVICES")),

		"ipvs: no masquerade of endpoints that reach themselves": in("KUBE-POSTROUTING", asks("KUBE-LOOP-BACK")),
		"ipvs: no masquerade to cluster IPs":                     in("KUBE-SERVICES", both(marks, asks("KUBE-CLUSTER-IP"))),
		"ipvs: no masquerade to external IPs":                    in("KUBE-SERVICES", both(marks, asks("KUBE-EXTERNAL-IP"))),
		"ipvs: no masquerade to load balancers":                  in("KUBE-LOAD-BALANCER", marks),
		"ipvs: policy Local means nothing to load balancers":     in("KUBE-LOAD-BALANCER", returns),
		"ipvs: no masquerade to node ports":                      in("KUBE-NODE-PORT", marks),
		"ipvs: policy Local means nothing to node ports":         in("KUBE-NODE-PORT", returns),
		"ipvs: no source ranges":                                 in("KUBE-PROXY-FIREWALL", asks("KUBE-LOAD-BALANCER-FW")),
		"ipvs: source ranges let nobody in":                      in("KUBE-SOURCE-RANGES-FIREWALL", returns),
		"ipvs: source ranges do not keep the node out":           in("KUBE-IPVS-OUT-FILTER", every),
		"ipvs: the host's ports are at every address":            in("KUBE-IPVS-FILTER", rejects),
		"ipvs: no address has its ports":                         in("KUBE-IPVS-FILTER", returns),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, b := range labs {
				damaged := *b
				damaged.plan = wrong.without(b.plan)
				damaged.world = walk.New(damaged.plan)
				if _, found := damaged.disputed(); found {
					return
				}
			}
			t.Errorf("nobody notices in %d labs", enough)
		})
	}
}

// mistake says which rules are missing.
type mistake func(chain string, r plan.Rule) bool

func (wrong mistake) without(p *plan.Plan) *plan.Plan {
	out := *p
	out.Netns = slices.Clone(p.Netns)
	for i := range out.Netns {
		n := &out.Netns[i]
		n.Tables = slices.Clone(n.Tables)
		for j := range n.Tables {
			table := &n.Tables[j]
			table.Chains = slices.Clone(table.Chains)
			for k := range table.Chains {
				c := &table.Chains[k]
				c.Rules = slices.DeleteFunc(slices.Clone(c.Rules), func(r plan.Rule) bool { return wrong(c.Name, r) })
			}
		}
	}
	return &out
}
