package datapath_test

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/netlab/netlab/datapath"
	"github.com/netlab/netlab/datapath/debian"
	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/topology"
)

func labels(key, value string) topology.SelectorSpec {
	return topology.SelectorSpec{Set: true, MatchLabels: map[string]string{key: value}, Origin: at(60)}
}

// guarded is a lab with policies of every kind: with pods, blocks and named ports, in
// both directions and of all tiers.
func guarded(style string) topology.Spec {
	ports := func(list ...topology.PolicyPortSpec) []topology.PolicyPortSpec { return list }
	number := func(port, proto string) topology.PolicyPortSpec {
		return topology.PolicyPortSpec{Port: set(port), Protocol: set(proto), Origin: at(62)}
	}
	blocks := topology.PeerSpec{Block: set(netip.MustParsePrefix("10.0.0.0/8")), Origin: at(63),
		Except: []topology.Opt[netip.Prefix]{set(netip.MustParsePrefix("10.244.2.0/24"))}}
	allPods := topology.PeerSpec{NamespaceSelector: topology.SelectorSpec{Set: true, Origin: at(64)}, Origin: at(64)}
	high := number("8000", "tcp")
	high.EndPort = set(8999)
	return topology.Spec{
		Network:       topology.NetworkSpec{Mode: set("host-gw"), Origin: at(1)},
		PolicyOptions: topology.PoliciesSpec{Style: set(style), Deny: set("reject"), Origin: at(2)},
		Nodes:         nodes("node1", "node2"),
		Pods:          []topology.PodSpec{pod("web", 0, "node1"), pod("db", 0, "node1"), pod("web", 1, "node2")},
		Policies: []topology.PolicySpec{{
			Name: "db", PodSelector: labels("app", "db"), Origin: at(50),
			Ingress: []topology.PolicyRuleSpec{
				{Peers: []topology.PeerSpec{{PodSelector: labels("app", "web"), Origin: at(51)}}, Ports: ports(number("http", "tcp")), Origin: at(51)},
				{Peers: []topology.PeerSpec{blocks}, Ports: ports(high, number("53", "udp")), Origin: at(52)}},
			Egress: []topology.PolicyRuleSpec{{Ports: ports(number("53", "udp")), Origin: at(53)}},
		}},
		ClusterPolicies: []topology.ClusterPolicySpec{
			{Name: "limits", Tier: set("Admin"), Priority: set(10), Subject: allPods, Origin: at(70), Ingress: []topology.PolicyRuleSpec{
				{Name: "leave", Action: set("Pass"), Peers: []topology.PeerSpec{{PodSelector: labels("app", "db"), NamespaceSelector: allPods.NamespaceSelector, Origin: at(71)}}, Origin: at(71)},
				{Name: "no-telnet", Action: set("Deny"), Peers: []topology.PeerSpec{allPods}, Ports: ports(number("23", "tcp")), Origin: at(72)}}},
			{Name: "closed", Tier: set("Baseline"), Priority: set(1), Subject: allPods, Origin: at(73), Egress: []topology.PolicyRuleSpec{
				{Action: set("Deny"), Peers: []topology.PeerSpec{{Networks: set([]netip.Prefix{netip.MustParsePrefix("203.0.113.0/24")}), Origin: at(74)}}, Origin: at(74)}}}},
	}
}

// Policies have the same rules and sets whether netlab or an agent balances services, whatever they
// know of virtual servers.
func TestPoliciesAreTheSameBesideAnAgent(t *testing.T) {
	for _, style := range datapath.Styles() {
		spec := guarded(style.Name)
		spec.Proxy.Mode, spec.PolicyOptions.HostEgress = set("ipvs"), set("enforce")
		spec.ClusterPolicies = nil // which not every style has
		spec.Services = []topology.ServiceSpec{service("web", func(s *topology.ServiceSpec) { s.Type = set("NodePort") })}
		lab := resolved(t, spec)
		ours := ofPolicies(compiled(t, lab))
		datapath.UseKubeProxy(lab, "kube-proxy")
		beside := ofPolicies(compiled(t, lab))
		if len(ours) == 0 && !style.Ignores || !slices.Equal(ours, beside) {
			t.Errorf("%s: rules and sets:\n%s\nbeside an agent:\n%s", style.Name, strings.Join(ours, "\n"), strings.Join(beside, "\n"))
		}
	}
}

// ofPolicies are the lines of a plan that come from policies.
func ofPolicies(p *plan.Plan) (list []string) {
	add := func(o plan.Origin, words ...string) {
		if o.Object == "policies" || strings.HasPrefix(o.Object, "policy.") {
			list = append(list, strings.Join(words, " "))
		}
	}
	for i := range p.Netns {
		n := &p.Netns[i]
		for _, t := range n.Tables {
			for _, c := range t.Chains {
				for _, r := range c.Rules {
					add(r.Origin, n.Name, t.Name, c.Name, r.Save())
				}
			}
		}
		for _, t := range n.NFT {
			for _, c := range t.Chains {
				for _, r := range c.Rules {
					add(r.Origin, n.Name, t.Name, c.Name, r.Words())
				}
			}
		}
		for _, s := range n.Sets {
			add(s.Origin, n.Name, s.Name)
		}
	}
	return list
}

// Changing a label that removes a pod from a rule changes one element of one set on
// each node with the rule, and nothing else.
func TestALabelChangesOneElementOfNFTables(t *testing.T) {
	before := compile(t, guarded("nftables"))
	spec := guarded("nftables")
	spec.Pods[2].Labels = map[string]string{"app": "other"}
	changes := plan.Diff(before, compile(t, spec))
	if len(changes.Create)+len(changes.Remove) > 0 || len(changes.Edit) != 1 {
		t.Fatalf("changes:\n%s", strings.Join(changes.Lines(), "\n"))
	}
	e := changes.Edit[0]
	if e.Netns != "node.node1" || len(e.NFT) != 1 || len(e.Tables)+len(e.Sets)+len(e.Add.Sets)+len(e.Delete.Sets) > 0 {
		t.Fatalf("changes:\n%s", strings.Join(changes.Lines(), "\n"))
	}
	x := e.NFT[0]
	if len(x.Chains)+len(x.Renew)+len(x.Sets)+len(x.DeleteSets)+len(x.DeleteChains) > 0 || len(x.Elements) != 1 ||
		len(x.Elements[0].Add) > 0 || len(x.Elements[0].Delete) != 1 {
		t.Errorf("changes:\n%v", x.Commands())
	}
}

// Changes of policies, pasted one after the other, lead to the tables of the last lab.
func TestChangesOfPoliciesCanBePasted(t *testing.T) {
	debian.Require(t, "unshare", "nft")
	spec := guarded("nftables")
	have := compile(t, spec)
	script := string(have.Text())
	for _, change := range []func(){
		func() { spec.Pods[2].Labels = map[string]string{"app": "db"} },
		func() { spec.Policies[0].Ingress = spec.Policies[0].Ingress[1:] },
		func() { spec.ClusterPolicies = nil },
		func() { spec.Policies[0].Egress = nil },
		func() { spec.PolicyOptions.Deny = set("drop") },
		func() { spec.PolicyOptions.HostEgress = set("enforce") },
	} {
		change()
		want := compile(t, spec)
		script += strings.Join(plan.Diff(have, want).Lines(), "\n") + "\n"
		have = want
	}
	show := "for n in node.node1 node.node2; do ip netns exec $n nft -nn list tables; ip netns exec $n nft -nn list table inet network-policies; done\n"
	got, fresh := pasteLines(t, script+show), pasteLines(t, string(have.Text())+show)
	slices.Sort(got) // chains and sets are listed in the order of their creation
	slices.Sort(fresh)
	if !slices.Equal(got, fresh) {
		t.Errorf("step by step\n%s\nfrom scratch\n%s", strings.Join(got, "\n"), strings.Join(fresh, "\n"))
	}
}
