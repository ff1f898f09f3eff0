package calico

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/netlab/netlab/datapath/policy"
	"github.com/netlab/netlab/topology"
)

// database is a lab in which one label opens a database, as articles show it.
func database() *topology.Lab {
	lab := &topology.Lab{Network: topology.Network{PodCIDRs: []netip.Prefix{netip.MustParsePrefix("10.88.0.0/16")}}}
	node := &topology.Node{Name: "minikube"}
	pod := func(name, link, addr string) *topology.Pod {
		p := &topology.Pod{Name: name, Namespace: "default", Node: node, HostLink: link, Addrs: []netip.Addr{netip.MustParseAddr(addr)}}
		node.Pods, lab.Pods = append(node.Pods, p), append(lab.Pods, p)
		return p
	}
	backend := pod("backend", "cali2b1490aa46a", "10.88.0.27")
	db := pod("db", "cali95aa86cbb2a", "10.88.0.26")
	lab.Nodes = []*topology.Node{node}
	labelled := topology.SelectorSpec{Set: true, MatchLabels: map[string]string{"networking/allow-db-access": "true"}}
	lab.Policies = []*topology.Policy{{Name: "allow-db-access", Namespace: "default", Pods: []*topology.Pod{db},
		Ingress: topology.Direction{Isolates: true, Rules: []topology.PolicyRule{{Peers: []topology.PolicyPeer{{Pods: []*topology.Pod{backend}, PodSelector: labelled}}}}}}}
	return lab
}

// The rules are those of a cluster, down to the hashes: the dump is one of Calico 3.16. The hash
// of the third rule follows from Felix's sources: the dump leaves that rule out.
func TestRulesAreCalicosToTheLetter(t *testing.T) {
	const dump = `
-A cali-tw-cali95aa86cbb2a -m comment --comment "cali:eCrqwxNk3cKw9Eq6" -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT
-A cali-tw-cali95aa86cbb2a -m comment --comment "cali:_krp5nzavhAu5avJ" -m conntrack --ctstate INVALID -j DROP
-A cali-tw-cali95aa86cbb2a -m comment --comment "cali:Cu-tVtfKKu413YTT" -j MARK --set-xmark 0x0/0x10000
-A cali-tw-cali95aa86cbb2a -m comment --comment "cali:leBL64hpAXM9y4nk" -m comment --comment "Start of policies" -j MARK --set-xmark 0x0/0x20000
-A cali-tw-cali95aa86cbb2a -m comment --comment "cali:pm-LK-c1ra31tRwz" -m mark --mark 0x0/0x20000 -j cali-pi-_tTE-E7yY40ogArNVgKt
-A cali-tw-cali95aa86cbb2a -m comment --comment "cali:q_zG8dAujKUIBe0Q" -m comment --comment "Return if policy accepted" -m mark --mark 0x10000/0x10000 -j RETURN
-A cali-tw-cali95aa86cbb2a -m comment --comment "cali:FUDVBYh1Yr6tVRgq" -m comment --comment "Drop if no policies passed packet" -m mark --mark 0x0/0x20000 -j DROP
-A cali-pi-_tTE-E7yY40ogArNVgKt -m comment --comment "cali:M4Und37HGrw6jUk8" -m set --match-set cali40s:LrVD8vMIGQDyv8Y7sPFB1Ge src -j MARK --set-xmark 0x10000/0x10000
-A cali-pi-_tTE-E7yY40ogArNVgKt -m comment --comment "cali:sEnlfZagUFRSPRoe" -m mark --mark 0x10000/0x10000 -j RETURN
`
	n, err := compile(policy.Views(database())[0])
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, chain := range []string{"cali-tw-cali95aa86cbb2a", "cali-pi-_tTE-E7yY40ogArNVgKt"} {
		for _, c := range n.Tables[0].Chains {
			for i := range c.Rules {
				if c.Name == chain {
					got = append(got, "-A "+chain+" "+c.Rules[i].Save())
				}
			}
		}
	}
	if d := cmp.Diff(strings.Split(strings.TrimSpace(dump), "\n"), got); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
	if len(n.Sets) != 1 || n.Sets[0].Name != "cali40s:LrVD8vMIGQDyv8Y7sPFB1Ge" {
		t.Errorf("sets: %v", n.Sets)
	}
}

// Rules that select the same share a set, whoever's policy they are in.
func TestEqualSelectorsShareASet(t *testing.T) {
	lab := database()
	again := *lab.Policies[0]
	again.Name = "again"
	lab.Policies = append(lab.Policies, &again)
	n, err := compile(policy.Views(lab)[0])
	if err != nil {
		t.Fatal(err)
	}
	if len(n.Sets) != 1 {
		t.Errorf("sets: %v", n.Sets)
	}
}

func TestSelectorsAreWrittenAsFelixPrintsThem(t *testing.T) {
	expr := func(key, op string, values ...string) topology.ExpressionSpec {
		return topology.ExpressionSpec{Key: topology.Opt[string]{Value: key, Set: true}, Operator: topology.Opt[string]{Value: op, Set: true}, Values: topology.Opt[[]string]{Value: values, Set: true}}
	}
	sel := func(labels map[string]string, exprs ...topology.ExpressionSpec) topology.SelectorSpec {
		return topology.SelectorSpec{Set: true, MatchLabels: labels, Expressions: exprs}
	}
	const orchestrator = `projectcalico.org/orchestrator == "k8s"`
	for _, row := range []struct {
		pods, namespaces topology.SelectorSpec
		want             string
	}{
		{sel(nil), topology.SelectorSpec{}, `(projectcalico.org/namespace == "shop" && ` + orchestrator + `)`},
		{sel(map[string]string{"b": "2", "a": "1"}), topology.SelectorSpec{}, `(projectcalico.org/namespace == "shop" && (` + orchestrator + ` && a == "1" && b == "2"))`},
		{topology.SelectorSpec{}, sel(nil), `(has(projectcalico.org/namespace) && ` + orchestrator + `)`},
		{topology.SelectorSpec{}, sel(map[string]string{"team": "x"}, expr("env", "Exists")), `((pcns.team == "x" && has(pcns.env)) && ` + orchestrator + `)`},
		{sel(nil, expr("tier", "In", "web", "db"), expr("old", "DoesNotExist"), expr("zone", "NotIn", "a")), sel(map[string]string{"team": "x"}),
			`(pcns.team == "x" && (` + orchestrator + ` && tier in {"db", "web"} && !has(old) && zone not in {"a"}))`},
	} {
		if got := selectorText("shop", &topology.PolicyPeer{PodSelector: row.pods, NamespaceSelector: row.namespaces}); got != row.want {
			t.Errorf("got  %s\nwant %s", got, row.want)
		}
	}
}

// A pod's packets to itself go past all policies, those to others do not.
func TestWhatAPodSendsToItselfReturns(t *testing.T) {
	n, err := compile(policy.Views(database())[0])
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range n.Tables[0].Chains {
		if c.Name != to {
			continue
		}
		var got []string
		for i := range c.Rules {
			_, rest, _ := strings.Cut(c.Rules[i].Save(), "-m comment")
			_, rest, _ = strings.Cut(rest, `" `)
			got = append(got, strings.TrimSpace(c.Rules[i].Save()[:strings.Index(c.Rules[i].Save(), "-m comment")]+rest))
		}
		want := []string{"-s 10.88.0.26/32 -d 10.88.0.26/32 -j RETURN", "-d 10.88.0.26/32 -g cali-tw-cali95aa86cbb2a"}
		if !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
