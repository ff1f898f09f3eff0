package datapath

import (
	"fmt"

	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/datapath/plan/iptables"
	"github.com/netlab/netlab/datapath/plan/ipvs"
	"github.com/netlab/netlab/datapath/policy"
	"github.com/netlab/netlab/topology"
)

// aheadOfAgents says that rules in built-in chains stay before those of an agent.
func aheadOfAgents(tables []iptables.Table) {
	for _, t := range tables {
		for i := range t.Chains {
			if c := &t.Chains[i]; c.Policy != "" {
				c.Ahead = len(c.Rules)
			}
		}
	}
}

// addPolicies adds to every node what the lab's style compiles for the policies, given the virtual
// servers by network namespace. Its
// rules come first in built-in chains, before those of services: a policy sees packets
// after DNAT, and what it does not deny continues to the others.
//
// What policies need on a node is there even without them, ready for the first one:
// bridged packets traverse iptables, and connections are tracked from their beginning
// (package podnet).
func addPolicies(lab *topology.Lab, netns map[string]*plan.Netns, virtual map[string][]ipvs.Server) error {
	if !lab.Enforces() || lab.PolicyOptions.Agent != nil {
		return nil
	}
	style, err := named("policy style", lab.PolicyOptions.Style.Name, Styles(), func(s policy.Style) string { return s.Name })
	if err != nil {
		return err
	}
	for _, view := range policy.Views(lab) {
		n := netns[view.Node.Netns()]
		view.Virtual = virtual[n.Name]
		if len(view.Pods) > 0 {
			rules, err := style.Compile(view)
			if err != nil {
				return fmt.Errorf("policy style %q: node %q: %w", style.Name, view.Node.Name, err)
			}
			if lab.Proxy.Agent != nil {
				aheadOfAgents(rules.Tables)
			}
			merge(n, &rules)
		}
		n.Cut = view.Cuts(addrsOf(n))
		if view.Options.Live == policy.Cut {
			// Otherwise a packet of a connection that was cut would create a new conntrack
			// entry, in whichever direction it happens to go.
			setSysctl(n, plan.Sysctl{Key: "net.netfilter.nf_conntrack_tcp_loose", Value: "0"})
		}
	}
	return nil
}
