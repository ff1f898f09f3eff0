package podnet

import (
	"net/netip"

	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/topology"
)

// serviceMark is the bit with which service rules ask for masquerade themselves.
const serviceMark = 0x4000

// masquerade adds flannel's chains: packets that leave the cluster's pods get the
// node's address, packets between pods keep theirs, and the node forwards both
// even where the policy of FORWARD is DROP.
//
// The translation also turns on connection tracking in the node from its first
// packet on, whether or not there are services: a connection that began untracked
// could not be translated later.
func masquerade(out *plan.Netns, lab *topology.Lab, n *topology.Node) {
	for i, cluster := range lab.Network.PodCIDRs {
		ipv6 := cluster.Addr().Is6()
		out.Tables = append(out.Tables,
			plan.Table{IPv6: ipv6, Name: "nat", Chains: []plan.Chain{
				hook("POSTROUTING", "flanneld masq", "FLANNEL-POSTRTG", NetworkOrigin(lab)),
				{Name: "FLANNEL-POSTRTG", Rules: masqueradeRules(cluster, n.PodCIDRs[i], NodeOrigin(n))},
			}},
			plan.Table{IPv6: ipv6, Name: "filter", Chains: []plan.Chain{
				hook("FORWARD", "flanneld forward", "FLANNEL-FWD", NetworkOrigin(lab)),
				{Name: "FLANNEL-FWD", Rules: forwardRules(cluster, NetworkOrigin(lab))},
			}})
	}
}

func hook(chain, comment, to string, o plan.Origin) plan.Chain {
	return plan.Chain{Name: chain, Policy: "ACCEPT", Rules: []plan.Rule{{
		Matches: []plan.Match{plan.Comment{Text: comment}}, Target: plan.Jump{Chain: to}, Origin: o}}}
}

// masqueradeRules are the rules of FLANNEL-POSTRTG, in flannel's order. The fourth
// keeps the address of an outside client on its way to a pod of this node (traffic
// policy Local); the last rewrites it on its way to another node, whose reply would
// else go out by that node's own default route.
func masqueradeRules(cluster, pods netip.Prefix, o plan.Origin) []plan.Rule {
	multicast := netip.MustParsePrefix("224.0.0.0/4")
	if cluster.Addr().Is6() {
		multicast = netip.MustParsePrefix("ff00::/8")
	}
	from := func(p netip.Prefix) plan.Match { return plan.Src{Prefix: p} }
	notFrom := func(p netip.Prefix) plan.Match { return plan.Src{Prefix: p, Not: true} }
	to := func(p netip.Prefix) plan.Match { return plan.Dst{Prefix: p} }
	notTo := func(p netip.Prefix) plan.Match { return plan.Dst{Prefix: p, Not: true} }
	masq := plan.Masquerade{RandomFully: true}
	rows := []struct {
		matches []plan.Match
		target  plan.Target
	}{
		{[]plan.Match{plan.Mark{Value: serviceMark, Mask: serviceMark}}, plan.Return{}},
		{[]plan.Match{from(pods), to(cluster)}, plan.Return{}},
		{[]plan.Match{from(cluster), to(pods)}, plan.Return{}},
		{[]plan.Match{notFrom(cluster), to(pods)}, plan.Return{}},
		{[]plan.Match{from(cluster), notTo(multicast)}, masq},
		{[]plan.Match{notFrom(cluster), to(cluster)}, masq},
	}
	rules := make([]plan.Rule, 0, len(rows))
	for _, r := range rows {
		rules = append(rules, plan.Rule{Matches: append(r.matches, plan.Comment{Text: "flanneld masq"}), Target: r.target, Origin: o})
	}
	return rules
}

func forwardRules(cluster netip.Prefix, o plan.Origin) []plan.Rule {
	comment := plan.Comment{Text: "flanneld forward"}
	return []plan.Rule{
		{Matches: []plan.Match{plan.Src{Prefix: cluster}, comment}, Target: plan.Accept{}, Origin: o},
		{Matches: []plan.Match{plan.Dst{Prefix: cluster}, comment}, Target: plan.Accept{}, Origin: o},
	}
}
