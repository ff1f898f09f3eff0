package language

import (
	"strconv"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"github.com/netlab/netlab/scenarios/language/blocks"
	"github.com/netlab/netlab/topology"
)

// What the blocks of network policies may hold.

// policiesTable is how network policies are implemented.
func (l *loader) policiesTable(s *topology.PoliciesSpec) blocks.Schema {
	known := l.catalogue.StylesThat(func(s topology.PolicyStyle) bool { return !s.Exec })
	exec := topology.First(l.catalogue.Styles, func(s topology.PolicyStyle) bool { return s.Exec })
	return blocks.Schema{Kind: "policies block", Blocks: l.programBlocks("agent"), Attrs: append([]blocks.Attribute{
		{At: &s.Style, Name: "style", Default: strconv.Quote(l.catalogue.Styles[0].Name), Means: "The implementation whose rules enforce them: " + strings.Join(l.catalogue.StyleNames(), ", ") + "; some network modes bring another default."},
		{At: &s.Deny, Name: "deny", Default: `"drop"`, Means: "What happens to a packet that is not allowed: drop or reject."},
		{At: &s.Live, Name: "live", Default: `"keep"`, Means: "What happens to connections that are no longer allowed: keep or cut."},
		{At: &s.HostEgress, Name: "host_egress", Default: `"allow"`, Means: "Whether egress policies apply to packets to the pod's own node: allow or enforce."},
	}, l.agentAttributes(&s.Agent, "style", exec.Name, "enforces network policies", strconv.Quote(known[0]), known)...)}
}

// policyTable is a NetworkPolicy.
func policyTable(s *topology.PolicySpec) blocks.Schema {
	return blocks.Schema{Kind: "policy", Blocks: []blocks.Nested{
		selectorBlock("pod_selector", "The pods that the policy applies to."),
		ruleBlock("ingress", "from", false), ruleBlock("egress", "to", false),
	}, Attrs: blocks.Object(blocks.OwnName(&s.Name, &s.Written.Named), []blocks.Attribute{
		{At: blocks.NameOf("namespace", &s.Namespace), Name: "namespace", Default: `"default"`, Means: "The namespace of the policy and of the pods that it selects."},
		{At: blocks.Raw("label selector"), Name: "pod_selector", Means: "The pods that the policy applies to, all of its namespace if it is empty."},
		{At: &s.PolicyTypes, Name: "policy_types", Means: "The directions that the policy applies to: Ingress, Egress or both."},
	})}
}

// clusterPolicyTable is a ClusterNetworkPolicy.
func clusterPolicyTable(s *topology.ClusterPolicySpec) blocks.Schema {
	return blocks.Schema{Kind: "cluster policy", Blocks: []blocks.Nested{
		peerBlock("subject", "The pods that the policy applies to.", true),
		ruleBlock("ingress", "from", true), ruleBlock("egress", "to", true),
	}, Attrs: blocks.Object(blocks.OwnName(&s.Name, &s.Written.Named), []blocks.Attribute{
		{At: &s.Tier, Name: "tier", Means: "When it is evaluated: Admin before network policies, Baseline after them."},
		{At: &s.Priority, Name: "priority", Means: "Its place in the tier; lower numbers come first."},
	})}
}

func selectorBlock(name, means string) blocks.Nested {
	return blocks.Plain(name, means, func() blocks.Schema { return selectorTable(new(topology.SelectorSpec)) })
}

func ruleBlock(direction, peers string, cluster bool) blocks.Nested {
	means := map[string]string{"from": "Connections to these pods that are allowed.", "to": "Connections from these pods that are allowed."}[peers]
	if cluster {
		means = map[string]string{"from": "A rule for connections to the pods.", "to": "A rule for connections from the pods."}[peers]
	}
	return blocks.Plain(direction, means, func() blocks.Schema { return ruleTable(new(topology.PolicyRuleSpec), peers, cluster) })
}

func peerBlock(kind, means string, cluster bool) blocks.Nested {
	return blocks.Plain(kind, means, func() blocks.Schema { return peerTable(new(topology.PeerSpec), kind, cluster) })
}

// peerTable is a from, to or subject block. A subject has selectors only.
func peerTable(s *topology.PeerSpec, kind string, cluster bool) blocks.Schema {
	pods := blocks.Attribute{At: blocks.Raw("label selector"), Name: "pod_selector", Means: "The pods, all if it is empty."}
	namespaces := blocks.Attribute{At: blocks.Raw("label selector"), Name: "namespace_selector", Means: "The namespaces of the pods."}
	selectors := []blocks.Nested{selectorBlock("namespace_selector", "The namespaces of the pods."), selectorBlock("pod_selector", "The pods.")}
	if kind == "subject" {
		return blocks.Schema{Kind: "subject block", Attrs: []blocks.Attribute{namespaces, pods}, Blocks: selectors}
	}
	networks := blocks.Attribute{At: blocks.As(&s.Networks, "list of CIDRs", networks), Name: "networks", Means: "The addresses.", Refused: kind != "to" || !cluster}
	addresses := blocks.Plain("ip_block", "Addresses, of hosts outside the cluster for example.", func() blocks.Schema { return ipBlockTable(s, new(*hcl.Attribute)) })
	addresses.Refused = cluster
	return blocks.Schema{Kind: kind + " block", Attrs: []blocks.Attribute{networks, pods, namespaces}, Blocks: append(selectors, addresses)}
}

// ruleTable is a rule of a policy. Its peers are from or to blocks.
func ruleTable(s *topology.PolicyRuleSpec, peers string, cluster bool) blocks.Schema {
	inner := []blocks.Nested{
		peerBlock(peers, "Whom the rule matches.", cluster),
		blocks.Plain("port", "The ports that the rule matches.", func() blocks.Schema { return policyPortTable(new(topology.PolicyPortSpec)) }),
	}
	if !cluster {
		return blocks.Schema{Kind: "rule", Blocks: inner}
	}
	return blocks.Schema{Kind: "rule of a cluster policy", Blocks: inner, Attrs: []blocks.Attribute{
		{At: &s.Name, Name: "name", Means: "The name of the rule."},
		{At: &s.Action, Name: "action", Means: "What happens to a connection that it matches: Accept, Deny or Pass."},
	}}
}

// ipBlockTable is addresses that are peers.
func ipBlockTable(s *topology.PeerSpec, cidr **hcl.Attribute) blocks.Schema {
	return blocks.Schema{Kind: "ip_block", Attrs: []blocks.Attribute{
		{At: blocks.AsWritten(cidr, "CIDR"), Name: "cidr", Required: true, Means: "The addresses."},
		{At: blocks.As(&s.Except, "list of CIDRs", cidrs), Name: "except", Means: "The addresses of cidr that are excluded."},
	}}
}

// policyPortTable is a port of a rule.
func policyPortTable(s *topology.PolicyPortSpec) blocks.Schema {
	return blocks.Schema{Kind: "port", Attrs: []blocks.Attribute{
		{At: blocks.Reported(&s.Port, "port number or name", (*blocks.Reader).TargetPort), Name: "port", Means: "The port, all if none is given."},
		{At: &s.EndPort, Name: "end_port", Means: "The last port of a range that begins with port."},
		{At: &s.Protocol, Name: "protocol", Default: `"tcp"`, Means: "The protocol: tcp, udp or sctp."},
	}}
}

// selectorTable is a label selector, written as a block.
func selectorTable(s *topology.SelectorSpec) blocks.Schema {
	return blocks.Schema{Kind: "selector", Blocks: []blocks.Nested{
		blocks.Plain("match_expressions", "A condition on a label.", func() blocks.Schema { return expressionTable(new(topology.ExpressionSpec)) }),
	}, Attrs: []blocks.Attribute{
		{At: &s.MatchLabels, Name: "match_labels", Means: "Labels that must all be present."},
	}}
}

// expressionTable is a condition on labels.
func expressionTable(s *topology.ExpressionSpec) blocks.Schema {
	return blocks.Schema{Kind: "match expression", Attrs: []blocks.Attribute{
		{At: blocks.Reported(&s.Key, "string", (*blocks.Reader).Text), Name: "key", Required: true, Means: "The label to compare."},
		{At: blocks.Reported(&s.Operator, "string", (*blocks.Reader).Text), Name: "operator", Required: true, Means: "What must hold: In, NotIn, Exists or DoesNotExist."},
		{At: blocks.Reported(&s.Values, "list of strings", (*blocks.Reader).Texts), Name: "values", Means: "The values of In and NotIn."},
	}}
}
