package calico

import (
	"net/netip"
	"slices"
	"strconv"

	"github.com/netlab/netlab/datapath/plan/felix"
	"github.com/netlab/netlab/datapath/plan/ipset"
	"github.com/netlab/netlab/datapath/plan/iptables"
	"github.com/netlab/netlab/datapath/policy"
	"github.com/netlab/netlab/topology"
)

// section adds the chain of a policy in one direction, and its sets.
func (c *compiler) section(s *policy.Section) {
	chain := sectionChain(s)
	c.Ensure(chain, "")
	for _, r := range s.Rules {
		c.rule(chain, s, r)
	}
}

// rule adds a rule of a policy: as Calico does, once for each protocol and each peer (k8sRuleToCalico
// in libcalico-go/lib/backend/k8s/conversion).
func (c *compiler) rule(chain string, s *policy.Section, r *policy.Rule) {
	for _, ports := range r.ByProtocol() {
		if len(r.Written) == 0 {
			c.one(chain, s, r, other{ports: ports})
		}
		for i := range r.Written {
			c.one(chain, s, r, other{&r.Written[i], i, ports})
		}
	}
}

// other is the other end of a rule, nil for any, its place in the rule, and ports.
type other struct {
	*topology.PolicyPeer
	index int
	ports policy.ProtocolPorts
}

// one adds what one peer and the ports of one protocol match, and the return of what matched
// (ProtoRuleToIptablesRules in felix/rules/policy.go). Several conditions for ports, and the
// exceptions of a block, come in rules before, which leave a mark.
func (c *compiler) one(chain string, s *policy.Section, r *policy.Rule, x other) {
	if x.PolicyPeer != nil && x.Block.IsValid() && x.Block.Addr().Is6() != c.IPv6 {
		return
	}
	var proto []iptables.Match
	if x.ports.Protocol != "" {
		proto = append(proto, iptables.Proto{Name: string(x.ports.Protocol), Plain: true})
	}
	ports, names := policy.MultiPorts(x.ports.Ranges), c.named(s, r, x)
	if len(ports)+len(names) == 0 && len(x.ports.Ranges)+len(x.ports.Names) > 0 {
		return
	}
	prepared := false
	if len(ports)+len(names) > 1 {
		c.Add(chain, r.Origin, iptables.SetMark{Mask: scratch | scratch2})
		for _, m := range ports {
			c.Add(chain, r.Origin, set(scratch), append(proto[:1:1], m)...)
		}
		for _, m := range names {
			c.Add(chain, r.Origin, set(scratch), m)
		}
		prepared, ports, names = true, nil, nil
	}
	var peer []iptables.Match
	switch {
	case x.PolicyPeer == nil:
	case x.Block.IsValid():
		except := slices.DeleteFunc(slices.Clone(x.Except), func(p netip.Prefix) bool { return p.Addr().Is6() != c.IPv6 })
		if len(except) > 0 && !prepared {
			c.Add(chain, r.Origin, iptables.SetMark{Value: scratch, Mask: scratch | scratch2})
			prepared = true
		}
		for _, p := range except {
			c.Add(chain, r.Origin, clear(scratch), end(s.Direction, p.Masked()))
		}
		peer = append(peer, end(s.Direction, x.Block.Masked()))
	case s.Direction == policy.Egress && len(x.ports.Names) > 0 && len(x.ports.Ranges) == 0:
		// The sets of ports have those of the peer alone.
	default:
		peer = append(peer, c.selected(s, r, x))
	}
	matches := slices.Concat(proto, peer, ports, names)
	if prepared {
		matches = append(matches, has(scratch))
	}
	bit := bitOf(r.Action)
	c.Add(chain, r.Origin, set(bit), matches...)
	c.Add(chain, r.Origin, iptables.Return{}, has(bit))
}

// end is the condition that the other end is in a block.
func end(d policy.Direction, p netip.Prefix) iptables.Match {
	if d == policy.Egress {
		return iptables.Dst{Prefix: p}
	}
	return iptables.Src{Prefix: p}
}

// bitOf is the mark that an action sets.
func bitOf(a topology.PolicyAction) uint32 {
	switch a {
	case topology.PolicyDeny:
		return deny
	case topology.PolicyPass:
		return pass
	}
	return accept
}

// selected is the condition that the other end is a pod that a peer selects. All rules that select
// the same share a set.
func (c *compiler) selected(s *policy.Section, r *policy.Rule, x other) iptables.Match {
	part := "src"
	if s.Direction == policy.Egress {
		part = "dst"
	}
	name := c.setName("s", s, r, x)
	if x.selects() {
		name = felix.SetName(c.IPv6, selectorText(s.Namespace, x.PolicyPeer))
	}
	if c.hasSet(name) {
		return iptables.MatchSet{Set: name, Parts: part}
	}
	var addrs []netip.Addr
	for _, p := range x.Pods {
		if a := topology.OfFamily(p.Addrs, c.IPv6); a.IsValid() {
			addrs = append(addrs, a)
		}
	}
	slices.SortFunc(addrs, netip.Addr.Compare)
	return c.AddSet(name, ipset.HashNet, policy.Singles(addrs), part, r.Origin)
}

func (x other) selects() bool { return x.PodSelector.Set || x.NamespaceSelector.Set }

// named are the conditions that a packet is for a port by its name, a set for each. At ingress a
// set has all pods, since no other than those of the policy come here; at egress those of the
// peer, and blocks have none.
func (c *compiler) named(s *policy.Section, r *policy.Rule, x other) (out []iptables.Match) {
	pods, selector := c.View.Lab.Pods, felix.AnyPod
	if s.Direction == policy.Egress && x.PolicyPeer != nil {
		if x.Block.IsValid() {
			return nil
		}
		pods, selector = x.Pods, ""
		if x.selects() {
			selector = selectorText(s.Namespace, x.PolicyPeer)
		}
	}
	for _, port := range x.ports.Names {
		name := felix.PortSetName(c.IPv6, selector, string(x.ports.Protocol), port)
		if selector == "" {
			name = c.setName("n", s, r, x, string(x.ports.Protocol), port)
		}
		if c.hasSet(name) {
			out = append(out, iptables.MatchSet{Set: name, Parts: "dst,dst"})
			continue
		}
		pods := slices.DeleteFunc(slices.Clone(pods), func(p *topology.Pod) bool { return p.HostNetwork })
		out = append(out, c.AddPortSet(name, policy.PortsNamed(pods, port, x.ports.Protocol, c.IPv6), r.Origin))
	}
	return out
}

func (c *compiler) hasSet(name string) bool {
	return slices.ContainsFunc(c.Sets, func(s ipset.Set) bool { return s.Name == name })
}

// setName is the name of a set of what a cluster policy selects, whose selectors Calico has no
// words for: cali40s:… of addresses, cali40n:… of named ports.
func (c *compiler) setName(kind string, s *policy.Section, r *policy.Rule, x other, more ...string) string {
	const maxSet = 31
	prefix := "cali40" + kind + ":"
	if c.IPv6 {
		prefix = "cali60" + kind + ":"
	}
	parts := append(s.Key(), kind, strconv.Itoa(r.Index), strconv.Itoa(x.index))
	return prefix + policy.Hash(maxSet-len(prefix), append(parts, more...)...)
}
