package topology

import "net/netip"

// PoliciesSpec is the policies block: how network policies are enforced.
type PoliciesSpec struct {
	Style      Opt[string]
	Deny       Opt[string] // drop (default) or reject
	Live       Opt[string] // keep (default) or cut
	HostEgress Opt[string] // allow (default) or enforce
	Agent      AgentSpec
	Origin     Origin
}

// PolicySpec is a policy block, a NetworkPolicy.
type PolicySpec struct {
	Name        string
	Written     Written
	Namespace   Opt[string]
	PodSelector SelectorSpec
	PolicyTypes Opt[[]string]
	Ingress     []PolicyRuleSpec
	Egress      []PolicyRuleSpec
	Origin      Origin
}

// ClusterPolicySpec is a cluster_policy block, a ClusterNetworkPolicy.
type ClusterPolicySpec struct {
	Name     string
	Written  Written
	Tier     Opt[string] // Admin or Baseline
	Priority Opt[int]
	Subject  PeerSpec // selectors only
	Ingress  []PolicyRuleSpec
	Egress   []PolicyRuleSpec
	Origin   Origin
}

// PolicyRuleSpec is one ingress or egress rule. Peers are the from or to blocks. As in
// Kubernetes, a rule without peers means any peer, and one without ports any port.
type PolicyRuleSpec struct {
	Name   string      // of a rule of a cluster policy; may be empty
	Action Opt[string] // Accept, Deny or Pass, of a rule of a cluster policy
	Peers  []PeerSpec
	Ports  []PolicyPortSpec
	Origin Origin
}

// PeerSpec is one from, to or subject block. What was written but is wrong has an
// Origin and is not Set.
type PeerSpec struct {
	PodSelector       SelectorSpec
	NamespaceSelector SelectorSpec
	Block             Opt[netip.Prefix] // ip_block
	Except            []Opt[netip.Prefix]
	Networks          Opt[[]netip.Prefix] // of an egress rule of a cluster policy
	Origin            Origin
}

// SelectorSpec is a label selector. One that is not Set was not written; one that is
// and has no conditions selects everything.
type SelectorSpec struct {
	Set         bool
	MatchLabels map[string]string
	Expressions []ExpressionSpec
	Origin      Origin
}

// ExpressionSpec is one of the match_expressions of a selector.
type ExpressionSpec struct {
	Key      Opt[string]
	Operator Opt[string] // In, NotIn, Exists, DoesNotExist
	Values   Opt[[]string]
	Origin   Origin
}

// PolicyPortSpec is one port block of a rule. Port is a number or a name, as text.
type PolicyPortSpec struct {
	Port     Opt[string]
	EndPort  Opt[int]
	Protocol Opt[string]
	Origin   Origin
}
