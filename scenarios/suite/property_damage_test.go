package suite_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/netlab/netlab/datapath"
	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/datapath/plan/iptables"
	"github.com/netlab/netlab/datapath/walk"
)

// A comparison that never fails is worthless: each of these mistakes in the rules of
// random labs must be noticed.
func TestMistakesInRulesAreNoticed(t *testing.T) {
	// In the first, what a load balancer does not admit would reach somebody.
	chosen := []uint64{533}
	for seed := range uint64(110) {
		chosen = append(chosen, seed+1)
	}
	var labs []*built
	for _, seed := range chosen {
		b, err := randomIn(seed, datapath.ClusterModes()).build(t)
		if err != nil {
			t.Fatal(err)
		}
		labs = append(labs, b)
	}
	in := func(prefix string, is func(iptables.Rule) bool) mistake {
		return func(chain string, r iptables.Rule) bool { return strings.HasPrefix(chain, prefix) && is(r) }
	}
	marks := func(r iptables.Rule) bool { return r.Target == iptables.Target(iptables.Jump{Chain: "KUBE-MARK-MASQ"}) }
	drops := func(r iptables.Rule) bool { return r.Target == iptables.Target(iptables.Drop{}) }
	rejects := func(r iptables.Rule) bool { _, ok := r.Target.(iptables.Reject); return ok }
	returns := func(r iptables.Rule) bool { return r.Target == iptables.Target(iptables.Return{}) }
	masquerades := func(r iptables.Rule) bool { _, ok := r.Target.(iptables.Masquerade); return ok }
	every := func(iptables.Rule) bool { return true }
	leadsTo := func(prefix string) func(iptables.Rule) bool {
		return func(r iptables.Rule) bool {
			j, ok := r.Target.(iptables.Jump)
			return ok && strings.HasPrefix(j.Chain, prefix)
		}
	}
	matchesSet := func(set string) func(iptables.Rule) bool {
		return func(r iptables.Rule) bool {
			return slices.ContainsFunc(r.Matches, func(m iptables.Match) bool { s, ok := m.(iptables.MatchSet); return ok && s.Set == set })
		}
	}
	both := func(a, b func(iptables.Rule) bool) func(iptables.Rule) bool {
		return func(r iptables.Rule) bool { return a(r) && b(r) }
	}
	for name, wrong := range map[string]mistake{
		"no masquerade of hairpins":         in("KUBE-SEP-", marks),
		"no masquerade of external traffic": in("KUBE-EXT-", marks),
		"no masquerade to cluster IPs":      in("KUBE-SVC-", marks),
		"no short circuit":                  in("KUBE-EXT-", leadsTo("KUBE-SVC-")),
		"no local endpoints":                in("KUBE-EXT-", leadsTo("KUBE-SVL-")),
		"no node ports":                     in("KUBE-SERVICES", leadsTo("KUBE-NODEPORTS")),
		"no refusal":                        in("KUBE-", rejects),
		"no firewall of load balancers":     in("KUBE-PROXY-FIREWALL", drops),
		"no drop without local endpoints":   in("KUBE-EXTERNAL-SERVICES", drops),
		"no masquerade by services":         in("KUBE-POSTROUTING", masquerades),
		"no masquerade by the pod network":  in("FLANNEL-POSTRTG", masquerades),
		"masquerade of pods to pods":        in("FLANNEL-POSTRTG", returns),
		"no external services in INPUT":     in("INPUT", leadsTo("KUBE-EXTERNAL-SERVICES")),
		"no external services in FORWARD":   in("FORWARD", leadsTo("KUBE-EXTERNAL-SERVICES")),
		"no services in OUTPUT":             in("OUTPUT", leadsTo("KUBE-SERVICES")),
		"no host ports":                     in("CNI-HOSTPORT-DNAT", every),
		"no host ports in OUTPUT":           in("OUTPUT", leadsTo("CNI-HOSTPORT-DNAT")),
		"no masquerade to host ports":       in("CNI-DN-", leadsTo("CNI-HOSTPORT-SETMARK")),

		"ipvs: no masquerade of hairpins":                      in("KUBE-POSTROUTING", matchesSet("KUBE-LOOP-BACK")),
		"ipvs: no masquerade to cluster IPs":                   in("KUBE-SERVICES", both(marks, matchesSet("KUBE-CLUSTER-IP"))),
		"ipvs: no masquerade to external IPs":                  in("KUBE-SERVICES", both(marks, matchesSet("KUBE-EXTERNAL-IP"))),
		"ipvs: no masquerade to load balancers":                in("KUBE-LOAD-BALANCER", marks),
		"ipvs: policy Local ignored for load balancers":        in("KUBE-LOAD-BALANCER", returns),
		"ipvs: no masquerade to node ports":                    in("KUBE-NODE-PORT", marks),
		"ipvs: policy Local ignored for node ports":            in("KUBE-NODE-PORT", returns),
		"ipvs: no source ranges":                               in("KUBE-PROXY-FIREWALL", matchesSet("KUBE-LOAD-BALANCER-FW")),
		"ipvs: source ranges admit nothing":                    in("KUBE-SOURCE-RANGES-FIREWALL", returns),
		"ipvs: source ranges do not keep the node out":         in("KUBE-IPVS-OUT-FILTER", every),
		"ipvs: the node's ports are open at service addresses": in("KUBE-IPVS-FILTER", rejects),
		"ipvs: service ports are refused":                      in("KUBE-IPVS-FILTER", returns),
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
			t.Errorf("not noticed in %d labs", len(labs))
		})
	}
}

// mistake reports whether a rule is to be removed.
type mistake func(chain string, r iptables.Rule) bool

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
				c.Rules = slices.DeleteFunc(slices.Clone(c.Rules), func(r iptables.Rule) bool { return wrong(c.Name, r) })
			}
		}
	}
	return &out
}
