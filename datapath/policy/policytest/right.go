package policytest

import (
	"cmp"
	"net/netip"
	"slices"
	"strconv"

	"github.com/netlab/netlab/topology"
)

// judge evaluates policies from their specification alone, independently of the input
// of the styles.
type judge struct{ spec *topology.Spec }

// far is the other end of a connection as the packet shows it to one side.
type far struct {
	addr netip.Addr
	pod  *topology.PodSpec // nil: no pod that selectors match
}

// packet is what both sides of a connection see.
type packet struct {
	protocol string
	port     int
	target   *topology.PodSpec // the destination, for ports by name
}

// allows reports whether one side of a pod lets a connection pass: what the Admin tier
// leaves open, network policies decide if any isolates the pod, otherwise the Baseline
// tier.
func (j *judge) allows(pod *topology.PodSpec, egress bool, other far, w packet) bool {
	switch j.tier("Admin", pod, egress, other, w) {
	case "Accept":
		return true
	case "Deny":
		return false
	}
	isolated := false
	for i := range j.spec.Policies {
		p := &j.spec.Policies[i]
		if p.Namespace.Value != pod.Namespace.Value || !selects(p.PodSelector, pod.Labels) || !isolates(p, egress) {
			continue
		}
		isolated = true
		rules := map[bool][]topology.PolicyRuleSpec{false: p.Ingress, true: p.Egress}[egress]
		for k := range rules {
			if j.matches(&rules[k], p.Namespace.Value, egress, other, w) {
				return true
			}
		}
	}
	return !isolated && j.tier("Baseline", pod, egress, other, w) != "Deny"
}

// isolates follows the defaults of policyTypes.
func isolates(p *topology.PolicySpec, egress bool) bool {
	if p.PolicyTypes.Set && len(p.PolicyTypes.Value) > 0 {
		return slices.Contains(p.PolicyTypes.Value, map[bool]string{false: "Ingress", true: "Egress"}[egress])
	}
	return !egress || len(p.Egress) > 0
}

// tier is the action of the first rule that matches.
func (j *judge) tier(name string, pod *topology.PodSpec, egress bool, other far, w packet) string {
	list := slices.DeleteFunc(slices.Clone(j.spec.ClusterPolicies), func(p topology.ClusterPolicySpec) bool { return p.Tier.Value != name })
	slices.SortStableFunc(list, func(a, b topology.ClusterPolicySpec) int {
		return cmp.Or(a.Priority.Value-b.Priority.Value, cmp.Compare(a.Name, b.Name))
	})
	for i := range list {
		p := &list[i]
		if !j.isPeer(&p.Subject, "", far{pod: pod}) {
			continue
		}
		rules := map[bool][]topology.PolicyRuleSpec{false: p.Ingress, true: p.Egress}[egress]
		for k := range rules {
			if j.matches(&rules[k], "", egress, other, w) {
				return rules[k].Action.Value
			}
		}
	}
	return ""
}

// matches reports whether some peer and some port of a rule match. A named port is one
// that the destination declares; that must be a pod that the rule selects, not an
// address in a block.
func (j *judge) matches(rule *topology.PolicyRuleSpec, namespace string, egress bool, other far, w packet) bool {
	peers := rule.Peers
	if len(peers) == 0 {
		peers = []topology.PeerSpec{{}}
	}
	for i := range peers {
		p := &peers[i]
		anyone := len(rule.Peers) == 0
		if !anyone && !j.isPeer(p, namespace, other) {
			continue
		}
		byAddress := p.Block.Set || p.Networks.Set
		if len(rule.Ports) == 0 || slices.ContainsFunc(rule.Ports, func(port topology.PolicyPortSpec) bool {
			return w.is(port, !egress || !byAddress)
		}) {
			return true
		}
	}
	return false
}

// isPeer reports whether a peer is the other end.
func (j *judge) isPeer(p *topology.PeerSpec, namespace string, other far) bool {
	if p.Block.Set {
		return contains(p.Block, other.addr) && !slices.ContainsFunc(p.Except, func(e topology.Opt[netip.Prefix]) bool { return contains(e, other.addr) })
	}
	if p.Networks.Set {
		return slices.ContainsFunc(p.Networks.Value, func(n netip.Prefix) bool { return n.Contains(other.addr) })
	}
	if other.pod == nil || other.pod.HostNetwork.Value {
		return false
	}
	if !p.NamespaceSelector.Set && other.pod.Namespace.Value != namespace {
		return false
	}
	return (!p.NamespaceSelector.Set || selects(p.NamespaceSelector, j.namespaceLabels(other.pod.Namespace.Value))) &&
		(!p.PodSelector.Set || selects(p.PodSelector, other.pod.Labels))
}

func (j *judge) namespaceLabels(name string) map[string]string {
	labels := map[string]string{"kubernetes.io/metadata.name": name}
	for _, n := range j.spec.Namespaces {
		if n.Name == name {
			for k, v := range n.Labels {
				labels[k] = v
			}
		}
	}
	return labels
}

// is reports whether a port of a rule matches the connection.
func (w packet) is(port topology.PolicyPortSpec, names bool) bool {
	if port.Protocol.Or("tcp") != w.protocol {
		return false
	}
	if !port.Port.Set {
		return true
	}
	first, err := strconv.Atoi(port.Port.Value)
	if err == nil {
		return first <= w.port && w.port <= port.EndPort.Or(first)
	}
	return names && w.target != nil && slices.ContainsFunc(w.target.Ports, func(declared topology.PortSpec) bool {
		return declared.Name == port.Port.Value && declared.Protocol.Or("tcp") == w.protocol && declared.Port.Value == w.port
	})
}

// selects reports whether labels meet all conditions of a selector.
func selects(s topology.SelectorSpec, labels map[string]string) bool {
	for k, v := range s.MatchLabels {
		if got, ok := labels[k]; !ok || got != v {
			return false
		}
	}
	for _, e := range s.Expressions {
		got, ok := labels[e.Key.Value]
		listed := ok && slices.Contains(e.Values.Value, got)
		if !map[string]bool{"In": listed, "NotIn": !listed, "Exists": ok, "DoesNotExist": !ok}[e.Operator.Value] {
			return false
		}
	}
	return true
}
