package scenarios

import (
	"strconv"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/netlab/netlab/topology"
)

func (l *loader) evalServices() {
	seen := map[string]bool{}
	for _, b := range l.blocksOf("service") {
		l.declareDynamic(b)
		if seen[b.label] {
			continue // reported when it was declared
		}
		seen[b.label] = true
		l.spec.Services = append(l.spec.Services, l.evalService(b))
	}
	l.changed()
}

func (l *loader) evalService(b *block) topology.ServiceSpec {
	sc := b.scope
	c := l.read(b, serviceSchema(), sc)
	s := topology.ServiceSpec{
		Name: b.label, Origin: b.origin(),
		Namespace: l.name(c.attrs["namespace"], "namespace", sc), Type: l.text(c.attrs["type"], sc),
		ClusterIP:             l.text(c.attrs["cluster_ip"], sc),
		ExternalTrafficPolicy: l.text(c.attrs["external_traffic_policy"], sc),
		InternalTrafficPolicy: l.text(c.attrs["internal_traffic_policy"], sc),
	}
	if a := c.attrs["selector"]; a != nil {
		s.Selector, s.SelectorOrigin = l.labels(a, sc), originOf(a.Expr.Range())
	}
	if sb := l.option(c, "selector"); sb != nil {
		selector := l.read(sb, selectorSchema(), sc)
		if c.attrs["selector"] != nil {
			l.errorf(sb.kindRange, "Two selectors", "Service %q has a selector attribute and a selector block. Remove one of them.", b.label)
		}
		s.Selector, s.SelectorOrigin = l.labels(selector.attrs["match_labels"], sc), sb.origin()
	}
	for _, pb := range c.named("port") {
		pc := l.read(pb, servicePortSchema(), sc)
		s.Ports = append(s.Ports, topology.ServicePortSpec{
			Name: pb.label, Origin: pb.origin(), Port: l.number(pc.attrs["port"], sc), TargetPort: l.targetPort(pc.attrs["target_port"], sc),
			NodePort: l.number(pc.attrs["node_port"], sc), Protocol: l.text(pc.attrs["protocol"], sc),
		})
	}
	return s
}

// targetPort reads a number or a name.
func (l *loader) targetPort(a *hcl.Attribute, sc scope) (out topology.Opt[string]) {
	v, ok := l.value(a, sc)
	if !ok {
		return out
	}
	if v.Type() == cty.Number {
		n := l.number(a, sc)
		if !n.Set {
			return out
		}
		return written(strconv.Itoa(n.Value), a)
	}
	if s, ok := asText(v); ok {
		return written(s, a)
	}
	l.wrongType(a, "the number or name of a port", `"http"`, v)
	return out
}
