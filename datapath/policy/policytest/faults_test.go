package policytest

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/netlab/netlab/datapath"
	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/datapath/plan/iptables"
	"github.com/netlab/netlab/topology"
)

// A test that never fails is worthless: each of these mistakes in a plan of style
// kube-router must be noticed. The first four are faults of real policy engines.
func TestFaultsAreNoticed(t *testing.T) {
	section := isSection
	pod := isPod
	top := func(c *iptables.Chain) bool { return strings.HasPrefix(c.Name, "KUBE-ROUTER-") }
	drop := func(r *iptables.Rule) { *r = iptables.Rule{} }
	for _, row := range []struct {
		name  string
		cases []Case
		wrong func(c *iptables.Chain, r *iptables.Rule)
	}{
		{"a terminal ACCEPT in the policy's chain (kube-router issue 916)", unions(), acceptInPolicies},
		{"policies are evaluated in both directions", unions(), askBothWays},
		{"the node's own traffic is denied", defaults(), func(c *iptables.Chain, r *iptables.Rule) {
			if pod(c) && slices.ContainsFunc(r.Matches, func(m iptables.Match) bool { _, ok := m.(iptables.AddrType); return ok }) {
				drop(r)
			}
		}},
		{"known connections do not pass", unions(), func(c *iptables.Chain, r *iptables.Rule) {
			if _, ok := r.Target.(iptables.Accept); ok && c.Name == "KUBE-NWPLCY-COMMON" {
				drop(r)
			}
		}},
		{"a pod does not reach itself", defaults(), func(c *iptables.Chain, r *iptables.Rule) {
			if pod(c) && slices.ContainsFunc(r.Matches, func(m iptables.Match) bool { _, ok := m.(iptables.Src); return ok }) &&
				slices.ContainsFunc(r.Matches, func(m iptables.Match) bool { _, ok := m.(iptables.Dst); return ok }) {
				drop(r)
			}
		}},
		{"a direction without policies is closed", defaults(), func(c *iptables.Chain, r *iptables.Rule) {
			if pod(c) && jumps(r, "KUBE-NWPLCY-DEFAULT") {
				drop(r)
			}
		}},
		{"egress policies are skipped", defaults(), func(c *iptables.Chain, r *iptables.Rule) {
			if top(c) && slices.ContainsFunc(r.Matches, func(m iptables.Match) bool { _, ok := m.(iptables.Src); return ok }) {
				drop(r)
			}
		}},
		{"the mark of one pod stays for the next", unions(), func(c *iptables.Chain, r *iptables.Rule) {
			if _, clears := r.Target.(iptables.SetMark); pod(c) && clears {
				drop(r)
			}
		}},
		{"protocols are ignored", portCases(), func(c *iptables.Chain, r *iptables.Rule) {
			if section(c) {
				r.Matches = slices.DeleteFunc(slices.Clone(r.Matches), func(m iptables.Match) bool { _, ok := m.(iptables.Proto); return ok })
			}
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			noticed := 0
			for _, s := range []Setup{{Style: "kube-router", Mode: "vxlan", Deny: "drop"}} {
				r := enter(t, &s)
				for i, c := range row.cases {
					j := r.judge(t, &c, s.planes(i))
					damage(j.plan, row.wrong)
					if len(j.compare(r.rightEnds(j), paper(j.plan, j.questions))) > 0 {
						noticed++
					}
				}
			}
			if noticed == 0 {
				t.Errorf("none of %d cases notices", len(row.cases))
			}
			t.Logf("%d of %d cases notice", noticed, len(row.cases))
		})
	}
}

// acceptInPolicies makes policies of style kube-router accept immediately, so that the
// chain of the other pod on the node is skipped.
func acceptInPolicies(c *iptables.Chain, r *iptables.Rule) {
	if _, marks := r.Target.(iptables.OrMark); isSection(c) && marks {
		r.Target = iptables.Accept{}
	}
}

// askBothWays makes pods evaluate the policies of each direction for packets of both.
func askBothWays(c *iptables.Chain, r *iptables.Rule) {
	if isPod(c) && jumps(r, "KUBE-NWPLCY-") {
		r.Matches = slices.DeleteFunc(slices.Clone(r.Matches), isEnd)
	}
}

// isSection and isPod recognize the chains of style kube-router.
func isSection(c *iptables.Chain) bool {
	return strings.HasPrefix(c.Name, "KUBE-NWPLCY-IN-") || strings.HasPrefix(c.Name, "KUBE-NWPLCY-EG-")
}

func isPod(c *iptables.Chain) bool { return strings.HasPrefix(c.Name, "KUBE-POD-FW-") }

func jumps(r *iptables.Rule, prefix string) bool {
	j, ok := r.Target.(iptables.Jump)
	return ok && strings.HasPrefix(j.Chain, prefix)
}

func isEnd(m iptables.Match) bool {
	switch m.(type) {
	case iptables.Src, iptables.Dst:
		return true
	}
	return false
}

// damage changes the rules of the filter tables of nodes.
func damage(p *plan.Plan, f func(*iptables.Chain, *iptables.Rule)) {
	for i := range p.Netns {
		for j := range p.Netns[i].Tables {
			if p.Netns[i].Kind != plan.Node || p.Netns[i].Tables[j].Name != "filter" {
				continue
			}
			for k := range p.Netns[i].Tables[j].Chains {
				c := &p.Netns[i].Tables[j].Chains[k]
				for l := range c.Rules {
					f(c, &c.Rules[l])
				}
			}
		}
	}
}

// One set for all blocks of a rule, with nomatch members: an exception removes
// addresses from every wider block of the rule.
func TestSharedExceptionsAreNoticed(t *testing.T) {
	for _, style := range enforcing() {
		s := Setup{Style: style, Mode: "vxlan", Deny: "drop"}
		r := enter(t, &s)
		noticed := 0
		for i, c := range blocks() {
			j := r.judge(t, &c, s.planes(i))
			p := sharingExceptions(t, j.lab)
			if len(j.compare(r.rightEnds(j), paper(p, j.questions))) > 0 {
				noticed++
			}
		}
		if noticed == 0 {
			t.Errorf("%s: no case notices", style)
		}
		t.Logf("%s: %d cases notice", style, noticed)
	}
}

// sharingExceptions compiles a lab in which each rule has one set for all its blocks. It
// changes the lab.
func sharingExceptions(t *testing.T, lab *topology.Lab) *plan.Plan {
	t.Helper()
	for _, p := range lab.Policies {
		shareExceptions(p.Ingress.Rules)
		shareExceptions(p.Egress.Rules)
	}
	p, err := datapath.Compile(lab)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func shareExceptions(rules []topology.PolicyRule) {
	for i := range rules {
		var all []netip.Prefix
		for _, p := range rules[i].Peers {
			all = append(all, p.Except...)
		}
		for k := range rules[i].Peers {
			p := &rules[i].Peers[k]
			for _, e := range all {
				if p.Block.IsValid() && e.Bits() > p.Block.Bits() && p.Block.Contains(e.Addr()) && !slices.Contains(p.Except, e) {
					p.Except = append(slices.Clone(p.Except), e)
				}
			}
		}
	}
}

// Connection tracking begins with the first rule that needs it. If that is a rule of
// the first policy, existing connections are unknown, and cut by it.
func TestNodesTrackConnectionsBeforeThereIsAPolicy(t *testing.T) {
	for _, m := range datapath.ClusterModes() {
		mode := m.Name
		s := Setup{Style: "kube-router", Mode: mode, Deny: "drop", IPv6: true}
		spec := s.spec()
		spec.Proxy.Mode, spec.Services = set("none"), nil
		p, err := datapath.Compile(labOf(t, &spec))
		if err != nil {
			t.Fatal(err)
		}
		for i := range p.Netns {
			n := &p.Netns[i]
			if n.Kind != plan.Node {
				continue
			}
			for _, ipv6 := range []bool{false, true} {
				if !tracks(n, ipv6) {
					t.Errorf("%s: %s: IPv6 %v: no rule needs connection tracking", mode, n.Name, ipv6)
				}
			}
			for _, key := range []string{"net.bridge.bridge-nf-call-iptables", "net.bridge.bridge-nf-call-ip6tables"} {
				if !m.PodRoutes && !slices.Contains(n.Sysctls, plan.Sysctl{Key: key, Value: "1"}) {
					t.Errorf("%s: %s: bridged packets would bypass the policies: %s is not 1", mode, n.Name, key)
				}
			}
			untrack(n)
			if tracks(n, false) {
				t.Error("connections are tracked without a rule")
			}
		}
	}
}

// tracks reports whether some rule of a namespace needs connection tracking.
func tracks(n *plan.Netns, ipv6 bool) bool {
	for _, t := range n.Tables {
		for _, c := range t.Chains {
			for _, r := range c.Rules {
				state := slices.ContainsFunc(r.Matches, func(m iptables.Match) bool { _, ok := m.(iptables.CTState); return ok })
				if t.IPv6 == ipv6 && (state || t.Name == "nat") {
					return true
				}
			}
		}
	}
	return false
}

// untrack removes the rules that make the kernel track connections.
func untrack(n *plan.Netns) {
	n.Tables = slices.DeleteFunc(n.Tables, func(t iptables.Table) bool { return t.Name == "nat" })
	for i := range n.Tables {
		for j := range n.Tables[i].Chains {
			c := &n.Tables[i].Chains[j]
			c.Rules = slices.DeleteFunc(c.Rules, func(r iptables.Rule) bool {
				return slices.ContainsFunc(r.Matches, func(m iptables.Match) bool { _, ok := m.(iptables.CTState); return ok })
			})
		}
	}
}
