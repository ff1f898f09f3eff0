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
				{Name: "FLANNEL-POSTRTG", Rules: masqueradeRules(lab, cluster, n.PodCIDRs[i], NodeOrigin(n))},
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
//
// flannel masquerades what a pod sends to another node, too. Other pod networks do
// not, and the lab can ask for their behaviour: then pods keep their address towards
// every node and every pod, wherever the packet passes, by rules before the fifth.
func masqueradeRules(lab *topology.Lab, cluster, pods netip.Prefix, o plan.Origin) []plan.Rule {
	multicast := netip.MustParsePrefix("224.0.0.0/4")
	if cluster.Addr().Is6() {
		multicast = netip.MustParsePrefix("ff00::/8")
	}
	from := func(p netip.Prefix) plan.Match { return plan.Src{Prefix: p} }
	notFrom := func(p netip.Prefix) plan.Match { return plan.Src{Prefix: p, Not: true} }
	to := func(p netip.Prefix) plan.Match { return plan.Dst{Prefix: p} }
	notTo := func(p netip.Prefix) plan.Match { return plan.Dst{Prefix: p, Not: true} }
	masq := plan.Masquerade{RandomFully: true}
	type row struct {
		matches []plan.Match
		target  plan.Target
	}
	rows := []row{
		{[]plan.Match{plan.Mark{Value: serviceMark, Mask: serviceMark}}, plan.Return{}},
		{[]plan.Match{from(pods), to(cluster)}, plan.Return{}},
		{[]plan.Match{from(cluster), to(pods)}, plan.Return{}},
		{[]plan.Match{notFrom(cluster), to(pods)}, plan.Return{}},
	}
	if lab.Network.KeepSourceToNodes {
		// Neither does it rewrite what a node sends on from a pod to a pod.
		rows = append(rows, row{[]plan.Match{from(cluster), to(cluster)}, plan.Return{}})
		for _, addr := range nodeAddrs(lab, cluster.Addr().Is6()) {
			rows = append(rows, row{[]plan.Match{from(cluster), to(netip.PrefixFrom(addr, addr.BitLen()))}, plan.Return{}})
		}
	}
	rows = append(rows,
		row{[]plan.Match{from(cluster), notTo(multicast)}, masq},
		row{[]plan.Match{notFrom(cluster), to(cluster)}, masq})
	rules := make([]plan.Rule, 0, len(rows))
	for _, r := range rows {
		rules = append(rules, plan.Rule{Matches: append(r.matches, plan.Comment{Text: "flanneld masq"}), Target: r.target, Origin: o})
	}
	return rules
}

// nodeAddrs are the addresses of all nodes in one family.
func nodeAddrs(lab *topology.Lab, ipv6 bool) []netip.Addr {
	var out []netip.Addr
	for _, n := range lab.Nodes {
		for _, a := range n.Addrs {
			if a.Is6() == ipv6 {
				out = append(out, a)
			}
		}
	}
	return out
}

func forwardRules(cluster netip.Prefix, o plan.Origin) []plan.Rule {
	comment := plan.Comment{Text: "flanneld forward"}
	return []plan.Rule{
		{Matches: []plan.Match{plan.Src{Prefix: cluster}, comment}, Target: plan.Accept{}, Origin: o},
		{Matches: []plan.Match{plan.Dst{Prefix: cluster}, comment}, Target: plan.Accept{}, Origin: o},
	}
}
