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
	for _, b := range l.BlocksOf("policy") {
		sc := b.Scope
		c := blocks.Read[policyBody](l.Reader, b, sc)
		l.spec.Policies = append(l.spec.Policies, topology.PolicySpec{
			Name: b.Label, Origin: b.Origin(), Namespace: l.Name(c.namespace, "namespace", sc),
			PodSelector: l.selector(c, c.podSelector, "pod_selector", sc), PolicyTypes: l.Texts(c.policyTypes, sc),
			Ingress: l.policyRules(c, "ingress", false, sc), Egress: l.policyRules(c, "egress", false, sc),
		})
	}
	for _, b := range l.BlocksOf("cluster_policy") {
		sc := b.Scope
		c := blocks.Read[clusterPolicyBody](l.Reader, b, sc)
		s := topology.ClusterPolicySpec{
			Name: b.Label, Origin: b.Origin(), Tier: l.Text(c.tier, sc), Priority: l.Number(c.priority, sc),
			Ingress: l.policyRules(c, "ingress", true, sc), Egress: l.policyRules(c, "egress", true, sc),
		}
		if sb := l.Option(c, "subject"); sb != nil {
			s.Subject = l.policyPeer(sb, sc)
		}
		l.spec.ClusterPolicies = append(l.spec.ClusterPolicies, s)
	}
	l.changed()
}

// evalPolicyOptions reads the policies block.
func (l *loader) evalPolicyOptions() {
	b := l.Single("policies")
	if b == nil {
		return
	}
	c := &policiesBody{catalogue: l.catalogue}
	l.ReadInto(c, b, b.Scope)
	l.spec.PolicyOptions = topology.PoliciesSpec{
		Style: l.Text(c.style, b.Scope), Deny: l.Text(c.deny, b.Scope), Live: l.Text(c.live, b.Scope),
		HostEgress: l.Text(c.hostEgress, b.Scope), Origin: b.Origin(),
	}
	l.changed()
}

// policyRules reads the rules of a direction, each a block. A rule without peers or
// ports matches all of them; no rule at all is different.
func (l *loader) policyRules(c blocks.Shape, kind string, cluster bool, sc blocks.Scope) []topology.PolicyRuleSpec {
	peers := "from"
	if kind == "egress" {
		peers = "to"
	}
	var out []topology.PolicyRuleSpec
	for _, b := range c.Body().Named(kind) {
		rc := &ruleBody{peers: peers, cluster: cluster}
		l.ReadInto(rc, b, sc)
		rule := topology.PolicyRuleSpec{Name: l.Text(rc.name, sc).Value, Action: l.Text(rc.action, sc), Origin: b.Origin()}
		for _, pb := range rc.Named(peers) {
			rule.Peers = append(rule.Peers, l.policyPeer(pb, sc))
		}
		for _, pb := range rc.Named("port") {
			pc := blocks.Read[policyPortBody](l.Reader, pb, sc)
			port := topology.PolicyPortSpec{Port: l.TargetPort(pc.port, sc), EndPort: l.Number(pc.endPort, sc),
				Protocol: l.Text(pc.protocol, sc), Origin: pb.Origin()}
			if a := pc.port; a != nil && !port.Port.Set && !l.IsNull(a, sc) {
				port.Port.Origin = source.OriginOf(a.Expr.Range()) // reported
			}
			rule.Ports = append(rule.Ports, port)
		}
		out = append(out, rule)
	}
	return out
}

// policyPeer reads a from, to or subject block.
func (l *loader) policyPeer(b *blocks.Block, sc blocks.Scope) topology.PeerSpec {
	c := &peerBody{kind: b.Kind}
	l.ReadInto(c, b, sc)
	out := topology.PeerSpec{Origin: b.Origin(),
		PodSelector: l.selector(c, c.podSelector, "pod_selector", sc), NamespaceSelector: l.selector(c, c.namespaceSelector, "namespace_selector", sc)}
	if a := c.networks; a != nil && !l.IsNull(a, sc) {
		for _, p := range l.cidrs(a, sc) {
			out.Networks.Value = append(out.Networks.Value, p.Value)
		}
		out.Networks.Origin = source.OriginOf(a.Expr.Range())
		v, ok := l.Value(a, sc)
		out.Networks.Set = ok && len(blocks.Elements(v)) == len(out.Networks.Value)
	}
	bb := l.Option(c, "ip_block")
	if bb == nil {
		return out
	}
	bc := blocks.Read[ipBlockBody](l.Reader, bb, sc)
	out.Block.Origin = bb.Origin()
	switch a := bc.cidr; {
	case a == nil:
		l.Errorf(bb.KindRange, "Block without cidr", "An ip_block needs its addresses. Add cidr = \"10.0.0.0/8\".")
	default:
		list := l.cidrs(a, sc)
		if len(list) > 1 {
			l.Errorf(a.Expr.Range(), "Several cidrs in a block", "An ip_block has one cidr. Write a peer for each.")
		}
		if len(list) == 1 {
			out.Block = list[0]
		}
	}
	out.Except = l.cidrs(bc.except, sc)
	return out
}

// cidrs reads a list of CIDRs, or one, each with its place where it is written out.
func (l *loader) cidrs(a *hcl.Attribute, sc blocks.Scope) []topology.Opt[netip.Prefix] {
	v, ok := l.Value(a, sc)
	if !ok {
		return nil
	}
	list := blocks.Elements(v)
	items, diags := hcl.ExprList(a.Expr)
	var out []topology.Opt[netip.Prefix]
	for i, e := range list {
		r := a.Expr.Range()
		if !diags.HasErrors() && len(items) == len(list) {
			r = items[i].Range()
		}
		s, _ := blocks.AsText(e)
		p, err := netip.ParsePrefix(s)
		if err != nil || p.Addr().Is4In6() {
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
func (l *loader) selector(c blocks.Shape, a *hcl.Attribute, name string, sc blocks.Scope) (out topology.SelectorSpec) {
	b := l.Option(c, name)
	if b != nil {
		if a != nil {
			l.Errorf(b.KindRange, "Two selectors", "There is an attribute %s and a block. Remove one of them.", name)
		}
		bc := blocks.Read[labelSelectorBody](l.Reader, b, sc)
		out = topology.SelectorSpec{Set: true, MatchLabels: l.Labels(bc.matchLabels, sc), Origin: b.Origin()}
		for _, eb := range bc.Named("match_expressions") {
			ec := blocks.Read[expressionBody](l.Reader, eb, sc)
			e := topology.ExpressionSpec{Key: l.Text(ec.key, sc), Operator: l.Text(ec.operator, sc), Values: l.Texts(ec.values, sc), Origin: eb.Origin()}
			for _, x := range []struct {
				attr   *hcl.Attribute
				set    bool
				origin *topology.Origin
			}{{ec.key, e.Key.Set, &e.Key.Origin}, {ec.operator, e.Operator.Set, &e.Operator.Origin}, {ec.values, e.Values.Set, &e.Values.Origin}} {
				if x.attr != nil && !x.set && !l.IsNull(x.attr, sc) {
					*x.origin = source.OriginOf(x.attr.Expr.Range()) // reported
				}
			}
			out.Expressions = append(out.Expressions, e)
		}
		return out
	}
	v, ok := l.Value(a, sc)
	if !ok {
		return out
	}
	out = topology.SelectorSpec{Set: true, Origin: source.OriginOf(a.Expr.Range())}
	if !isStructured(v) {
		out.MatchLabels = l.Labels(a, sc)
		return out
	}
	if !l.selectorFields(a, v) {
		return out
	}
	fields := v.AsValueMap()
	if m, ok := fields["match_labels"]; ok && !m.IsNull() {
		labels, err := convert.Convert(m, cty.Map(cty.String))
		if err != nil {
			l.Errorf(a.Expr.Range(), "Wrong type", "match_labels must be a map of strings, not %s. Write match_labels = { app = \"web\" }.", blocks.Describe(m))
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
	if !v.Type().IsObjectType() && !v.Type().IsMapType() || v.LengthInt() == 0 || blocks.IsKind(v, blocks.ObjectKinds...) {
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
			l.Errorf(a.Expr.Range(), "Unknown field of selector", "A selector is a map of labels, or has %s: %q is neither.%s", topology.OneOf(known), name, blocks.OrKnown(name, known))
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
	for _, e := range blocks.Elements(list) {
		x, ok := expressionOf(e, a)
		if name := strayField(e); name != "" {
			l.Errorf(a.Expr.Range(), "Unknown field of expression", "A match expression has no %q.%s", name, blocks.OrKnown(name, new(expressionBody).Schema().AttrNames()))
			return nil
		}
		if !ok {
			l.Errorf(a.Expr.Range(), "Wrong type", "match_expressions must be a list of objects with key, operator and values, not of %s. Write { key = \"app\", operator = \"In\", values = [\"web\"] }.", blocks.Describe(e))
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
		if !slices.Contains(new(expressionBody).Schema().AttrNames(), name) {
			return name
		}
	}
	return ""
}

func expressionOf(v cty.Value, a *hcl.Attribute) (out topology.ExpressionSpec, ok bool) {
	if v.IsNull() || !v.Type().IsObjectType() && !v.Type().IsMapType() {
		return out, false
	}
	out.Origin = source.OriginOf(a.Expr.Range())
	for k, e := range v.AsValueMap() {
		if e.IsNull() {
			continue
		}
		text, isText := blocks.AsText(e)
		switch {
		case k == "key" && isText:
			out.Key = blocks.Written(text, a)
		case k == "operator" && isText:
			out.Operator = blocks.Written(text, a)
		case k == "values" && blocks.IsList(e):
			var values []string
			for _, x := range blocks.Elements(e) {
				s, err := convert.Convert(x, cty.String)
				if err != nil || s.IsNull() {
					return out, false
				}
				values = append(values, s.AsString())
			}
			out.Values = blocks.Written(values, a)
		default:
			return out, false
		}
	}
	return out, true
}
