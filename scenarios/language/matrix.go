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
func AxisNames() []string { return new(matrixBody).Schema().AttrNames() }

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
		if err := checkSetting(name, value, catalogue); err != nil {
			return Axis{}, err
		}
	}
	return a, nil
}

// familyNames are the values of the axis ip_families.
func familyNames() []string { return []string{"ipv4", "ipv6", "dual"} }

func checkSetting(axis, value string, c *topology.Catalogue) error {
	known := map[string][]string{
		"network": c.NetworkNames(), "proxy": c.ProxyNames(), "policies": c.StyleNames(), "ip_families": familyNames(),
	}[axis]
	if !slices.Contains(known, value) {
		return fmt.Errorf("%s=%s: use %s", axis, value, strings.Join(known, ", "))
	}
	return nil
}

// evalMatrix reads the matrix block.
func (l *loader) evalMatrix() {
	b := l.Single("matrix")
	if b == nil {
		return
	}
	c := blocks.Read[matrixBody](l.Reader, b, b.Scope)
	for _, axis := range c.Schema().Attrs {
		a := *axis.At
		values := l.Strings(a, b.Scope)
		if a == nil || l.faulty(a, axis.Name, values) {
			continue
		}
		l.matrix = append(l.matrix, Axis{axis.Name, values})
	}
	if c.Given == 0 {
		l.Errorf(b.KindRange, "Empty matrix", "The matrix varies nothing. Write, for example, proxy = [\"iptables\", \"ipvs\"], or remove it.")
	}
}

// faulty reports an axis of the matrix block that cannot be used.
func (l *loader) faulty(a *hcl.Attribute, name string, values []string) bool {
	for i, v := range values {
		if slices.Contains(values[:i], v) {
			l.Errorf(a.Expr.Range(), "Value twice", "%s lists %q twice. Remove one of them.", name, v)
			return true
		}
		if err := checkSetting(name, v, &l.catalogue); err != nil {
			l.Errorf(a.Expr.Range(), "Unknown value in matrix", "%q is not a value of %s. Use any of %s.", v, name, strings.TrimPrefix(err.Error(), name+"="+v+": use "))
			return true
		}
	}
	return len(values) == 0
}

// vary applies the variation, whatever the file says.
func (l *loader) vary(v Variation) {
	set := func(axis string, to *topology.Opt[string]) {
		if value, ok := v.of(axis); ok {
			to.Value, to.Set = value, true
		}
	}
	set("network", &l.spec.Network.Mode)
	set("proxy", &l.spec.Proxy.Mode)
	set("policies", &l.spec.PolicyOptions.Style)
	set("ip_families", &l.spec.Network.Families)
	if len(v) > 0 {
		l.changed()
	}
}
