package language

import (
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"github.com/netlab/netlab/topology"
)

// value evaluates an attribute; false where it is absent, null or has no value.
func (l *reader) value(a *hcl.Attribute, sc scope) (cty.Value, bool) {
	if a == nil {
		return cty.NilVal, false
	}
	v, ok := l.eval(a.Expr, sc)
	return v, ok && !v.IsNull()
}

func written[T any](v T, a *hcl.Attribute) topology.Opt[T] {
	return topology.Opt[T]{Value: v, Set: true, Origin: originOf(a.Expr.Range())}
}

func (l *reader) wrongType(a *hcl.Attribute, want, example string, v cty.Value) {
	l.errorf(a.Expr.Range(), "Wrong type", "%s must be %s, not %s. Write %s = %s.", a.Name, want, describe(v), a.Name, example)
}

func (l *reader) text(a *hcl.Attribute, sc scope) (out topology.Opt[string]) {
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

func (l *reader) number(a *hcl.Attribute, sc scope) (out topology.Opt[int]) {
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

func (l *reader) boolean(a *hcl.Attribute, sc scope) (out topology.Opt[bool]) {
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
func (l *reader) labels(a *hcl.Attribute, sc scope) map[string]string {
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
func (l *reader) strings(a *hcl.Attribute, sc scope) []string {
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
func (l *reader) texts(a *hcl.Attribute, sc scope) (out topology.Opt[[]string]) {
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
func (l *reader) names(a *hcl.Attribute, kind string, sc scope) (out topology.Opt[[]string]) {
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
func (l *reader) addresses(a *hcl.Attribute, sc scope) (out topology.Opt[[]netip.Addr]) {
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
func (l *reader) address(a *hcl.Attribute, sc scope) (out topology.Opt[netip.Addr]) {
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
func (l *reader) prefixes(a *hcl.Attribute, sc scope) (out topology.Opt[[]netip.Prefix]) {
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
func (l *reader) name(a *hcl.Attribute, kind string, sc scope) (out topology.Opt[string]) {
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
func (l *reader) duration(a *hcl.Attribute, def time.Duration, zero bool, sc scope) time.Duration {
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
func (l *reader) routes(a *hcl.Attribute, sc scope) []topology.RouteSpec {
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

// isNull reports an attribute that is null, which counts as not written. That of an
// expectation may be unknown without each.from; then it is not null.
func (l *reader) isNull(a *hcl.Attribute, sc scope) bool {
	if slices.ContainsFunc(a.Expr.Variables(), func(t hcl.Traversal) bool { return t.RootName() == "each" }) {
		return false
	}
	v, ok := l.eval(a.Expr, sc)
	return ok && v.IsNull()
}

// word reads one of several words.
func (l *reader) word(a *hcl.Attribute, what string, sc scope, def string, known, planned []string) string {
	t := l.text(a, sc)
	switch {
	case !t.Set || slices.Contains(known, t.Value):
		return t.Or(def)
	case slices.Contains(planned, t.Value):
		l.notYet(a.Expr.Range(), what, t.Value)
	default:
		l.errorf(a.Expr.Range(), "Unknown "+what, "%s is not a valid %s.%s Use %s.", quoteOr(cty.StringVal(t.Value)), what, topology.DidYouMean(t.Value, known), topology.OneOf(known))
	}
	return def
}

// objectsIn flattens lists and the instances of pods into single values.
func objectsIn(v cty.Value) []cty.Value {
	if v.IsNull() || !isList(v) && !v.Type().IsObjectType() && !v.Type().IsMapType() || isKind(v, objectKinds...) {
		return []cty.Value{v}
	}
	var out []cty.Value
	for it := v.ElementIterator(); it.Next(); {
		_, e := it.Element()
		out = append(out, objectsIn(e)...)
	}
	return out
}

func asText(v cty.Value) (string, bool) {
	v, _ = v.Unmark()
	if v.Type() != cty.String || v.IsNull() || !v.IsKnown() {
		return "", false
	}
	return v.AsString(), true
}

// targetPort reads a number or a name.
func (l *reader) targetPort(a *hcl.Attribute, sc scope) (out topology.Opt[string]) {
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

// podName reads a reference to a pod as namespace/name.
func (l *reader) podName(a *hcl.Attribute, sc scope) (out topology.Opt[string]) {
	v, ok := l.value(a, sc)
	if !ok {
		return out
	}
	if isKind(v, "pod") {
		return written(textOf(v, "namespace")+"/"+textOf(v, "name"), a)
	}
	if s, ok := asText(v); ok {
		return written(s, a)
	}
	l.errorf(a.Expr.Range(), "Wrong type", "pod must be one pod, not %s. Write pod = pod.NAME, or pod.NAME[0] where it has instances.", describe(v))
	return out
}

// seconds reads a whole number of seconds, or a duration such as "3h".
func (l *reader) seconds(a *hcl.Attribute, sc scope) (out topology.Opt[int]) {
	v, ok := l.value(a, sc)
	if !ok {
		return out
	}
	if text, ok := asText(v); ok {
		d, err := time.ParseDuration(text)
		if err == nil && d%time.Second == 0 {
			return written(int(d/time.Second), a)
		}
		if err == nil {
			l.errorf(a.Expr.Range(), "Invalid duration", "%s must be whole seconds, not %s. Write %s = 10.", a.Name, quoteOr(v), a.Name)
			return out
		}
	}
	return l.number(a, sc)
}

// oneOfTwo reports two attributes that say the same thing.
func (l *reader) oneOfTwo(a, b *hcl.Attribute) {
	if a != nil && b != nil {
		l.errorf(b.NameRange, "Given twice", "%s and %s say the same thing. Remove one of them.", a.Name, b.Name)
	}
}

// item is the place of an element of a list that is written out.
func item(a *hcl.Attribute, i, of int) hcl.Range {
	if items, diags := hcl.ExprList(a.Expr); !diags.HasErrors() && len(items) == of {
		return items[i].Range()
	}
	return a.Expr.Range()
}

// nameOr is an object's kind and name, else what quoteOr says.
func nameOr(v cty.Value) string {
	if isKind(v, objectKinds...) {
		return textOf(v, "kind") + " " + textOf(v, "name")
	}
	return quoteOr(v)
}

// delay reads a time such as "20ms".
func (l *reader) delay(a *hcl.Attribute, sc scope) (out topology.Opt[time.Duration]) {
	v, ok := l.value(a, sc)
	if !ok {
		return out
	}
	s, _ := asText(v)
	d, err := time.ParseDuration(s)
	if err != nil {
		l.errorf(a.Expr.Range(), "Invalid duration", "%s must be a duration, not %s. Write %s = \"20ms\".", a.Name, quoteOr(v), a.Name)
		return out
	}
	return written(d, a)
}

// factor reads a positive number.
func (l *reader) factor(a *hcl.Attribute, sc scope) float64 {
	v, ok := l.value(a, sc)
	if !ok {
		return 0
	}
	if v.Type() != cty.Number {
		l.wrongType(a, "a number", "2", v)
		return 0
	}
	f, _ := v.AsBigFloat().Float64()
	if f <= 0 {
		l.errorf(a.Expr.Range(), "Factor out of range", "%s is a factor above 0. Write %s = 2.", a.Name, a.Name)
	}
	return f
}
