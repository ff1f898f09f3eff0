package language

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"github.com/netlab/netlab/scenarios/language/blocks"
	"github.com/netlab/netlab/topology"
)

// Axis is one dimension of a matrix: what varies, and its values.
type Axis struct {
	Name   string // network, proxy, policies or ip_families
	Values []string
}

// AxisNames are the things that a matrix can vary.
func AxisNames() []string { return new(loader).matrixTable().AttrNames() }

// Variation is one combination of a matrix: what it sets each axis to. The zero
// Variation changes nothing.
type Variation []Setting

// Setting is the value of one axis.
type Setting struct{ Axis, Value string }

// String is the variation as reports show it: proxy=ipvs network=vxlan.
func (v Variation) String() string {
	var words []string
	for _, s := range v {
		words = append(words, s.Axis+"="+s.Value)
	}
	return strings.Join(words, " ")
}

// of returns what the variation sets an axis to.
func (v Variation) of(axis string) (string, bool) {
	for _, s := range v {
		if s.Axis == axis {
			return s.Value, true
		}
	}
	return "", false
}

// Variations are all combinations of the values of some axes, the last axis varying
// fastest. Without axes it is the one that changes nothing.
func Variations(axes []Axis) []Variation {
	all := []Variation{nil}
	for _, a := range axes {
		var next []Variation
		for _, v := range all {
			for _, value := range a.Values {
				next = append(next, append(slices.Clone(v), Setting{a.Name, value}))
			}
		}
		all = next
	}
	return all
}

// ParseAxis reads an axis as written on the command line, such as proxy=iptables,ipvs, with
// values of the catalogue.
func ParseAxis(text string, catalogue *topology.Catalogue) (Axis, error) {
	name, values, ok := strings.Cut(text, "=")
	a := Axis{Name: name, Values: strings.Split(values, ",")}
	switch {
	case !ok || !slices.Contains(AxisNames(), name):
		return Axis{}, fmt.Errorf("%q is not one of %s, with its values after =", text, strings.Join(AxisNames(), ", "))
	case slices.Contains(a.Values, ""):
		return Axis{}, fmt.Errorf("%q has an empty value", text)
	}
	for i, value := range a.Values {
		if slices.Contains(a.Values[:i], value) {
			return Axis{}, fmt.Errorf("%q has %s twice", text, value)
		}
		if known := settings(name, catalogue); !slices.Contains(known, value) {
			return Axis{}, fmt.Errorf("%s=%s: use %s", name, value, strings.Join(known, ", "))
		}
	}
	return a, nil
}

// settings are the values that an axis can have.
func settings(axis string, c *topology.Catalogue) []string {
	return map[string][]string{
		"network": c.NetworkNames(), "proxy": c.ProxyNames(), "policies": c.StyleNames(), "ip_families": {"ipv4", "ipv6", "dual"},
	}[axis]
}

// evalMatrix reads the matrix block.
func (l *loader) evalMatrix() {
	b := l.Single("matrix")
	if b != nil && l.Read(b, l.matrixTable()).Given == 0 {
		l.Errorf(b.KindRange, "Empty matrix", "The matrix varies nothing. Write, for example, proxy = [\"iptables\", \"ipvs\"], or remove it.")
	}
}

// axis reads one axis of the matrix block.
func (l *loader) axis(_ *blocks.Reader, a *hcl.Attribute, sc blocks.Scope) {
	values := l.Strings(a, sc)
	for i, v := range values {
		if slices.Contains(values[:i], v) {
			l.Errorf(a.Expr.Range(), "Value twice", "%s lists %q twice. Remove one of them.", a.Name, v)
			return
		}
		if known := settings(a.Name, &l.catalogue); !slices.Contains(known, v) {
			l.Errorf(a.Expr.Range(), "Unknown value in matrix", "%q is not a value of %s. Use any of %s.", v, a.Name, strings.Join(known, ", "))
			return
		}
	}
	if len(values) > 0 {
		l.matrix = append(l.matrix, Axis{a.Name, values})
	}
}

// withoutAgents forgets the agents of a file of which a variation has another mode or style: that
// is no mistake.
func (l *loader) withoutAgents() {
	other := func(axis string, agent *topology.AgentSpec, exec string) {
		if value, varied := l.varied.of(axis); varied && value != exec {
			agent.Idle = true
		}
	}
	other("proxy", &l.spec.Proxy.Agent, topology.First(l.catalogue.Proxies, func(m topology.ProxyMode) bool { return m.Exec }).Name)
	other("policies", &l.spec.PolicyOptions.Agent, topology.First(l.catalogue.Styles, func(s topology.PolicyStyle) bool { return s.Exec }).Name)
}

// vary applies the variation, whatever the file says.
func (l *loader) vary() {
	for axis, to := range map[string]*topology.Opt[string]{
		"network": &l.spec.Network.Mode, "proxy": &l.spec.Proxy.Mode, "policies": &l.spec.PolicyOptions.Style, "ip_families": &l.spec.Network.Families,
	} {
		if value, ok := l.varied.of(axis); ok {
			to.Value, to.Set = value, true
		}
	}
	l.withoutAgents()
}
