package language

import (
	"net/netip"
	"strings"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"github.com/netlab/netlab/topology"
)

// value evaluates an attribute; false where it is absent, null or has no value.
func (l *loader) value(a *hcl.Attribute, sc scope) (cty.Value, bool) {
	if a == nil {
		return cty.NilVal, false
	}
	v, ok := l.eval(a.Expr, sc)
	return v, ok && !v.IsNull()
}

func written[T any](v T, a *hcl.Attribute) topology.Opt[T] {
	return topology.Opt[T]{Value: v, Set: true, Origin: originOf(a.Expr.Range())}
}

func (l *loader) wrongType(a *hcl.Attribute, want, example string, v cty.Value) {
	l.errorf(a.Expr.Range(), "Wrong type", "%s must be %s, not %s. Write %s = %s.", a.Name, want, describe(v), a.Name, example)
}

func (l *loader) text(a *hcl.Attribute, sc scope) (out topology.Opt[string]) {
	v, ok := l.value(a, sc)
	if !ok {
		return out
	}
	if !v.Type().IsPrimitiveType() {
		l.wrongType(a, "a string", `"…"`, v)
		return out
	}
	s, _ := convert.Convert(v, cty.String)
	return written(s.AsString(), a)
}

func (l *loader) number(a *hcl.Attribute, sc scope) (out topology.Opt[int]) {
	if a == nil {
		return out
	}
	v, ok := l.eval(a.Expr, sc)
	if ok && v.IsNull() {
		return out
	}
	out.Origin = originOf(a.Expr.Range())
	if !ok {
		return out
	}
	n, err := convert.Convert(v, cty.Number)
	if err != nil || v.Type() == cty.Bool {
		l.wrongType(a, "a number", "1", v)
		return out
	}
	i, ok := whole(n)
	if !ok {
		l.errorf(a.Expr.Range(), "Not a whole number", "%s must be a whole number of reasonable size. Write %s = 1.", a.Name, a.Name)
		return out
	}
	return written(i, a)
}

func (l *loader) boolean(a *hcl.Attribute, sc scope) (out topology.Opt[bool]) {
	v, ok := l.value(a, sc)
	if !ok {
		return out
	}
	b, err := convert.Convert(v, cty.Bool)
	if err != nil {
		l.wrongType(a, "a bool", "true", v)
		return out
	}
	return written(b.True(), a)
}

// labels reads a map of strings. Nil means that the attribute is absent.
func (l *loader) labels(a *hcl.Attribute, sc scope) map[string]string {
	v, ok := l.value(a, sc)
	if !ok {
		return nil
	}
	out := map[string]string{}
	if !v.Type().IsObjectType() && !v.Type().IsMapType() || isKind(v, objectKinds...) {
		l.wrongType(a, "a map of strings", `{ app = "web" }`, v)
		return out
	}
	for it := v.ElementIterator(); it.Next(); {
		k, e := it.Element()
		if e.IsNull() || !e.Type().IsPrimitiveType() {
			l.errorf(a.Expr.Range(), "Wrong type", "The value of %q in %s must be a string, not %s. Write { %s = \"…\" }.", k.AsString(), a.Name, describe(e), k.AsString())
			continue
		}
		s, _ := convert.Convert(e, cty.String)
		out[k.AsString()] = s.AsString()
	}
	return out
}

// strings reads a list of strings.
func (l *loader) strings(a *hcl.Attribute, sc scope) []string {
	v, ok := l.value(a, sc)
	if !ok {
		return nil
	}
	if !isList(v) {
		l.wrongType(a, "a list of strings", `["a", "b"]`, v)
		return nil
	}
	var out []string
	for it := v.ElementIterator(); it.Next(); {
		_, e := it.Element()
		if e.IsNull() || !e.Type().IsPrimitiveType() {
			l.wrongType(a, "a list of strings", `["a", "b"]`, v)
			return nil
		}
		s, _ := convert.Convert(e, cty.String)
		out = append(out, s.AsString())
	}
	return out
}

// texts reads a list of strings, or one string, with its place.
func (l *loader) texts(a *hcl.Attribute, sc scope) (out topology.Opt[[]string]) {
	v, ok := l.value(a, sc)
	if !ok {
		return out
	}
	if s, ok := asText(v); ok {
		return written([]string{s}, a)
	}
	list := l.strings(a, sc)
	if list == nil && (!isList(v) || v.LengthInt() > 0) {
		return out // reported
	}
	return written(list, a)
}

// names reads a list of objects of a kind, or one.
func (l *loader) names(a *hcl.Attribute, kind string, sc scope) (out topology.Opt[[]string]) {
	v, ok := l.value(a, sc)
	if !ok {
		return out
	}
	var list []string
	for _, o := range objectsIn(v) {
		name, ok := asText(o)
		if isKind(o, kind) {
			name, ok = textOf(o, "name"), true
		}
		if !ok {
			l.errorf(a.Expr.Range(), "Wrong type", "%s must be a list of %ss, not %s. Write %s = [%s.NAME].", a.Name, kind, describe(o), a.Name, kind)
			return out
		}
		list = append(list, name)
	}
	return written(list, a)
}

// addresses reads a list of IP addresses, or one.
func (l *loader) addresses(a *hcl.Attribute, sc scope) (out topology.Opt[[]netip.Addr]) {
	v, ok := l.value(a, sc)
	if !ok {
		return out
	}
	var list []netip.Addr
	for _, o := range objectsIn(v) {
		addr, ok := addressOf(o)
		if !ok {
			l.errorf(a.Expr.Range(), "Invalid address", "%s must hold IP addresses, not %s. Write %s = [\"192.0.2.10\"].", a.Name, quoteOr(o), a.Name)
			return out
		}
		list = append(list, addr)
	}
	return written(list, a)
}

func isList(v cty.Value) bool {
	t := v.Type()
	return t.IsTupleType() || t.IsListType() || t.IsSetType()
}

// elements are the elements of a list, or the value itself.
func elements(v cty.Value) []cty.Value {
	if !isList(v) {
		return []cty.Value{v}
	}
	var out []cty.Value
	for it := v.ElementIterator(); it.Next(); {
		_, e := it.Element()
		out = append(out, e)
	}
	return out
}

// address reads an IP address, or that of an object.
func (l *loader) address(a *hcl.Attribute, sc scope) (out topology.Opt[netip.Addr]) {
	v, ok := l.value(a, sc)
	if !ok {
		return out
	}
	addr, ok := addressOf(v)
	if !ok {
		l.errorf(a.Expr.Range(), "Invalid address", "%s must be an IP address, not %s. Write %s = \"192.168.0.50\".", a.Name, quoteOr(v), a.Name)
		return out
	}
	return written(addr, a)
}

func addressOf(v cty.Value) (netip.Addr, bool) {
	if isKind(v, "node", "pod", "client") {
		v = v.GetAttr("ip")
	}
	s, ok := asText(v)
	if !ok {
		return netip.Addr{}, false
	}
	a, err := netip.ParseAddr(s)
	return a, err == nil && a.Zone() == "" && !a.Is4In6()
}

// prefixes reads a CIDR or a list of them.
func (l *loader) prefixes(a *hcl.Attribute, sc scope) (out topology.Opt[[]netip.Prefix]) {
	v, ok := l.value(a, sc)
	if !ok {
		return out
	}
	var list []netip.Prefix
	for _, e := range elements(v) {
		s, _ := asText(e)
		p, err := netip.ParsePrefix(s)
		if err != nil || p.Addr().Is4In6() {
			l.errorf(a.Expr.Range(), "Invalid CIDR", "%s must be a CIDR or a list of two, not %s. Write %s = \"10.0.0.0/16\".", a.Name, quoteOr(e), a.Name)
			return out
		}
		list = append(list, p)
	}
	if len(list) == 0 {
		l.errorf(a.Expr.Range(), "Invalid CIDR", "%s must not be empty. Write %s = \"10.0.0.0/16\", or remove it.", a.Name, a.Name)
		return out
	}
	return written(list, a)
}

// quoteOr is a short string in quotes, else the type of the value.
func quoteOr(v cty.Value) string {
	if s, ok := asText(v); ok && len(s) <= 60 {
		return `"` + s + `"`
	}
	return describe(v)
}

// name reads the name of an object: text, or a reference to one of the kind.
func (l *loader) name(a *hcl.Attribute, kind string, sc scope) (out topology.Opt[string]) {
	v, ok := l.value(a, sc)
	if !ok {
		return out
	}
	if isKind(v, kind) {
		return written(textOf(v, "name"), a)
	}
	if s, ok := asText(v); ok {
		return written(s, a)
	}
	l.errorf(a.Expr.Range(), "Wrong type", "%s must be a %s, not %s. Write %s = %s.NAME.", a.Name, kind, describe(v), a.Name, kind)
	return out
}

// maxDuration bounds how long an expectation may wait.
const maxDuration = 10 * time.Minute

// duration reads a duration such as "500ms"; zero: it may be 0s.
func (l *loader) duration(a *hcl.Attribute, def time.Duration, zero bool, sc scope) time.Duration {
	v, ok := l.value(a, sc)
	if !ok {
		return def
	}
	s, _ := asText(v)
	d, err := time.ParseDuration(s)
	if err != nil || d < 0 || d == 0 && !zero || d > maxDuration {
		l.errorf(a.Expr.Range(), "Invalid duration", "%s must be a duration up to %s, not %s. Write %s = \"500ms\".", a.Name, "10m", quoteOr(v), a.Name)
		return def
	}
	return d
}

// routes reads a list of { to, via }.
func (l *loader) routes(a *hcl.Attribute, sc scope) []topology.RouteSpec {
	v, ok := l.value(a, sc)
	if !ok {
		return nil
	}
	items, _ := hcl.ExprList(a.Expr)
	var out []topology.RouteSpec
	for i, e := range elements(v) {
		r := a.Expr.Range()
		if i < len(items) && len(items) == len(elements(v)) {
			r = items[i].Range()
		}
		route, ok := routeOf(e)
		if !ok {
			l.errorf(r, "Invalid route", "A route needs a destination and a next hop. Write { to = \"10.244.1.0/24\", via = node.node1.ip }.")
			continue
		}
		route.Origin = originOf(r)
		out = append(out, route)
	}
	return out
}

func routeOf(v cty.Value) (out topology.RouteSpec, ok bool) {
	if v.IsNull() || !v.Type().IsObjectType() && !v.Type().IsMapType() {
		return out, false
	}
	fields := v.AsValueMap()
	to, hop := fields["to"], fields["via"]
	if len(fields) != 2 || to == cty.NilVal || hop == cty.NilVal {
		return out, false
	}
	if out.Via, ok = addressOf(hop); !ok {
		return out, false
	}
	s, _ := asText(to)
	if s == "default" {
		out.To = netip.PrefixFrom(netip.IPv4Unspecified(), 0)
		if out.Via.Is6() {
			out.To = netip.PrefixFrom(netip.IPv6Unspecified(), 0)
		}
		return out, true
	}
	out.To, ok = prefixOf(s)
	return out, ok
}

// prefixOf reads a CIDR, or an address as the prefix that holds it alone.
func prefixOf(s string) (netip.Prefix, bool) {
	if strings.Contains(s, "/") {
		p, err := netip.ParsePrefix(s)
		return p, err == nil
	}
	a, err := netip.ParseAddr(s)
	if err != nil || a.Zone() != "" {
		return netip.Prefix{}, false
	}
	return netip.PrefixFrom(a, a.BitLen()), true
}
