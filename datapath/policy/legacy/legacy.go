package legacy

import (
	"errors"
	"net/netip"

	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/datapath/plan/iptables"
	"github.com/netlab/netlab/datapath/policy"
	"github.com/netlab/netlab/topology"
)

// Style is the policy style legacy.
func Style() policy.Style {
	return policy.Style{Compile: compile, PolicyStyle: topology.PolicyStyle{Name: "legacy", About: "one chain of what is allowed, one that denies the rest", Limits: "no cluster policies, and both directions share a chain"}}
}

// The chains.
const (
	allowed     = "KUBE-NWPLCY-CHAIN"
	podSpecific = "KUBE-POD-SPECIFIC-FW-CHAIN"
)

// errTiers rejects what the style has no rules for.
var errTiers = errors.New("this style has no cluster policies: use kube-router, calico or nftables")

// compile returns the table filter of each IP family. Cluster policies are an error.
func compile(v policy.View) (plan.Netns, error) {
	var out plan.Netns
	for _, s := range v.Sections {
		if s.Tier != "" {
			return out, errTiers
		}
	}
	for _, ipv6 := range v.Families() {
		c := compiler{view: &v, ipv6: ipv6}
		out.Tables = append(out.Tables, iptables.Table{Name: "filter", IPv6: ipv6, Chains: []iptables.Chain{
			{Name: "FORWARD", Policy: "ACCEPT", Rules: c.intercept()},
			{Name: allowed, Rules: c.allow()},
			{Name: podSpecific, Rules: c.decide()},
		}})
	}
	return out, nil
}

// compiler gathers the rules of one node and one IP family.
type compiler struct {
	view *policy.View
	ipv6 bool
}

// intercept leads packets of isolated pods to the chain that decides.
func (c *compiler) intercept() []iptables.Rule {
	var rules []iptables.Rule
	for i := range c.view.Pods {
		p := &c.view.Pods[i]
		o := policy.PodOrigin(p.Pod)
		for _, own := range prefixes(p.Addrs, c.ipv6) {
			jump := func(matches ...iptables.Match) {
				rules = append(rules, iptables.Rule{Matches: matches, Target: iptables.Jump{Chain: podSpecific}, Origin: o})
			}
			if p.Ingress.Isolated() {
				jump(iptables.Dst{Prefix: own}, iptables.Physdev{Bridged: true})
				jump(iptables.Dst{Prefix: own})
			}
			if p.Egress.Isolated() {
				jump(iptables.Src{Prefix: own}, iptables.Physdev{Bridged: true})
				jump(iptables.Src{Prefix: own})
			}
		}
	}
	return rules
}

// decide denies what the policies do not allow.
func (c *compiler) decide() []iptables.Rule {
	o := c.view.Origin()
	rules := []iptables.Rule{{Matches: []iptables.Match{policy.Established()}, Target: iptables.Accept{}, Origin: o}}
	if c.ipv6 {
		for _, m := range policy.NeighbourDiscovery() {
			rules = append(rules, iptables.Rule{Matches: []iptables.Match{iptables.Proto{Name: "ipv6-icmp"}, m}, Target: iptables.Accept{}, Origin: o})
		}
	}
	rules = append(rules, iptables.Rule{Target: iptables.Jump{Chain: allowed}, Origin: o})
	for _, r := range c.view.Deny(c.ipv6) {
		rules = append(rules, iptables.Rule{Matches: r.Matches, Target: r.Target, Origin: o})
	}
	return rules
}

// allow accepts each pair that some rule of some policy names, and each pod's packets
// to itself.
func (c *compiler) allow() []iptables.Rule {
	var rules []iptables.Rule
	for i := range c.view.Pods {
		for _, own := range prefixes(c.view.Pods[i].Addrs, c.ipv6) {
			rules = append(rules, iptables.Rule{Matches: []iptables.Match{iptables.Src{Prefix: own}, iptables.Dst{Prefix: own}},
				Target: iptables.Accept{}, Origin: c.view.Origin()})
		}
	}
	for _, s := range c.view.Sections {
		for _, r := range s.Rules {
			for _, p := range s.Pods {
				for _, own := range prefixes(p.Addrs, c.ipv6) {
					rules = append(rules, c.pairs(s, r, own)...)
				}
			}
		}
	}
	return rules
}

// pairs are the rules for what a policy's rule allows to a pod, or from it.
func (c *compiler) pairs(s *policy.Section, r *policy.Rule, own netip.Prefix) []iptables.Rule {
	var rules []iptables.Rule
	add := func(peer netip.Prefix, ports []iptables.Match) {
		src, dst := peer, own
		if s.Direction == policy.Egress {
			src, dst = dst, src
		}
		var matches []iptables.Match
		if src.IsValid() {
			matches = append(matches, iptables.Src{Prefix: src})
		}
		if dst.IsValid() {
			matches = append(matches, iptables.Dst{Prefix: dst})
		}
		rules = append(rules, iptables.Rule{Matches: append(matches, ports...), Target: iptables.Accept{}, Origin: r.Origin})
	}
	others := c.others(r)
	for _, ports := range r.PortMatches() {
		for _, other := range others {
			add(other, ports)
		}
	}
	for _, m := range s.Named(r, c.ipv6) {
		ports := []iptables.Match{iptables.Proto{Name: string(m.Protocol)}, iptables.DPort{Port: m.Port}}
		address := topology.Single(m.Addr)
		switch {
		case s.Direction == policy.Egress:
			add(address, ports)
		case address == own:
			for _, other := range others {
				add(other, ports)
			}
		}
	}
	return rules
}

// others are the other ends of a rule; the zero Prefix stands for any.
func (c *compiler) others(r *policy.Rule) []netip.Prefix {
	peers := r.Peers(c.ipv6)
	if peers.Any {
		return []netip.Prefix{{}}
	}
	return append(policy.Singles(peers.Pods), peers.Blocks...)
}

// prefixes are the addresses of one family.
func prefixes(addrs []netip.Addr, ipv6 bool) []netip.Prefix {
	var out []netip.Prefix
	for _, a := range addrs {
		if a.Is6() == ipv6 {
			out = append(out, topology.Single(a))
		}
	}
	return out
}
