package fault

import (
	"slices"

	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/datapath/plan/bgp"
	"github.com/netlab/netlab/datapath/plan/iptables"
	"github.com/netlab/netlab/topology"
)

// Faults of firewalls.
func filters() []kind {
	return []kind{
		{topology.FaultKind{Name: "blocked-port", About: "a firewall on the node drops what arrives for a port, such as the tunnel's", Port: true},
			func(d *damage) error {
				for _, ipv6 := range families(d.lab) {
					d.drop(d.node(), "INPUT", ipv6, iptables.Proto{Name: string(d.fault.Protocol)}, iptables.DPort{Port: d.fault.Port})
				}
				if d.fault.Protocol == topology.TCP && d.fault.Port == bgp.Port {
					d.cutSessions(func(n *plan.Netns, p *bgp.Peer) bool { return n.Name == d.fault.Node.Netns() && p.Listens() })
				}
				return nil
			}},
		{topology.FaultKind{Name: "closed-forward", About: "the node's chain FORWARD has the policy DROP and no rule that accepts, as after a restart of a firewall: the node itself reaches its pods and other nodes, and forwards nothing"},
			func(d *damage) error {
				for _, ipv6 := range families(d.lab) {
					c := filterChain(d.node(), "FORWARD", ipv6)
					c.Policy, c.Rules, c.Ahead = "DROP", nil, 0
				}
				return nil
			}},
	}
}

// families are the IP families of the nodes' network, as IPv6 or not.
func families(lab *topology.Lab) (out []bool) {
	for _, p := range lab.Network.NodeCIDRs {
		out = append(out, p.Addr().Is6())
	}
	return out
}

// drop adds a rule before all others of a chain of the table filter.
func (d *damage) drop(n *plan.Netns, chain string, ipv6 bool, matches ...iptables.Match) {
	c := filterChain(n, chain, ipv6)
	c.Rules = append([]iptables.Rule{{Matches: matches, Target: iptables.Drop{}, Origin: d.origin()}}, c.Rules...)
	c.Ahead++ // of what an agent writes, too
}

// filterChain is a built-in chain of the table filter, which may be changed.
func filterChain(n *plan.Netns, chain string, ipv6 bool) *iptables.Chain {
	n.Tables = slices.Clone(n.Tables)
	i := slices.IndexFunc(n.Tables, func(t iptables.Table) bool { return t.Name == "filter" && t.IPv6 == ipv6 })
	if i < 0 {
		n.Tables = append(n.Tables, iptables.Table{Name: "filter", IPv6: ipv6})
		i = len(n.Tables) - 1
	}
	t := &n.Tables[i]
	t.Chains = slices.Clone(t.Chains)
	k := slices.IndexFunc(t.Chains, func(c iptables.Chain) bool { return c.Name == chain })
	if k < 0 {
		t.Chains = append(t.Chains, iptables.Chain{Name: chain, Policy: "ACCEPT"})
		k = len(t.Chains) - 1
	}
	return &t.Chains[k]
}
