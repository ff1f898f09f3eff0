package language

import (
	"maps"
	"net/netip"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"github.com/netlab/netlab/scenarios/language/blocks"
	"github.com/netlab/netlab/scenarios/language/source"
	"github.com/netlab/netlab/topology"
)

// evalPolicies reads everything about network policies. Nothing depends on them, so
// that they may refer to any object.
func (l *loader) evalPolicies() {
	for b := range l.Objects("policy") {
		s := topology.PolicySpec{Name: b.Name(), Written: b.Written(), Origin: b.Origin()}
		c := l.Read(b, policyTable(&s))
		s.PodSelector = l.selector(c, "pod_selector")
		s.Ingress, s.Egress = l.policyRules(c, "ingress", "from", false), l.policyRules(c, "egress", "to", false)
		l.spec.Policies = append(l.spec.Policies, s)
	}
	for b := range l.Objects("cluster_policy") {
		s := topology.ClusterPolicySpec{Name: b.Name(), Written: b.Written(), Origin: b.Origin()}
		c := l.Read(b, clusterPolicyTable(&s))
		s.Ingress, s.Egress = l.policyRules(c, "ingress", "from", true), l.policyRules(c, "egress", "to", true)
		if sb := l.Option(c, "subject"); sb != nil {
			s.Subject = l.policyPeer(sb, true)
		}
		l.spec.ClusterPolicies = append(l.spec.ClusterPolicies, s)
	}
}

// evalPolicyOptions reads the policies block.
func (l *loader) evalPolicyOptions() {
	if b := l.Single("policies"); b != nil {
		l.spec.PolicyOptions.Origin = b.Origin()
		l.program(l.Read(b, l.policiesTable(&l.spec.PolicyOptions)), &l.spec.PolicyOptions.Agent.Program)
	}
}

// policyRules reads the rules of a direction, each a block. A rule without peers or
// ports matches all of them; no rule at all is different.
func (l *loader) policyRules(c *blocks.Content, kind, peers string, cluster bool) []topology.PolicyRuleSpec {
	var out []topology.PolicyRuleSpec
	for _, b := range c.Named(kind) {
		rule := topology.PolicyRuleSpec{Origin: b.Origin()}
		rc := l.Read(b, ruleTable(&rule, peers, cluster))
		for _, pb := range rc.Named(peers) {
			rule.Peers = append(rule.Peers, l.policyPeer(pb, cluster))
		}
		for _, pb := range rc.Named("port") {
			port := topology.PolicyPortSpec{Origin: pb.Origin()}
			l.Read(pb, policyPortTable(&port))
			rule.Ports = append(rule.Ports, port)
		}
		out = append(out, rule)
	}
	return out
}

// policyPeer reads a from, to or subject block.
func (l *loader) policyPeer(b *blocks.Block, cluster bool) topology.PeerSpec {
	out := topology.PeerSpec{Origin: b.Origin()}
	c := l.Read(b, peerTable(&out, b.Kind, cluster))
	out.PodSelector, out.NamespaceSelector = l.selector(c, "pod_selector"), l.selector(c, "namespace_selector")
	bb := l.Option(c, "ip_block")
	if bb == nil {
		return out
	}
	out.Block.Origin = bb.Origin()
	var a *hcl.Attribute
	bc := l.Read(bb, ipBlockTable(&out, &a))
	if a == nil {
		l.Errorf(bb.KindRange, "Block without cidr", "An ip_block needs its addresses. Add cidr = \"10.0.0.0/8\".")
		return out
	}
	switch list := cidrs(l.Reader, a, bc.Scope); {
	case len(list) > 1:
		l.Errorf(a.Expr.Range(), "Several cidrs in a block", "An ip_block has one cidr. Write a peer for each.")
	case len(list) == 1:
		out.Block = list[0]
	}
	return out
}

// networks reads CIDRs. They are not set if one of them is unusable.
func networks(l *blocks.Reader, a *hcl.Attribute, sc blocks.Scope) (out topology.Opt[[]netip.Prefix]) {
	if l.IsNull(a, sc) {
		return out
	}
	list := cidrs(l, a, sc)
	for _, p := range list {
		out.Value = append(out.Value, p.Value)
	}
	v, ok := l.Value(a, sc)
	out.Set = ok && len(blocks.Elements(v)) == len(list)
	out.Origin = source.OriginOf(a.Expr.Range())
	return out
}

// cidrs reads a list of CIDRs, or one, each with its place where it is written out.
func cidrs(l *blocks.Reader, a *hcl.Attribute, sc blocks.Scope) []topology.Opt[netip.Prefix] {
	v, ok := l.Value(a, sc)
	if !ok {
		return nil
	}
	var out []topology.Opt[netip.Prefix]
	list := blocks.Elements(v)
	for i, e := range list {
		r := blocks.Item(a, i, len(list))
		p, ok := blocks.AsPrefix(e)
		if !ok {
			l.Errorf(r, "Invalid CIDR", "%s is not a CIDR. Write it like \"10.0.0.0/8\", or \"10.0.0.1/32\" for one address.", blocks.QuoteOr(e))
			continue
		}
		out = append(out, topology.Opt[netip.Prefix]{Value: p, Set: true, Origin: source.OriginOf(r)})
	}
	return out
}

// selector reads a label selector: an attribute, whose value is a map of labels or has
// match_labels and match_expressions, or a block with these. JSON knows the
// attribute only.
func (l *loader) selector(c *blocks.Content, name string) (out topology.SelectorSpec) {
	a := c.Attr(name)
	if b := l.Option(c, name); b != nil {
		if a != nil {
			l.Errorf(b.KindRange, "Two selectors", "There is an attribute %s and a block. Remove one of them.", name)
		}
		out = topology.SelectorSpec{Set: true, Origin: b.Origin()}
		for _, eb := range l.Read(b, selectorTable(&out)).Named("match_expressions") {
			e := topology.ExpressionSpec{Origin: eb.Origin()}
			l.Read(eb, expressionTable(&e))
			out.Expressions = append(out.Expressions, e)
		}
		return out
	}
	v, ok := l.Value(a, c.Scope)
	if !ok {
		return out
	}
	out = topology.SelectorSpec{Set: true, Origin: source.OriginOf(a.Expr.Range())}
	if !isStructured(v) {
		out.MatchLabels = l.Labels(a, c.Scope)
		return out
	}
	fields := v.AsValueMap()
	good := true
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if !slices.Contains(selectorFields, name) {
			l.Errorf(a.Expr.Range(), "Unknown field of selector", "A selector is a map of labels, or has %s: %q is neither.%s", topology.OneOf(selectorFields), name, blocks.OrKnown(name, selectorFields))
			good = false
		}
	}
	if !good {
		return out
	}
	if m, ok := fields["match_labels"]; ok && !m.IsNull() {
		labels, err := convert.Convert(m, cty.Map(cty.String))
		if err != nil {
			l.Errorf(a.Expr.Range(), "Wrong type", "match_labels must be a map of strings, not %s. Write match_labels = { app = \"web\" }.", blocks.Describe(m))
			return out
		}
		out.MatchLabels = map[string]string{}
		for k, e := range labels.AsValueMap() {
			if !e.IsNull() {
				out.MatchLabels[k] = e.AsString()
			}
		}
	}
	if list, ok := fields["match_expressions"]; ok && !list.IsNull() {
		out.Expressions = l.expressions(a, list)
	}
	return out
}

// selectorFields are those of a structured selector.
var selectorFields = []string{"match_labels", "match_expressions"}

// isStructured tells { match_labels = { … } } from a map of labels, whose values are
// simple. No label has a list or a map.
func isStructured(v cty.Value) bool {
	if !blocks.IsMap(v) || v.LengthInt() == 0 || blocks.IsKind(v, blocks.ObjectKinds...) {
		return false
	}
	for name, e := range v.AsValueMap() {
		if e.IsNull() && slices.Contains(selectorFields, name) || !e.IsNull() && !e.Type().IsPrimitiveType() {
			return true
		}
	}
	return false
}

// expressions reads a list of { key, operator, values }.
func (l *loader) expressions(a *hcl.Attribute, list cty.Value) []topology.ExpressionSpec {
	known := expressionTable(new(topology.ExpressionSpec)).AttrNames()
	var out []topology.ExpressionSpec
	for _, e := range blocks.Elements(list) {
		if !e.IsNull() && e.Type().IsObjectType() {
			for _, name := range slices.Sorted(maps.Keys(e.Type().AttributeTypes())) {
				if !slices.Contains(known, name) {
					l.Errorf(a.Expr.Range(), "Unknown field of expression", "A match expression has no %q.%s", name, blocks.OrKnown(name, known))
					return nil
				}
			}
		}
		x, ok := expressionOf(e, a)
		if !ok {
			l.Errorf(a.Expr.Range(), "Wrong type", "match_expressions must be a list of objects with key, operator and values, not of %s. Write { key = \"app\", operator = \"In\", values = [\"web\"] }.", blocks.Describe(e))
			return nil
		}
		out = append(out, x)
	}
	return out
}

func expressionOf(v cty.Value, a *hcl.Attribute) (out topology.ExpressionSpec, ok bool) {
	if v.IsNull() || !blocks.IsMap(v) {
		return out, false
	}
	out.Origin = source.OriginOf(a.Expr.Range())
	for k, e := range v.AsValueMap() {
		if e.IsNull() {
			continue
		}
		text, isText := blocks.AsText(e)
		values, areTexts := blocks.TextsIn(e)
		switch {
		case k == "key" && isText:
			out.Key = blocks.Written(text, a)
		case k == "operator" && isText:
			out.Operator = blocks.Written(text, a)
		case k == "values" && areTexts:
			out.Values = blocks.Written(values, a)
		default:
			return out, false
		}
	}
	return out, true
}
