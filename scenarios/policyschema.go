package scenarios

// What the blocks of network policies may hold.

func policiesSchema() schema {
	return schema{kind: "policies block", attrs: []string{"style", "deny", "live", "host_egress"}}
}

func policySchema() schema {
	return schema{kind: "policy", attrs: []string{"namespace", "pod_selector", "policy_types"}, blocks: named(false, "pod_selector", "ingress", "egress")}
}

func clusterPolicySchema() schema {
	return schema{kind: "cluster policy", attrs: []string{"tier", "priority"}, blocks: named(false, "subject", "ingress", "egress")}
}

func subjectSchema() schema {
	selectors := []string{"namespace_selector", "pod_selector"}
	return schema{kind: "subject block", attrs: selectors, blocks: named(false, selectors...)}
}

// policyRuleSchema is that of a rule whose peers are from or to blocks.
func policyRuleSchema(peers string) schema {
	return schema{kind: "rule", blocks: named(false, peers, "port")}
}

func clusterRuleSchema(peers string) schema {
	return schema{kind: "rule of a cluster policy", attrs: []string{"name", "action"}, blocks: named(false, peers, "port")}
}

func peerSchema(peers string) schema {
	selectors := []string{"pod_selector", "namespace_selector"}
	return schema{kind: peers + " block", attrs: append([]string{"networks"}, selectors...), blocks: named(false, append(selectors, "ip_block")...)}
}

func ipBlockSchema() schema {
	return schema{kind: "ip_block", attrs: []string{"cidr", "except"}}
}

func policyPortSchema() schema {
	return schema{kind: "port", attrs: []string{"port", "end_port", "protocol"}}
}

func policySelectorSchema() schema {
	return schema{kind: "selector", attrs: []string{"match_labels"}, blocks: named(false, "match_expressions")}
}

func expressionSchema() schema {
	return schema{kind: "match expression", attrs: []string{"key", "operator", "values"}}
}
