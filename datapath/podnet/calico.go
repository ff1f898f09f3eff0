package podnet

import (
	"net/netip"
	"slices"

	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/datapath/plan/felix"
	"github.com/netlab/netlab/datapath/plan/ipset"
	"github.com/netlab/netlab/datapath/plan/iptables"
	"github.com/netlab/netlab/topology"
)

// CalicoMasquerade adds Calico's chains: what a pod sends gets the node's address unless
// it is for a pod, by two sets: the pools of pods whose packets are masqueraded, and all
// pools. What others send is left alone, since the pods' nodes can answer directly.
//
// The lab can choose that pods keep their address towards nodes, too: then a third set
// has the nodes' addresses.
//
// The translation also turns on connection tracking in the node from its first packet on,
// as FlannelMasquerade does.
func CalicoMasquerade(out *plan.Netns, lab *topology.Lab, _ *topology.Node) {
	o := NetworkOrigin(lab)
	for _, pods := range lab.Network.PodCIDRs {
		ipv6 := pods.Addr().Is6()
		set := func(name string, parts string, not bool, members ...netip.Prefix) iptables.Match {
			if name = "cali40" + name; ipv6 {
				name = "cali60" + name[len("cali40"):]
			}
			s := ipset.Set{Name: name, Type: ipset.HashNet, IPv6: ipv6, Origin: o}
			for _, p := range members {
				s.Entries = append(s.Entries, ipset.Entry{Prefix: p})
			}
			out.Sets = append(out.Sets, s)
			return iptables.MatchSet{Set: name, Parts: parts, Not: not}
		}
		leaves := []iptables.Match{set("masq-ipam-pools", "src", false, pods), set("all-ipam-pools", "dst", true, pods)}
		if lab.Network.KeepSourceToNodes {
			leaves = append(leaves, set("all-hosts-net", "dst", true, nodeAddrs(lab, ipv6)...))
		}
		join(out, calicoNAT(ipv6, o, leaves))
	}
}

// calicoNAT is the table nat. The chains of floating addresses are there, and empty. What leads to
// them from built-in chains comes first there, before kube-proxy's: Felix inserts it at the
// head, and again where it finds another rule before (ChainInsertMode in felix/config).
func calicoNAT(ipv6 bool, o plan.Origin, outgoing []iptables.Match) iptables.Table {
	b := iptables.NewBuilder("nat", ipv6, 9)
	jump := func(from, to string) {
		b.Add(from, o, iptables.Jump{Chain: to})
		b.Ensure(to, "")
	}
	for _, hook := range []string{"PREROUTING", "OUTPUT", "POSTROUTING"} {
		b.Hook(hook, "cali-"+hook, o)
	}
	jump("cali-PREROUTING", "cali-fip-dnat")
	jump("cali-OUTPUT", "cali-fip-dnat")
	jump("cali-POSTROUTING", "cali-fip-snat")
	jump("cali-POSTROUTING", "cali-nat-outgoing")
	b.Add("cali-nat-outgoing", o, iptables.Masquerade{RandomFully: true}, outgoing...)
	for i := range b.Chains {
		c := &b.Chains[i]
		felix.Sign(c)
		if c.Policy != "" {
			c.Ahead = len(c.Rules)
		}
	}
	return b.Table
}

// join adds a table to those of a namespace, after the rules that it has already, but for those
// that stay ahead.
func join(out *plan.Netns, t iptables.Table) {
	for i := range out.Tables {
		have := &out.Tables[i]
		if have.Name != t.Name || have.IPv6 != t.IPv6 {
			continue
		}
		for _, c := range t.Chains {
			at := slices.IndexFunc(have.Chains, func(known iptables.Chain) bool { return known.Name == c.Name })
			if at < 0 {
				have.Chains = append(have.Chains, c)
				continue
			}
			have.Chains[at].Join(c)
		}
		return
	}
	out.Tables = append(out.Tables, t)
}

// nodeAddrs are the addresses of all nodes in an IP family.
func nodeAddrs(lab *topology.Lab, ipv6 bool) []netip.Prefix {
	var list []netip.Prefix
	for _, n := range lab.Nodes {
		if a := topology.OfFamily(n.Addrs, ipv6); a.IsValid() {
			list = append(list, topology.Single(a))
		}
	}
	return list
}
