package podnet

import (
	"net/netip"

	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/datapath/plan/iptables"
	"github.com/netlab/netlab/topology"
)

// serviceMark is the bit by which service rules request masquerading.
const serviceMark = 0x4000

// FlannelMasquerade adds flannel's chains: packets that leave the cluster's pods get the
// node's address, packets between pods keep theirs, and the node forwards both
// even where the policy of FORWARD is DROP.
//
// The translation also turns on connection tracking in the node from its first
// packet on, whether or not there are services: a connection that began untracked
// could not be translated later.
func FlannelMasquerade(out *plan.Netns, lab *topology.Lab, n *topology.Node) {
	for i, cluster := range lab.Network.PodCIDRs {
		ipv6 := cluster.Addr().Is6()
		nat, filter := iptables.Table{IPv6: ipv6, Name: "nat"}, iptables.Table{IPv6: ipv6, Name: "filter"}
		if lab.Network.FlannelLayout == topology.FlannelOld {
			nat.Chains = []iptables.Chain{{Name: "POSTROUTING", Policy: "ACCEPT", Rules: oldMasqueradeRules(lab, cluster, n.PodCIDRs[i], NodeOrigin(n))}}
			filter.Chains = []iptables.Chain{{Name: "FORWARD", Policy: "ACCEPT", Rules: forwardRules(cluster, NetworkOrigin(lab))}}
		} else {
			nat.Chains = []iptables.Chain{
				hook("POSTROUTING", "flanneld masq", "FLANNEL-POSTRTG", NetworkOrigin(lab)),
				{Name: "FLANNEL-POSTRTG", Rules: masqueradeRules(lab, cluster, n.PodCIDRs[i], NodeOrigin(n))},
			}
			filter.Chains = []iptables.Chain{
				hook("FORWARD", "flanneld forward", "FLANNEL-FWD", NetworkOrigin(lab)),
				{Name: "FLANNEL-FWD", Rules: forwardRules(cluster, NetworkOrigin(lab))},
			}
		}
		join(out, nat)
		join(out, filter)
	}
}

func hook(chain, comment, to string, o plan.Origin) iptables.Chain {
	return iptables.Chain{Name: chain, Policy: "ACCEPT", Rules: []iptables.Rule{{
		Matches: []iptables.Match{iptables.Comment{Text: comment}}, Target: iptables.Jump{Chain: to}, Origin: o}}}
}

// masqueradeRules are the rules of FLANNEL-POSTRTG, in flannel's order. The fourth
// keeps the address of an outside client towards a pod of this node (traffic
// policy Local); the last rewrites it towards another node, whose reply would
// otherwise leave by that node's own default route.
//
// flannel masquerades what a pod sends to another node, too. Other pod networks do
// not, and the lab can choose their behaviour: then pods keep their address towards
// every node and every pod, wherever the packet passes, by rules before the fifth.
func masqueradeRules(lab *topology.Lab, cluster, pods netip.Prefix, o plan.Origin) []iptables.Rule {
	rows := []row{
		{[]iptables.Match{iptables.Mark{Value: serviceMark, Mask: serviceMark}}, iptables.Return{}},
		{[]iptables.Match{from(pods), to(cluster)}, iptables.Return{}},
		{[]iptables.Match{from(cluster), to(pods)}, iptables.Return{}},
		{[]iptables.Match{notFrom(cluster), to(pods)}, iptables.Return{}},
	}
	if lab.Network.KeepSourceToNodes {
		// Neither does it rewrite what a node sends on from a pod to a pod.
		rows = append(rows, row{[]iptables.Match{from(cluster), to(cluster)}, iptables.Return{}})
		rows = append(rows, keptToNodes(lab, cluster)...)
	}
	rows = append(rows,
		row{[]iptables.Match{from(cluster), notTo(multicast(cluster))}, masq},
		row{[]iptables.Match{notFrom(cluster), to(cluster)}, masq})
	return ruled(rows, o, iptables.Comment{Text: "flanneld masq"})
}

// oldMasqueradeRules are flannel's rules until 0.19, in POSTROUTING itself.
func oldMasqueradeRules(lab *topology.Lab, cluster, pods netip.Prefix, o plan.Origin) []iptables.Rule {
	rows := []row{{[]iptables.Match{from(cluster), to(cluster)}, iptables.Return{}}}
	if lab.Network.KeepSourceToNodes {
		rows = append(rows, keptToNodes(lab, cluster)...)
	}
	return ruled(append(rows,
		row{[]iptables.Match{from(cluster), notTo(multicast(cluster))}, masq},
		row{[]iptables.Match{notFrom(cluster), to(pods)}, iptables.Return{}},
		row{[]iptables.Match{notFrom(cluster), to(cluster)}, masq}), o)
}

// row is a rule without its origin.
type row struct {
	matches []iptables.Match
	target  iptables.Target
}

func ruled(rows []row, o plan.Origin, more ...iptables.Match) []iptables.Rule {
	rules := make([]iptables.Rule, 0, len(rows))
	for _, r := range rows {
		rules = append(rules, iptables.Rule{Matches: append(r.matches, more...), Target: r.target, Origin: o})
	}
	return rules
}

// keptToNodes leaves alone what pods send to nodes.
func keptToNodes(lab *topology.Lab, cluster netip.Prefix) (rows []row) {
	for _, n := range lab.Nodes {
		if addr := topology.OfFamily(n.Addrs, cluster.Addr().Is6()); addr.IsValid() {
			rows = append(rows, row{[]iptables.Match{from(cluster), to(topology.Single(addr))}, iptables.Return{}})
		}
	}
	return rows
}

func multicast(cluster netip.Prefix) netip.Prefix {
	if cluster.Addr().Is6() {
		return netip.MustParsePrefix("ff00::/8")
	}
	return netip.MustParsePrefix("224.0.0.0/4")
}

var masq = iptables.Masquerade{RandomFully: true}

func from(p netip.Prefix) iptables.Match    { return iptables.Src{Prefix: p} }
func notFrom(p netip.Prefix) iptables.Match { return iptables.Src{Prefix: p, Not: true} }
func to(p netip.Prefix) iptables.Match      { return iptables.Dst{Prefix: p} }
func notTo(p netip.Prefix) iptables.Match   { return iptables.Dst{Prefix: p, Not: true} }

func forwardRules(cluster netip.Prefix, o plan.Origin) []iptables.Rule {
	comment := iptables.Comment{Text: "flanneld forward"}
	return []iptables.Rule{
		{Matches: []iptables.Match{iptables.Src{Prefix: cluster}, comment}, Target: iptables.Accept{}, Origin: o},
		{Matches: []iptables.Match{iptables.Dst{Prefix: cluster}, comment}, Target: iptables.Accept{}, Origin: o},
	}
}
