package language

import (
	"maps"
	"net/netip"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"github.com/netlab/netlab/topology"
)

// evalPolicies reads everything about network policies. Nothing depends on them, so
// that they may refer to any object.
func (l *loader) evalPolicies() {
	for _, b := range l.blocksOf("policy") {
		sc := b.scope
		c := read[policyBody](l.reader, b, sc)
		l.spec.Policies = append(l.spec.Policies, topology.PolicySpec{
			Name: b.label, Origin: b.origin(), Namespace: l.name(c.namespace, "namespace", sc),
			PodSelector: l.selector(c, c.podSelector, "pod_selector", sc), PolicyTypes: l.texts(c.policyTypes, sc),
			Ingress: l.policyRules(c, "ingress", false, sc), Egress: l.policyRules(c, "egress", false, sc),
		})
	}
	for _, b := range l.blocksOf("cluster_policy") {
		sc := b.scope
		c := read[clusterPolicyBody](l.reader, b, sc)
		s := topology.ClusterPolicySpec{
			Name: b.label, Origin: b.origin(), Tier: l.text(c.tier, sc), Priority: l.number(c.priority, sc),
			Ingress: l.policyRules(c, "ingress", true, sc), Egress: l.policyRules(c, "egress", true, sc),
		}
		if sb := l.option(c, "subject"); sb != nil {
			s.Subject = l.policyPeer(sb, sc)
		}
		l.spec.ClusterPolicies = append(l.spec.ClusterPolicies, s)
	}
	l.changed()
}

// evalPolicyOptions reads the policies block.
func (l *loader) evalPolicyOptions() {
	b := l.single("policies")
	if b == nil {
		return
	}
	c := &policiesBody{catalogue: l.catalogue}
	l.readInto(c, b, b.scope)
	l.spec.PolicyOptions = topology.PoliciesSpec{
		Style: l.text(c.style, b.scope), Deny: l.text(c.deny, b.scope), Live: l.text(c.live, b.scope),
		HostEgress: l.text(c.hostEgress, b.scope), Origin: b.origin(),
	}
	l.changed()
}

// policyRules reads the rules of a direction, each a block. A rule without peers or
// ports matches all of them; no rule at all is different.
func (l *loader) policyRules(c shape, kind string, cluster bool, sc scope) []topology.PolicyRuleSpec {
	peers := "from"
	if kind == "egress" {
		peers = "to"
	}
	var out []topology.PolicyRuleSpec
	for _, b := range c.body().named(kind) {
		rc := &ruleBody{peers: peers, cluster: cluster}
		l.readInto(rc, b, sc)
		rule := topology.PolicyRuleSpec{Name: l.text(rc.name, sc).Value, Action: l.text(rc.action, sc), Origin: b.origin()}
		for _, pb := range rc.named(peers) {
			rule.Peers = append(rule.Peers, l.policyPeer(pb, sc))
		}
		for _, pb := range rc.named("port") {
			pc := read[policyPortBody](l.reader, pb, sc)
			port := topology.PolicyPortSpec{Port: l.targetPort(pc.port, sc), EndPort: l.number(pc.endPort, sc),
				Protocol: l.text(pc.protocol, sc), Origin: pb.origin()}
			if a := pc.port; a != nil && !port.Port.Set && !l.isNull(a, sc) {
				port.Port.Origin = originOf(a.Expr.Range()) // reported
			}
			rule.Ports = append(rule.Ports, port)
		}
		out = append(out, rule)
	}
	return out
}

// policyPeer reads a from, to or subject block.
func (l *loader) policyPeer(b *block, sc scope) topology.PeerSpec {
	c := &peerBody{kind: b.kind}
	l.readInto(c, b, sc)
	out := topology.PeerSpec{Origin: b.origin(),
		PodSelector: l.selector(c, c.podSelector, "pod_selector", sc), NamespaceSelector: l.selector(c, c.namespaceSelector, "namespace_selector", sc)}
	if a := c.networks; a != nil && !l.isNull(a, sc) {
		for _, p := range l.cidrs(a, sc) {
			out.Networks.Value = append(out.Networks.Value, p.Value)
		}
		out.Networks.Origin = originOf(a.Expr.Range())
		v, ok := l.value(a, sc)
		out.Networks.Set = ok && len(elements(v)) == len(out.Networks.Value)
	}
	bb := l.option(c, "ip_block")
	if bb == nil {
		return out
	}
	bc := read[ipBlockBody](l.reader, bb, sc)
	out.Block.Origin = bb.origin()
	switch a := bc.cidr; {
	case a == nil:
		l.errorf(bb.kindRange, "Block without cidr", "An ip_block needs its addresses. Add cidr = \"10.0.0.0/8\".")
	default:
		list := l.cidrs(a, sc)
		if len(list) > 1 {
			l.errorf(a.Expr.Range(), "Several cidrs in a block", "An ip_block has one cidr. Write a peer for each.")
		}
		if len(list) == 1 {
			out.Block = list[0]
		}
	}
	out.Except = l.cidrs(bc.except, sc)
	return out
}

// cidrs reads a list of CIDRs, or one, each with its place where it is written out.
func (l *loader) cidrs(a *hcl.Attribute, sc scope) []topology.Opt[netip.Prefix] {
	v, ok := l.value(a, sc)
	if !ok {
		return nil
	}
	list := elements(v)
	items, diags := hcl.ExprList(a.Expr)
	var out []topology.Opt[netip.Prefix]
	for i, e := range list {
		r := a.Expr.Range()
		if !diags.HasErrors() && len(items) == len(list) {
			r = items[i].Range()
		}
		s, _ := asText(e)
		p, err := netip.ParsePrefix(s)
		if err != nil || p.Addr().Is4In6() {
			l.errorf(r, "Invalid CIDR", "%s is not a CIDR. Write it like \"10.0.0.0/8\", or \"10.0.0.1/32\" for one address.", quoteOr(e))
			continue
		}
		out = append(out, topology.Opt[netip.Prefix]{Value: p, Set: true, Origin: originOf(r)})
	}
	return out
}

// selector reads a label selector: an attribute, whose value is a map of labels or has
// match_labels and match_expressions, or a block with these. JSON knows the
// attribute only.
func (l *loader) selector(c shape, a *hcl.Attribute, name string, sc scope) (out topology.SelectorSpec) {
	b := l.option(c, name)
	if b != nil {
		if a != nil {
			l.errorf(b.kindRange, "Two selectors", "There is an attribute %s and a block. Remove one of them.", name)
		}
		bc := read[labelSelectorBody](l.reader, b, sc)
		out = topology.SelectorSpec{Set: true, MatchLabels: l.labels(bc.matchLabels, sc), Origin: b.origin()}
		for _, eb := range bc.named("match_expressions") {
			ec := read[expressionBody](l.reader, eb, sc)
			e := topology.ExpressionSpec{Key: l.text(ec.key, sc), Operator: l.text(ec.operator, sc), Values: l.texts(ec.values, sc), Origin: eb.origin()}
			for _, x := range []struct {
				attr   *hcl.Attribute
				set    bool
				origin *topology.Origin
			}{{ec.key, e.Key.Set, &e.Key.Origin}, {ec.operator, e.Operator.Set, &e.Operator.Origin}, {ec.values, e.Values.Set, &e.Values.Origin}} {
				if x.attr != nil && !x.set && !l.isNull(x.attr, sc) {
					*x.origin = originOf(x.attr.Expr.Range()) // reported
				}
			}
			out.Expressions = append(out.Expressions, e)
		}
		return out
	}
	v, ok := l.value(a, sc)
	if !ok {
		return out
	}
	out = topology.SelectorSpec{Set: true, Origin: originOf(a.Expr.Range())}
	if !isStructured(v) {
		out.MatchLabels = l.labels(a, sc)
		return out
	}
	if !l.selectorFields(a, v) {
		return out
	}
	fields := v.AsValueMap()
	if m, ok := fields["match_labels"]; ok && !m.IsNull() {
		labels, err := convert.Convert(m, cty.Map(cty.String))
		if err != nil {
			l.errorf(a.Expr.Range(), "Wrong type", "match_labels must be a map of strings, not %s. Write match_labels = { app = \"web\" }.", describe(m))
			return out
		}
		out.MatchLabels = textsOf(labels)
	}
	if list, ok := fields["match_expressions"]; ok && !list.IsNull() {
		out.Expressions = l.expressions(a, list)
	}
	return out
}

// isStructured tells { match_labels = { … } } from a map of labels, whose values are
// simple. No label has a list or a map.
func isStructured(v cty.Value) bool {
	if !v.Type().IsObjectType() && !v.Type().IsMapType() || v.LengthInt() == 0 || isKind(v, objectKinds...) {
		return false
	}
	fields := v.AsValueMap()
	for _, name := range selectorFieldNames() {
		if e, ok := fields[name]; ok && e.IsNull() {
			return true
		}
	}
	for _, e := range fields {
		if !e.IsNull() && !e.Type().IsPrimitiveType() {
			return true
		}
	}
	return false
}

func selectorFieldNames() []string { return []string{"match_labels", "match_expressions"} }

// selectorFields reports unknown fields of a structured selector; false if there are any.
func (l *loader) selectorFields(a *hcl.Attribute, v cty.Value) bool {
	good := true
	for _, name := range slices.Sorted(maps.Keys(v.AsValueMap())) {
		if known := selectorFieldNames(); !slices.Contains(known, name) {
			l.errorf(a.Expr.Range(), "Unknown field of selector", "A selector is a map of labels, or has %s: %q is neither.%s", topology.OneOf(known), name, orKnown(name, known))
			good = false
		}
	}
	return good
}

func textsOf(m cty.Value) map[string]string {
	out := map[string]string{}
	for k, e := range m.AsValueMap() {
		if !e.IsNull() {
			out[k] = e.AsString()
		}
	}
	return out
}

// expressions reads a list of { key, operator, values }.
func (l *loader) expressions(a *hcl.Attribute, list cty.Value) []topology.ExpressionSpec {
	var out []topology.ExpressionSpec
	for _, e := range elements(list) {
		x, ok := expressionOf(e, a)
		if name := strayField(e); name != "" {
			l.errorf(a.Expr.Range(), "Unknown field of expression", "A match expression has no %q.%s", name, orKnown(name, new(expressionBody).schema().attrNames()))
			return nil
		}
		if !ok {
			l.errorf(a.Expr.Range(), "Wrong type", "match_expressions must be a list of objects with key, operator and values, not of %s. Write { key = \"app\", operator = \"In\", values = [\"web\"] }.", describe(e))
			return nil
		}
		out = append(out, x)
	}
	return out
}

// strayField is a field that an expression must not have; "": none.
func strayField(v cty.Value) string {
	if v.IsNull() || !v.Type().IsObjectType() {
		return ""
	}
	for _, name := range slices.Sorted(maps.Keys(v.Type().AttributeTypes())) {
		if !slices.Contains(new(expressionBody).schema().attrNames(), name) {
			return name
		}
	}
	return ""
}

func expressionOf(v cty.Value, a *hcl.Attribute) (out topology.ExpressionSpec, ok bool) {
	if v.IsNull() || !v.Type().IsObjectType() && !v.Type().IsMapType() {
		return out, false
	}
	out.Origin = originOf(a.Expr.Range())
	for k, e := range v.AsValueMap() {
		if e.IsNull() {
			continue
		}
		text, isText := asText(e)
		switch {
		case k == "key" && isText:
			out.Key = written(text, a)
		case k == "operator" && isText:
			out.Operator = written(text, a)
		case k == "values" && isList(e):
			var values []string
			for _, x := range elements(e) {
				s, err := convert.Convert(x, cty.String)
				if err != nil || s.IsNull() {
					return out, false
				}
				values = append(values, s.AsString())
			}
			out.Values = written(values, a)
		default:
			return out, false
		}
	}
	return out, true
}
