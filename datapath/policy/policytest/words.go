package policytest

import (
	"net/netip"
	"strconv"
	"strings"

	"github.com/netlab/netlab/topology"
)

// The vocabulary of cases. Each word changes the lab, a policy or a rule; it gets the
// lab, since address blocks are named after the ends in them.
type (
	statement func(*testLab, *topology.Spec)
	part      func(*testLab, *said)
	item      func(*testLab, *topology.PolicyRuleSpec)
)

// said is a policy or cluster policy that is being written.
type said struct {
	types           []string
	ingress, egress []topology.PolicyRuleSpec
}

// policy is a network policy of a namespace for the pods that a selector chooses.
func policy(namespace, pods string, parts ...part) statement {
	return func(r *testLab, spec *topology.Spec) {
		var s said
		for _, p := range parts {
			p(r, &s)
		}
		out := topology.PolicySpec{Name: "p" + strconv.Itoa(len(spec.Policies)+1), Namespace: set(namespace), PodSelector: selector(pods),
			Ingress: s.ingress, Egress: s.egress}
		if s.types != nil {
			out.PolicyTypes = set(s.types)
		}
		spec.Policies = append(spec.Policies, out)
	}
}

// admin and baseline are cluster policies for the pods that a namespace selector and a
// pod selector choose.
func admin(priority int, namespaces, pods string, parts ...part) statement {
	return tier("Admin", priority, namespaces, pods, parts)
}

func baseline(priority int, namespaces, pods string, parts ...part) statement {
	return tier("Baseline", priority, namespaces, pods, parts)
}

func tier(name string, priority int, namespaces, pods string, parts []part) statement {
	return func(r *testLab, spec *topology.Spec) {
		var s said
		for _, p := range parts {
			p(r, &s)
		}
		spec.ClusterPolicies = append(spec.ClusterPolicies, topology.ClusterPolicySpec{
			Name: "c" + strconv.Itoa(len(spec.ClusterPolicies)+1), Tier: set(name), Priority: set(priority),
			Subject: topology.PeerSpec{NamespaceSelector: selector(namespaces), PodSelector: selector(pods)},
			Ingress: s.ingress, Egress: s.egress})
	}
}

// types are the policyTypes.
func types(list ...string) part { return func(_ *testLab, s *said) { s.types = list } }

// in and out are rules of a network policy.
func in(items ...item) part  { return inDo("", items...) }
func out(items ...item) part { return outDo("", items...) }

// inDo and outDo are rules with an action.
func inDo(action string, items ...item) part {
	return func(r *testLab, s *said) { s.ingress = append(s.ingress, rule(r, action, items)) }
}

func outDo(action string, items ...item) part {
	return func(r *testLab, s *said) { s.egress = append(s.egress, rule(r, action, items)) }
}

func rule(r *testLab, action string, items []item) topology.PolicyRuleSpec {
	var out topology.PolicyRuleSpec
	if action != "" {
		out.Action = set(action)
	}
	for _, i := range items {
		i(r, &out)
	}
	return out
}

// pods, namespaces and both are peers by selectors.
func pods(s string) item { return both("-", s) }

func namespaces(s string) item { return both(s, "-") }

func both(namespaces, pods string) item {
	return func(_ *testLab, rule *topology.PolicyRuleSpec) {
		rule.Peers = append(rule.Peers, topology.PeerSpec{NamespaceSelector: selector(namespaces), PodSelector: selector(pods)})
	}
}

// block is a peer by a CIDR and its exceptions.
func block(name string, except ...string) item {
	return func(r *testLab, rule *topology.PolicyRuleSpec) {
		p := topology.PeerSpec{Block: set(r.block(name))}
		for _, e := range except {
			p.Except = append(p.Except, set(r.block(e)))
		}
		rule.Peers = append(rule.Peers, p)
	}
}

// networks is a peer of a cluster policy by CIDRs.
func networks(names ...string) item {
	return func(r *testLab, rule *topology.PolicyRuleSpec) {
		var list []netip.Prefix
		for _, n := range names {
			list = append(list, r.block(n))
		}
		rule.Peers = append(rule.Peers, topology.PeerSpec{Networks: set(list)})
	}
}

// ports are ports of a rule: tcp, tcp/80, 80, tcp/80-81, tcp/web, web.
func ports(list ...string) item {
	return func(_ *testLab, rule *topology.PolicyRuleSpec) {
		for _, text := range list {
			rule.Ports = append(rule.Ports, port(text))
		}
	}
}

func port(text string) topology.PolicyPortSpec {
	var p topology.PolicyPortSpec
	protocol, number, ok := strings.Cut(text, "/")
	switch {
	case ok:
		p.Protocol = set(protocol)
	case text == "tcp" || text == "udp" || text == "sctp":
		p.Protocol, number = set(text), ""
	default:
		number = text
	}
	first, last, ranged := strings.Cut(number, "-")
	if ranged {
		n, err := strconv.Atoi(last)
		if err != nil {
			panic("policytest: port " + text)
		}
		p.EndPort = set(n)
	}
	if first != "" {
		p.Port = set(first)
	}
	return p
}

// selector parses conditions separated by "; ": key=value, key in a,b, key notin a,b,
// key, !key. "-" is an absent selector, "" one without conditions.
func selector(text string) topology.SelectorSpec {
	if text == "-" {
		return topology.SelectorSpec{}
	}
	s := topology.SelectorSpec{Set: true}
	for _, c := range strings.Split(text, "; ") {
		expression := func(key, operator, values string) {
			e := topology.ExpressionSpec{Key: set(key), Operator: set(operator)}
			if values != "" {
				e.Values = set(strings.Split(values, ","))
			}
			s.Expressions = append(s.Expressions, e)
		}
		if key, value, ok := strings.Cut(c, "="); ok {
			if s.MatchLabels == nil {
				s.MatchLabels = map[string]string{}
			}
			s.MatchLabels[key] = value
		} else if key, values, ok := strings.Cut(c, " in "); ok {
			expression(key, "In", values)
		} else if key, values, ok := strings.Cut(c, " notin "); ok {
			expression(key, "NotIn", values)
		} else if key, ok := strings.CutPrefix(c, "!"); ok {
			expression(key, "DoesNotExist", "")
		} else if c != "" {
			expression(c, "Exists", "")
		}
	}
	return s
}

// label changes a label of a pod; an empty value removes it.
func label(pod, key, value string) statement {
	return func(_ *testLab, spec *topology.Spec) {
		for i := range spec.Pods {
			if p := &spec.Pods[i]; p.Namespace.Value+"/"+p.Name() == pod {
				relabel(p.Labels, key, value)
			}
		}
	}
}

// namespaceLabel changes a label of a namespace.
func namespaceLabel(name, key, value string) statement {
	return func(_ *testLab, spec *topology.Spec) {
		for i := range spec.Namespaces {
			if n := &spec.Namespaces[i]; n.Name == name {
				relabel(n.Labels, key, value)
			}
		}
	}
}

func relabel(labels map[string]string, key, value string) {
	labels[key] = value
	if value == "" {
		delete(labels, key)
	}
}

// hostEgress enforces egress policies towards the pod's own node.
func hostEgress() statement {
	return func(_ *testLab, spec *topology.Spec) { spec.PolicyOptions.HostEgress = set("enforce") }
}

// contains reports whether a block of the specification holds an address.
func contains(o topology.Opt[netip.Prefix], a netip.Addr) bool { return o.Value.Contains(a) }
