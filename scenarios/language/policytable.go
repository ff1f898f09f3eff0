package language

import (
	"strconv"

	"github.com/hashicorp/hcl/v2"

	"github.com/netlab/netlab/topology"
)

// What the blocks of network policies may hold.

// policiesBody is how network policies are implemented.
type policiesBody struct {
	content
	catalogue topology.Catalogue

	style, deny, live, hostEgress *hcl.Attribute
}

func (b *policiesBody) schema() schema {
	return schema{
		kind: "policies block",
		attrs: []attribute{
			{at: &b.style, name: "style", holds: aString, def: strconv.Quote(b.catalogue.Styles[0].Name), means: "The implementation whose rules enforce them."},
			{at: &b.deny, name: "deny", holds: aString, def: `"drop"`, means: "What happens to a packet that is not allowed: drop or reject."},
			{at: &b.live, name: "live", holds: aString, def: `"keep"`, means: "What happens to connections that are no longer allowed: keep or cut."},
			{at: &b.hostEgress, name: "host_egress", holds: aString, def: `"allow"`, means: "Whether egress policies apply to packets to the pod's own node: allow or enforce."},
		},
	}
}

// policyBody is a NetworkPolicy.
type policyBody struct {
	content
	namespace, podSelector, policyTypes *hcl.Attribute
}

func (b *policyBody) schema() schema {
	return schema{
		kind: "policy",
		attrs: []attribute{
			{at: &b.namespace, name: "namespace", holds: aNamespace, def: `"default"`, means: "The namespace of the policy and of the pods that it selects."},
			{at: &b.podSelector, name: "pod_selector", holds: aSelector, means: "The pods that the policy applies to, all of its namespace if it is empty."},
			{at: &b.policyTypes, name: "policy_types", holds: aList, means: "The directions that the policy applies to: Ingress, Egress or both."},
		},
		blocks: named(false, "pod_selector", "ingress", "egress"),
	}
}

// clusterPolicyBody is a ClusterNetworkPolicy.
type clusterPolicyBody struct {
	content
	tier, priority *hcl.Attribute
}

func (b *clusterPolicyBody) schema() schema {
	return schema{
		kind: "cluster policy",
		attrs: []attribute{
			{at: &b.tier, name: "tier", holds: aString, means: "When it is evaluated: Admin before network policies, Baseline after them."},
			{at: &b.priority, name: "priority", holds: aNumber, means: "Its place in the tier; lower numbers come first."},
		},
		blocks: named(false, "subject", "ingress", "egress"),
	}
}

// peerBody is a from, to or subject block. A subject has selectors only.
type peerBody struct {
	content
	kind                                     string
	networks, podSelector, namespaceSelector *hcl.Attribute
}

func (b *peerBody) schema() schema {
	pods := attribute{at: &b.podSelector, name: "pod_selector", holds: aSelector, means: "The pods, all if it is empty."}
	namespaces := attribute{at: &b.namespaceSelector, name: "namespace_selector", holds: aSelector, means: "The namespaces of the pods."}
	if b.kind == "subject" {
		return schema{kind: "subject block", attrs: []attribute{namespaces, pods}, blocks: named(false, "namespace_selector", "pod_selector")}
	}
	networks := attribute{at: &b.networks, name: "networks", holds: someCIDRs, means: "The addresses, in an egress rule of a cluster policy."}
	return schema{kind: b.kind + " block", attrs: []attribute{networks, pods, namespaces}, blocks: named(false, "pod_selector", "namespace_selector", "ip_block")}
}

// ruleBody is a rule of a policy. Its peers are from or to blocks.
type ruleBody struct {
	content
	peers        string
	cluster      bool // of a cluster policy: it has attributes
	name, action *hcl.Attribute
}

func (b *ruleBody) schema() schema {
	blocks := named(false, b.peers, "port")
	if !b.cluster {
		return schema{kind: "rule", blocks: blocks}
	}
	return schema{kind: "rule of a cluster policy", blocks: blocks, attrs: []attribute{
		{at: &b.name, name: "name", holds: aString, means: "The name of the rule."},
		{at: &b.action, name: "action", holds: aString, means: "What happens to a connection that it matches: Accept, Deny or Pass."},
	}}
}

// ipBlockBody is addresses that are peers.
type ipBlockBody struct {
	content
	cidr, except *hcl.Attribute
}

func (b *ipBlockBody) schema() schema {
	return schema{
		kind: "ip_block",
		attrs: []attribute{
			{at: &b.cidr, name: "cidr", holds: aCIDR, required: true, means: "The addresses."},
			{at: &b.except, name: "except", holds: someCIDRs, means: "The addresses of cidr that are excluded."},
		},
	}
}

// policyPortBody is a port of a rule.
type policyPortBody struct {
	content
	port, endPort, protocol *hcl.Attribute
}

func (b *policyPortBody) schema() schema {
	return schema{
		kind: "port",
		attrs: []attribute{
			{at: &b.port, name: "port", holds: aPort, means: "The port, all if none is given."},
			{at: &b.endPort, name: "end_port", holds: aNumber, means: "The last port of a range that begins with port."},
			{at: &b.protocol, name: "protocol", holds: aString, def: `"tcp"`, means: "The protocol: tcp, udp or sctp."},
		},
	}
}

// labelSelectorBody is a label selector, written as a block.
type labelSelectorBody struct {
	content
	matchLabels *hcl.Attribute
}

func (b *labelSelectorBody) schema() schema {
	return schema{
		kind: "selector",
		attrs: []attribute{
			{at: &b.matchLabels, name: "match_labels", holds: aMap, means: "Labels that must all be present."},
		},
		blocks: named(false, "match_expressions"),
	}
}

// expressionBody is a condition on labels.
type expressionBody struct {
	content
	key, operator, values *hcl.Attribute
}

func (b *expressionBody) schema() schema {
	return schema{
		kind: "match expression",
		attrs: []attribute{
			{at: &b.key, name: "key", holds: aString, required: true, means: "The label to compare."},
			{at: &b.operator, name: "operator", holds: aString, required: true, means: "What must hold: In, NotIn, Exists or DoesNotExist."},
			{at: &b.values, name: "values", holds: aList, means: "The values of In and NotIn."},
		},
	}
}
