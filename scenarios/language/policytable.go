package language

import (
	"strconv"

	"github.com/hashicorp/hcl/v2"

	"github.com/netlab/netlab/scenarios/language/blocks"
	"github.com/netlab/netlab/topology"
)

// What the blocks of network policies may hold.

// policiesBody is how network policies are implemented.
type policiesBody struct {
	blocks.Content
	catalogue topology.Catalogue

	style, deny, live, hostEgress *hcl.Attribute
}

func (b *policiesBody) Schema() blocks.Schema {
	return blocks.Schema{
		Kind: "policies block",
		Attrs: []blocks.Attribute{
			{At: &b.style, Name: "style", Holds: blocks.AString, Default: strconv.Quote(b.catalogue.Styles[0].Name), Means: "The implementation whose rules enforce them."},
			{At: &b.deny, Name: "deny", Holds: blocks.AString, Default: `"drop"`, Means: "What happens to a packet that is not allowed: drop or reject."},
			{At: &b.live, Name: "live", Holds: blocks.AString, Default: `"keep"`, Means: "What happens to connections that are no longer allowed: keep or cut."},
			{At: &b.hostEgress, Name: "host_egress", Holds: blocks.AString, Default: `"allow"`, Means: "Whether egress policies apply to packets to the pod's own node: allow or enforce."},
		},
	}
}

// policyBody is a NetworkPolicy.
type policyBody struct {
	blocks.Content
	namespace, podSelector, policyTypes *hcl.Attribute
}

func (b *policyBody) Schema() blocks.Schema {
	return blocks.Schema{
		Kind: "policy",
		Attrs: []blocks.Attribute{
			{At: &b.namespace, Name: "namespace", Holds: blocks.ANamespace, Default: `"default"`, Means: "The namespace of the policy and of the pods that it selects."},
			{At: &b.podSelector, Name: "pod_selector", Holds: blocks.ASelector, Means: "The pods that the policy applies to, all of its namespace if it is empty."},
			{At: &b.policyTypes, Name: "policy_types", Holds: blocks.AList, Means: "The directions that the policy applies to: Ingress, Egress or both."},
		},
		Blocks: blocks.Named(false, "pod_selector", "ingress", "egress"),
	}
}

// clusterPolicyBody is a ClusterNetworkPolicy.
type clusterPolicyBody struct {
	blocks.Content
	tier, priority *hcl.Attribute
}

func (b *clusterPolicyBody) Schema() blocks.Schema {
	return blocks.Schema{
		Kind: "cluster policy",
		Attrs: []blocks.Attribute{
			{At: &b.tier, Name: "tier", Holds: blocks.AString, Means: "When it is evaluated: Admin before network policies, Baseline after them."},
			{At: &b.priority, Name: "priority", Holds: blocks.ANumber, Means: "Its place in the tier; lower numbers come first."},
		},
		Blocks: blocks.Named(false, "subject", "ingress", "egress"),
	}
}

// peerBody is a from, to or subject block. A subject has selectors only.
type peerBody struct {
	blocks.Content
	kind                                     string
	networks, podSelector, namespaceSelector *hcl.Attribute
}

func (b *peerBody) Schema() blocks.Schema {
	pods := blocks.Attribute{At: &b.podSelector, Name: "pod_selector", Holds: blocks.ASelector, Means: "The pods, all if it is empty."}
	namespaces := blocks.Attribute{At: &b.namespaceSelector, Name: "namespace_selector", Holds: blocks.ASelector, Means: "The namespaces of the pods."}
	if b.kind == "subject" {
		return blocks.Schema{Kind: "subject block", Attrs: []blocks.Attribute{namespaces, pods}, Blocks: blocks.Named(false, "namespace_selector", "pod_selector")}
	}
	networks := blocks.Attribute{At: &b.networks, Name: "networks", Holds: blocks.SomeCIDRs, Means: "The addresses, in an egress rule of a cluster policy."}
	return blocks.Schema{Kind: b.kind + " block", Attrs: []blocks.Attribute{networks, pods, namespaces}, Blocks: blocks.Named(false, "pod_selector", "namespace_selector", "ip_block")}
}

// ruleBody is a rule of a policy. Its peers are from or to blocks.
type ruleBody struct {
	blocks.Content
	peers        string
	cluster      bool // of a cluster policy: it has attributes
	name, action *hcl.Attribute
}

func (b *ruleBody) Schema() blocks.Schema {
	inner := blocks.Named(false, b.peers, "port")
	if !b.cluster {
		return blocks.Schema{Kind: "rule", Blocks: inner}
	}
	return blocks.Schema{Kind: "rule of a cluster policy", Blocks: inner, Attrs: []blocks.Attribute{
		{At: &b.name, Name: "name", Holds: blocks.AString, Means: "The name of the rule."},
		{At: &b.action, Name: "action", Holds: blocks.AString, Means: "What happens to a connection that it matches: Accept, Deny or Pass."},
	}}
}

// ipBlockBody is addresses that are peers.
type ipBlockBody struct {
	blocks.Content
	cidr, except *hcl.Attribute
}

func (b *ipBlockBody) Schema() blocks.Schema {
	return blocks.Schema{
		Kind: "ip_block",
		Attrs: []blocks.Attribute{
			{At: &b.cidr, Name: "cidr", Holds: blocks.ACIDR, Required: true, Means: "The addresses."},
			{At: &b.except, Name: "except", Holds: blocks.SomeCIDRs, Means: "The addresses of cidr that are excluded."},
		},
	}
}

// policyPortBody is a port of a rule.
type policyPortBody struct {
	blocks.Content
	port, endPort, protocol *hcl.Attribute
}

func (b *policyPortBody) Schema() blocks.Schema {
	return blocks.Schema{
		Kind: "port",
		Attrs: []blocks.Attribute{
			{At: &b.port, Name: "port", Holds: blocks.APort, Means: "The port, all if none is given."},
			{At: &b.endPort, Name: "end_port", Holds: blocks.ANumber, Means: "The last port of a range that begins with port."},
			{At: &b.protocol, Name: "protocol", Holds: blocks.AString, Default: `"tcp"`, Means: "The protocol: tcp, udp or sctp."},
		},
	}
}

// labelSelectorBody is a label selector, written as a block.
type labelSelectorBody struct {
	blocks.Content
	matchLabels *hcl.Attribute
}

func (b *labelSelectorBody) Schema() blocks.Schema {
	return blocks.Schema{
		Kind: "selector",
		Attrs: []blocks.Attribute{
			{At: &b.matchLabels, Name: "match_labels", Holds: blocks.AMap, Means: "Labels that must all be present."},
		},
		Blocks: blocks.Named(false, "match_expressions"),
	}
}

// expressionBody is a condition on labels.
type expressionBody struct {
	blocks.Content
	key, operator, values *hcl.Attribute
}

func (b *expressionBody) Schema() blocks.Schema {
	return blocks.Schema{
		Kind: "match expression",
		Attrs: []blocks.Attribute{
			{At: &b.key, Name: "key", Holds: blocks.AString, Required: true, Means: "The label to compare."},
			{At: &b.operator, Name: "operator", Holds: blocks.AString, Required: true, Means: "What must hold: In, NotIn, Exists or DoesNotExist."},
			{At: &b.values, Name: "values", Holds: blocks.AList, Means: "The values of In and NotIn."},
		},
	}
}
