package kubernetes

import (
	"cmp"
	"maps"
	"net/netip"
	"slices"
	"strconv"

	"github.com/netlab/netlab/topology"
)

// policies adds network policies of all kinds.
func (c *converter) policies() {
	c.had = map[netip.Addr]string{}
	for _, p := range c.pods {
		if a, err := netip.ParseAddr(p.Status.IP.Value); err == nil && !p.Spec.HostNetwork.Value {
			c.had[a] = p.Meta.Name.Value
		}
	}
	twice := several(c.np, func(p *networkPolicy) string { return p.Meta.Name.Value })
	for _, x := range c.np {
		name := x.Meta.Name.Value
		label := c.label("policy", x.namespace(), name, twice[name])
		c.carried(&x.header, "policy."+label)
		s := topology.PolicySpec{
			Name: name, Written: written(label, &x.header), Namespace: unless(x.Meta.Namespace, topology.DefaultNamespace), Origin: x.at(),
			PodSelector: topology.SelectorSpec{Set: true, Origin: x.Spec.Origin}, PolicyTypes: listed(x.Spec.PolicyTypes),
		}
		if x.Spec.PodSelector != nil {
			s.PodSelector = selectorSpec(x.Spec.PodSelector)
		}
		for _, r := range x.Spec.Ingress {
			s.Ingress = append(s.Ingress, c.rule(r.policyRule, r.From))
		}
		for _, r := range x.Spec.Egress {
			s.Egress = append(s.Egress, c.rule(r.policyRule, r.To))
		}
		for _, r := range slices.Concat(s.Ingress, s.Egress) {
			for _, p := range r.Peers {
				c.addressed("policy."+label, p.Block, p.Except)
			}
		}
		c.Policies = append(c.Policies, s)
	}
	c.clusterPolicies()
}

func selectorSpec(x *selector) topology.SelectorSpec {
	if x == nil {
		return topology.SelectorSpec{}
	}
	s := topology.SelectorSpec{Set: true, MatchLabels: x.MatchLabels, Origin: x.Origin}
	for _, e := range x.Expressions {
		s.Expressions = append(s.Expressions, topology.ExpressionSpec{Key: e.Key, Operator: e.Operator, Values: listed(e.Values), Origin: e.Origin})
	}
	return s
}

func (c *converter) rule(r policyRule, peers []policyPeer) topology.PolicyRuleSpec {
	out := topology.PolicyRuleSpec{Origin: r.Origin}
	for _, p := range peers {
		s := topology.PeerSpec{PodSelector: selectorSpec(p.PodSelector), NamespaceSelector: selectorSpec(p.NamespaceSelector), Origin: p.Origin}
		if b := p.IPBlock; b != nil {
			s.Block = c.prefix(b.CIDR)
			s.Block.Origin = b.Origin
			for _, e := range b.Except {
				s.Except = append(s.Except, c.prefix(e))
			}
		}
		out.Peers = append(out.Peers, s)
	}
	for _, p := range r.Ports {
		out.Ports = append(out.Ports, topology.PolicyPortSpec{Port: str(p.Port), EndPort: p.EndPort, Protocol: c.protocol(p.Protocol), Origin: p.Origin})
	}
	return out
}

// addressed notes addresses that some pods of a node have and others have not: pods get other ones
// in a lab. A node has a block of 24 bits of IPv4, or 64 of IPv6.
func (c *converter) addressed(block string, of topology.Opt[netip.Prefix], except []topology.Opt[netip.Prefix]) {
	covered := func(a netip.Addr) bool {
		return of.Value.Contains(a) && !slices.ContainsFunc(except, func(e topology.Opt[netip.Prefix]) bool { return e.Value.Contains(a) })
	}
	within := func(o topology.Opt[netip.Prefix]) bool {
		return o.Value.Bits() > 64 || o.Value.Bits() > 24 && o.Value.Addr().Is4()
	}
	if !within(of) && !slices.ContainsFunc(except, within) {
		return
	}
	in, out := "", false
	for a, pod := range c.had {
		switch {
		case !of.Set || a.Is4() != of.Value.Addr().Is4():
		case !covered(a):
			out = true
		case in == "" || pod < in:
			in = pod
		}
	}
	if in != "" && (out || of.Value.IsSingleIP()) {
		c.lose(block, of.Origin, "%s has the address of pod %s, and not of all pods: they have other addresses in a lab. Write a podSelector", of.Value, lineOf(in))
	}
}

func (c *converter) prefix(o str) topology.Opt[netip.Prefix] {
	p, err := netip.ParsePrefix(o.Value)
	if err != nil {
		c.errorf(o.Origin, "Invalid CIDR", "%q is not a CIDR. Write it like 10.0.0.0/8, or 10.0.0.1/32 for one address.", shorten(o.Value))
	}
	return topology.Opt[netip.Prefix]{Value: p, Set: err == nil, Origin: o.Origin}
}

// clusterPolicies adds ClusterNetworkPolicies, and what they were before: AdminNetworkPolicy
// allows instead of accepting, and is of the tier Admin; BaselineAdminNetworkPolicy is the one
// policy of the tier Baseline.
func (c *converter) clusterPolicies() {
	for _, x := range c.cnp {
		label := c.label("cluster_policy", "", x.Meta.Name.Value, false)
		c.carried(&x.header, "cluster_policy."+label)
		s := topology.ClusterPolicySpec{Name: x.Meta.Name.Value, Written: written(label, &x.header), Tier: x.Spec.Tier, Priority: x.Spec.Priority, Origin: x.at()}
		switch x.Kind.Value {
		case kindAdmin:
			s.Tier = str{Value: string(topology.AdminTier), Set: true, Origin: x.at()}
		case kindBaseline:
			s.Tier = str{Value: string(topology.BaselineTier), Set: true, Origin: x.at()}
			s.Priority = integer{Set: true, Origin: x.at()}
			if name := x.Meta.Name; name.Value != "default" {
				c.errorf(cmp.Or(name.Origin, x.at()), "Unusable name", "The only %s of a cluster is called default. Write metadata: { name: default }.", kindBaseline)
			}
		}
		if x.Spec.Subject != nil {
			s.Subject = c.clusterPeer(*x.Spec.Subject)
		}
		rules := func(to *[]topology.PolicyRuleSpec, r clusterRule, peers []clusterPeer) {
			known := slices.DeleteFunc(slices.Clone(peers), func(p clusterPeer) bool { return c.experimental(p, "cluster_policy."+label) })
			if len(known) < len(peers) && len(known) == 0 {
				c.lose("cluster_policy."+label, r.Origin, "the rule, which has no other peer")
				return
			}
			*to = append(*to, c.clusterRule(x.Kind.Value, r, known))
			for _, p := range (*to)[len(*to)-1].Peers {
				for _, n := range p.Networks.Value {
					c.addressed("cluster_policy."+label, topology.Opt[netip.Prefix]{Value: n, Set: true, Origin: p.Networks.Origin}, nil)
				}
			}
		}
		for _, r := range x.Spec.Ingress {
			rules(&s.Ingress, r.clusterRule, r.From)
		}
		for _, r := range x.Spec.Egress {
			rules(&s.Egress, r.clusterRule, r.To)
		}
		c.ClusterPolicies = append(c.ClusterPolicies, s)
	}
}

// experimental notes a peer that the API has in its experimental channel only.
func (c *converter) experimental(p clusterPeer, block string) bool {
	switch {
	case p.Nodes != nil:
		c.lose(block, p.Origin, "nodes: peers that are nodes are experimental in the API. Write their addresses as networks")
	case len(p.Domains) > 0:
		c.lose(block, p.Origin, "domainNames: peers with domain names are experimental in the API. Write their addresses as networks")
	default:
		return false
	}
	return true
}

func (c *converter) clusterPeer(p clusterPeer) topology.PeerSpec {
	s := topology.PeerSpec{NamespaceSelector: selectorSpec(p.Namespaces), Origin: p.Origin}
	if count(p.Namespaces != nil, p.Pods != nil, len(p.Networks) > 0) > 1 {
		c.errorf(p.Origin, "Peer of several kinds", "Pods are chosen by one of namespaces, pods and networks, and here are several. Write pods for both selectors together, or a peer each.")
	}
	if p.Pods != nil {
		if p.Pods.NamespaceSelector == nil || p.Pods.PodSelector == nil {
			c.errorf(p.Pods.Origin, "Selector missing", "pods needs both namespaceSelector and podSelector. Write {} for the one that selects all.")
		}
		s.NamespaceSelector, s.PodSelector = selectorSpec(p.Pods.NamespaceSelector), selectorSpec(p.Pods.PodSelector)
	}
	for _, n := range p.Networks {
		if prefix := c.prefix(n); prefix.Set {
			s.Networks.Value = append(s.Networks.Value, prefix.Value)
		}
		s.Networks.Set, s.Networks.Origin = true, n.Origin
	}
	return s
}

// count is how many are true.
func count(all ...bool) (n int) {
	for _, x := range all {
		if x {
			n++
		}
	}
	return n
}

// actionsOf are the actions of each kind of cluster policy, and what a lab calls them.
var actionsOf = map[string]map[string]topology.PolicyAction{
	kindCluster:  {"Accept": topology.PolicyAccept, "Deny": topology.PolicyDeny, "Pass": topology.PolicyPass},
	kindAdmin:    {"Allow": topology.PolicyAccept, "Deny": topology.PolicyDeny, "Pass": topology.PolicyPass},
	kindBaseline: {"Allow": topology.PolicyAccept, "Deny": topology.PolicyDeny},
}

func (c *converter) clusterRule(kind string, r clusterRule, peers []clusterPeer) topology.PolicyRuleSpec {
	out := topology.PolicyRuleSpec{Name: r.Name.Value, Action: r.Action, Origin: r.Origin}
	if action, known := actionsOf[kind][r.Action.Value]; known {
		out.Action.Value = string(action)
	} else if r.Action.Set {
		all := slices.Sorted(maps.Keys(actionsOf[kind]))
		c.errorf(r.Action.Origin, "Unknown action", "%q is not an action of %s.%s Use %s.", lineOf(r.Action.Value), kind, topology.DidYouMean(r.Action.Value, all), topology.OneOf(all))
		out.Action.Set = false
	}
	for _, p := range peers {
		out.Peers = append(out.Peers, c.clusterPeer(p))
	}
	add := func(port str, end integer, protocol string, at topology.Origin) {
		out.Ports = append(out.Ports, topology.PolicyPortSpec{Port: port, EndPort: end, Protocol: unless(str{Value: protocol, Set: true, Origin: at}, "tcp"), Origin: at})
	}
	digits := func(o integer) str { return str{Value: strconv.Itoa(o.Value), Set: o.Set, Origin: o.Origin} }
	everyProtocol := func(name str, at topology.Origin) { // a name is that of a port of any protocol
		for _, protocol := range []topology.Protocol{topology.TCP, topology.UDP, topology.SCTP} {
			add(name, integer{}, string(protocol), at)
		}
	}
	whole := func(ok bool, at topology.Origin) bool {
		if !ok {
			c.errorf(at, "Port without number", "It does not say which port is meant, or says it twice. Write one number, one range with start and end, or one name.")
		}
		return ok
	}
	for _, p := range r.Ports {
		switch one := count(p.Number != nil, p.Range != nil, p.Named.Set) == 1; {
		case !whole(one && (p.Number == nil || p.Number.Port.Set) && (p.Range == nil || p.Range.Start.Set && p.Range.End.Set), p.Origin):
		case p.Number != nil:
			add(digits(p.Number.Port), integer{}, c.protocol(p.Number.Protocol).Or("tcp"), p.Origin)
		case p.Range != nil:
			add(digits(p.Range.Start), p.Range.End, c.protocol(p.Range.Protocol).Or("tcp"), p.Origin)
		default:
			everyProtocol(p.Named, p.Origin)
		}
	}
	for _, p := range r.Protocols {
		if !whole(count(p.TCP != nil, p.UDP != nil, p.SCTP != nil, p.Named.Set) == 1, p.Origin) {
			continue
		}
		if p.Named.Set {
			everyProtocol(p.Named, p.Origin)
		}
		for _, d := range []struct {
			protocol topology.Protocol
			to       *destination
		}{{topology.TCP, p.TCP}, {topology.UDP, p.UDP}, {topology.SCTP, p.SCTP}} {
			switch {
			case d.to == nil:
			case d.to.Port == nil:
				add(str{}, integer{}, string(d.protocol), p.Origin)
			case !whole(d.to.Port.Number.Set != (d.to.Port.Range != nil && d.to.Port.Range.Start.Set && d.to.Port.Range.End.Set), d.to.Port.Origin):
			case d.to.Port.Range != nil:
				add(digits(d.to.Port.Range.Start), d.to.Port.Range.End, string(d.protocol), p.Origin)
			default:
				add(digits(d.to.Port.Number), integer{}, string(d.protocol), p.Origin)
			}
		}
	}
	return out
}
