package blocks

import (
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"github.com/netlab/netlab/scenarios/language/functions"
	"github.com/netlab/netlab/scenarios/language/source"
	"github.com/netlab/netlab/topology"
)

// Value evaluates an attribute; false where it is absent, null or has no value.
func (l *Reader) Value(a *hcl.Attribute, sc Scope) (cty.Value, bool) {
	if a == nil {
		return cty.NilVal, false
	}
	v, ok := l.Eval(a.Expr, sc)
	return v, ok && !v.IsNull()
}

func originOf(a *hcl.Attribute) topology.Origin { return source.OriginOf(a.Expr.Range()) }

// Written is a value with the place of its attribute.
func Written[T any](v T, a *hcl.Attribute) topology.Opt[T] {
	return topology.Opt[T]{Value: v, Set: true, Origin: originOf(a)}
}

// convertTo evaluates an attribute and converts its value; not set where either fails.
func convertTo[T any](l *Reader, a *hcl.Attribute, sc Scope, to func(cty.Value) (T, bool), complain func(cty.Value)) (out topology.Opt[T]) {
	v, ok := l.Value(a, sc)
	if !ok {
		return out
	}
	x, ok := to(v)
	if !ok {
		complain(v)
		return out
	}
	return Written(x, a)
}

// WrongType reports a value that is not what an attribute must be.
func (l *Reader) WrongType(a *hcl.Attribute, want, example string, v cty.Value) {
	l.Errorf(a.Expr.Range(), "Wrong type", "%s must be %s, not %s. Write %s = %s.", a.Name, want, Describe(v), a.Name, example)
}

// wrong is WrongType for values still to come.
func (l *Reader) wrong(a *hcl.Attribute, want, example string) func(cty.Value) {
	return func(v cty.Value) { l.WrongType(a, want, example, v) }
}

// Invalid reports a value of the right type that cannot be understood.
func (l *Reader) Invalid(a *hcl.Attribute, what, must, example string, v cty.Value) {
	l.Errorf(a.Expr.Range(), "Invalid "+what, "%s must %s, not %s. Write %s = %s.", a.Name, must, QuoteOr(v), a.Name, example)
}

// invalid is Invalid for values still to come.
func (l *Reader) invalid(a *hcl.Attribute, what, must, example string) func(cty.Value) {
	return func(v cty.Value) { l.Invalid(a, what, must, example, v) }
}

// simpleText is a string, number or bool as text.
func simpleText(v cty.Value) (string, bool) {
	if v.IsNull() || !v.Type().IsPrimitiveType() {
		return "", false
	}
	s, _ := convert.Convert(v, cty.String)
	return s.AsString(), true
}

// AsText is a string.
func AsText(v cty.Value) (string, bool) {
	v, _ = v.Unmark()
	if v.Type() != cty.String || v.IsNull() || !v.IsKnown() {
		return "", false
	}
	return v.AsString(), true
}

// Text reads a string.
func (l *Reader) Text(a *hcl.Attribute, sc Scope) topology.Opt[string] {
	return convertTo(l, a, sc, simpleText, l.wrong(a, "a string", `"…"`))
}

// Number reads a whole number. One that is unusable keeps its place.
func (l *Reader) Number(a *hcl.Attribute, sc Scope) (out topology.Opt[int]) {
	if a == nil {
		return out
	}
	v, ok := l.Eval(a.Expr, sc)
	if ok && v.IsNull() {
		return out
	}
	out.Origin = originOf(a)
	if !ok {
		return out
	}
	if n, ok := l.whole(a, v); ok {
		return Written(n, a)
	}
	return out
}

// whole is a whole number, or reports why there is none.
func (l *Reader) whole(a *hcl.Attribute, v cty.Value) (int, bool) {
	n, err := convert.Convert(v, cty.Number)
	if err != nil || v.Type() == cty.Bool {
		l.WrongType(a, "a number", numberLike(a.Name, v), v)
		return 0, false
	}
	i, ok := functions.Whole(n)
	if !ok {
		l.Errorf(a.Expr.Range(), "Not a whole number", "%s must be a whole number of reasonable size. Write %s = 1.", a.Name, a.Name)
	}
	return i, ok
}

// numberLike is an example of a number that an attribute can have, where a value is none.
func numberLike(attribute string, v cty.Value) string {
	switch {
	case attribute == "port" && v.Type() == cty.String:
		return "80; the name of a pod's port goes into target_port of a service"
	case attribute == "node_port":
		return "30080"
	case strings.HasSuffix(attribute, "port"):
		return "80"
	}
	return "1"
}

// Factor reads a positive number.
func (l *Reader) Factor(a *hcl.Attribute, sc Scope) float64 {
	f := convertTo(l, a, sc, func(v cty.Value) (float64, bool) {
		if v.Type() != cty.Number {
			return 0, false
		}
		f, _ := v.AsBigFloat().Float64()
		return f, true
	}, l.wrong(a, "a number", "2"))
	if f.Set && f.Value <= 0 {
		l.Errorf(a.Expr.Range(), "Factor out of range", "%s is a factor above 0. Write %s = 2.", a.Name, a.Name)
	}
	return f.Value
}

// Boolean reads a bool.
func (l *Reader) Boolean(a *hcl.Attribute, sc Scope) topology.Opt[bool] {
	return convertTo(l, a, sc, func(v cty.Value) (bool, bool) {
		b, err := convert.Convert(v, cty.Bool)
		return err == nil && b.True(), err == nil
	}, l.wrong(a, "a bool", "true"))
}

// Labels reads a map of strings. Nil means that the attribute is absent.
func (l *Reader) Labels(a *hcl.Attribute, sc Scope) map[string]string {
	v, ok := l.Value(a, sc)
	if !ok {
		return nil
	}
	out := map[string]string{}
	if !IsMap(v) || IsKind(v, ObjectKinds...) {
		l.WrongType(a, "a map of strings", `{ app = "web" }`, v)
		return out
	}
	for k, e := range v.Elements() {
		s, ok := simpleText(e)
		if !ok && (k.AsString() == "match_labels" || k.AsString() == "matchLabels") {
			l.Errorf(a.Expr.Range(), "Wrong type", "The labels stand directly in %s. Write %s = { app = \"web\" }.", a.Name, a.Name)
			continue
		}
		if !ok {
			l.Errorf(a.Expr.Range(), "Wrong type", "The value of %q in %s must be a string, not %s. Write { %s = \"…\" }.", k.AsString(), a.Name, Describe(e), k.AsString())
			continue
		}
		out[k.AsString()] = s
	}
	return out
}

// Strings reads a list of strings.
func (l *Reader) Strings(a *hcl.Attribute, sc Scope) []string {
	return convertTo(l, a, sc, TextsIn, l.wrong(a, "a list of strings", `["a", "b"]`)).Value
}

// Texts reads a list of strings, or one string, with its place.
func (l *Reader) Texts(a *hcl.Attribute, sc Scope) topology.Opt[[]string] {
	return convertTo(l, a, sc, func(v cty.Value) ([]string, bool) {
		if s, ok := AsText(v); ok {
			return []string{s}, true
		}
		return TextsIn(v)
	}, l.wrong(a, "a list of strings", `["a", "b"]`))
}

// TextsIn are the strings of a list.
func TextsIn(v cty.Value) (out []string, ok bool) {
	if !IsList(v) {
		return nil, false
	}
	for _, e := range v.Elements() {
		s, ok := simpleText(e)
		if !ok {
			return nil, false
		}
		out = append(out, s)
	}
	return out, true
}

// IsMap reports a map or an object.
func IsMap(v cty.Value) bool { return v.Type().IsObjectType() || v.Type().IsMapType() }

// IsList reports a list, a tuple or a set.
func IsList(v cty.Value) bool {
	t := v.Type()
	return t.IsTupleType() || t.IsListType() || t.IsSetType()
}

// Elements are the elements of a list, or the value itself.
func Elements(v cty.Value) []cty.Value {
	if !IsList(v) {
		return []cty.Value{v}
	}
	return v.AsValueSlice()
}

// ObjectsIn flattens lists and the instances of pods into single values.
func ObjectsIn(v cty.Value) []cty.Value {
	if v.IsNull() || !IsList(v) && !IsMap(v) || IsKind(v, ObjectKinds...) {
		return []cty.Value{v}
	}
	var out []cty.Value
	for _, e := range v.Elements() {
		out = append(out, ObjectsIn(e)...)
	}
	return out
}

// eachObject converts every object in a value; wrong complains about one that cannot be.
func eachObject[T any](l *Reader, a *hcl.Attribute, sc Scope, to func(cty.Value) (T, bool), wrong func(cty.Value)) topology.Opt[[]T] {
	return convertTo(l, a, sc, func(v cty.Value) (list []T, ok bool) {
		for _, o := range ObjectsIn(v) {
			x, ok := to(o)
			if !ok {
				wrong(o)
				return nil, false
			}
			list = append(list, x)
		}
		return list, true
	}, func(cty.Value) {})
}

// nameOf is a name, or that of an object of the kind.
func nameOf(kind string) func(cty.Value) (string, bool) {
	return func(v cty.Value) (string, bool) {
		if IsKind(v, kind) {
			return TextOf(v, "name"), true
		}
		return AsText(v)
	}
}

// PodName reads a reference to a pod as namespace/name.
func (l *Reader) PodName(a *hcl.Attribute, sc Scope) topology.Opt[string] {
	return convertTo(l, a, sc, func(v cty.Value) (string, bool) {
		if IsKind(v, "pod") {
			return TextOf(v, "namespace") + "/" + TextOf(v, "name"), true
		}
		return AsText(v)
	}, func(v cty.Value) {
		l.Errorf(a.Expr.Range(), "Wrong type", "pod must be one pod, not %s. Write pod = pod.NAME, or pod.NAME[0] where it has instances.", Describe(v))
	})
}

// Address reads an IP address, or that of an object.
func (l *Reader) Address(a *hcl.Attribute, sc Scope) topology.Opt[netip.Addr] {
	return convertTo(l, a, sc, addressOf, l.invalid(a, "address", "be an IP address", `"192.168.0.50"`))
}

func addressOf(v cty.Value) (netip.Addr, bool) {
	if IsKind(v, HostKinds...) {
		v = v.GetAttr("ip")
	}
	s, ok := AsText(v)
	if !ok {
		return netip.Addr{}, false
	}
	a, err := netip.ParseAddr(s)
	return a, err == nil && a.Zone() == "" && !a.Is4In6()
}

// AsPrefix is a CIDR.
func AsPrefix(v cty.Value) (netip.Prefix, bool) {
	s, _ := AsText(v)
	p, err := netip.ParsePrefix(s)
	return p, err == nil && !p.Addr().Is4In6()
}

func (l *Reader) prefixes(a *hcl.Attribute, sc Scope) (out topology.Opt[[]netip.Prefix]) {
	v, ok := l.Value(a, sc)
	if !ok {
		return out
	}
	var list []netip.Prefix
	for _, e := range Elements(v) {
		p, ok := AsPrefix(e)
		if !ok {
			l.Invalid(a, "CIDR", "be a CIDR or a list of two", `"10.0.0.0/16"`, e)
			return out
		}
		list = append(list, p)
	}
	if len(list) == 0 {
		l.Errorf(a.Expr.Range(), "Invalid CIDR", "%s must not be empty. Write %s = \"10.0.0.0/16\", or remove it.", a.Name, a.Name)
		return out
	}
	return Written(list, a)
}

// PrefixOf reads a CIDR, or an address as the prefix that holds it alone.
func PrefixOf(s string) (netip.Prefix, bool) {
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

// routes reads a list of { to, via }.
func (l *Reader) routes(a *hcl.Attribute, sc Scope) []topology.RouteSpec {
	v, ok := l.Value(a, sc)
	if !ok {
		return nil
	}
	var out []topology.RouteSpec
	list := Elements(v)
	for i, e := range list {
		route, ok := routeOf(e)
		if !ok {
			l.Errorf(Item(a, i, len(list)), "Invalid route", "A route needs a destination and a next hop. Write { to = \"10.244.1.0/24\", via = node.node1.ip }.")
			continue
		}
		route.Origin = source.OriginOf(Item(a, i, len(list)))
		out = append(out, route)
	}
	return out
}

func routeOf(v cty.Value) (out topology.RouteSpec, ok bool) {
	if v.IsNull() || !IsMap(v) {
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
	s, _ := AsText(to)
	if s == "default" {
		out.To = netip.PrefixFrom(netip.IPv4Unspecified(), 0)
		if out.Via.Is6() {
			out.To = netip.PrefixFrom(netip.IPv6Unspecified(), 0)
		}
		return out, true
	}
	out.To, ok = PrefixOf(s)
	return out, ok
}

// Item is the place of an element of a list that is written out.
func Item(a *hcl.Attribute, i, of int) hcl.Range {
	if items, diags := hcl.ExprList(a.Expr); !diags.HasErrors() && len(items) == of {
		return items[i].Range()
	}
	return a.Expr.Range()
}

// TargetPort reads a number or a name.
func (l *Reader) TargetPort(a *hcl.Attribute, sc Scope) topology.Opt[string] {
	return convertTo(l, a, sc, func(v cty.Value) (string, bool) {
		if v.Type() == cty.Number {
			n, ok := l.whole(a, v)
			return strconv.Itoa(n), ok
		}
		return AsText(v)
	}, func(v cty.Value) {
		if v.Type() != cty.Number { // reported
			l.WrongType(a, "the number or name of a port", `"http"`, v)
		}
	})
}

// durationOf is a duration such as "20ms".
func durationOf(v cty.Value) (time.Duration, bool) {
	s, _ := AsText(v)
	d, err := time.ParseDuration(s)
	return d, err == nil
}

// maxDuration bounds how long an expectation may wait.
const maxDuration = 10 * time.Minute

// Duration reads how long to wait; zero: it may be 0s.
func (l *Reader) Duration(a *hcl.Attribute, def time.Duration, zero bool, sc Scope) time.Duration {
	return convertTo(l, a, sc, func(v cty.Value) (time.Duration, bool) {
		d, ok := durationOf(v)
		return d, ok && d >= 0 && (d > 0 || zero) && d <= maxDuration
	}, l.invalid(a, "duration", "be a duration up to 10m", `"500ms"`)).Or(def)
}

// Seconds reads a whole number of seconds, or a duration such as "3h".
func (l *Reader) Seconds(a *hcl.Attribute, sc Scope) (out topology.Opt[int]) {
	v, ok := l.Value(a, sc)
	if !ok {
		return out
	}
	d, ok := durationOf(v)
	switch {
	case !ok:
		return l.Number(a, sc) // which keeps its place if it is unusable
	case d%time.Second != 0:
		l.Invalid(a, "duration", "be whole seconds", "10", v)
		return out
	}
	return Written(int(d/time.Second), a)
}

// Word reads one of several words.
func (l *Reader) Word(a *hcl.Attribute, what string, sc Scope, def string, known, planned []string) string {
	t := l.Text(a, sc)
	word := topology.Word(t.Value, known)
	switch {
	case !t.Set:
		return def
	case word != "" || slices.Contains(known, t.Value):
		return word
	case slices.Contains(planned, t.Value):
		l.notYet(a.Expr.Range(), what, t.Value)
	default:
		l.Errorf(a.Expr.Range(), "Unknown "+what, "%s is not a valid %s.%s Use %s.", QuoteOr(cty.StringVal(t.Value)), what, topology.DidYouMean(t.Value, known), topology.OneOf(known))
	}
	return def
}

// IsNull reports an attribute that is null, which counts as not written. That of an
// expectation may be unknown without each.from; then it is not null.
func (l *Reader) IsNull(a *hcl.Attribute, sc Scope) bool {
	if slices.ContainsFunc(a.Expr.Variables(), func(t hcl.Traversal) bool {
		name, _, _ := step(t)
		return t.RootName() == "each" && (name == "from" || sc["each"] == cty.NilVal)
	}) {
		return false
	}
	v, ok := l.Eval(a.Expr, sc)
	return ok && v.IsNull()
}

// OneOfTwo reports two attributes that say the same thing.
func (l *Reader) OneOfTwo(a, b *hcl.Attribute) {
	if a != nil && b != nil {
		l.Errorf(b.NameRange, "Given twice", "%s and %s say the same thing. Remove one of them.", a.Name, b.Name)
	}
}

// QuoteOr is a short string in quotes, else the type of the value.
func QuoteOr(v cty.Value) string {
	if s, ok := AsText(v); ok && len(s) <= 60 {
		return `"` + s + `"`
	}
	return Describe(v)
}

// NameOr is an object's kind and name, else what QuoteOr says.
func NameOr(v cty.Value) string {
	if IsKind(v, ObjectKinds...) {
		return TextOf(v, "kind") + " " + TextOf(v, "name")
	}
	return QuoteOr(v)
}

// shareOf reads "1%" or 0.01.
func shareOf(v cty.Value) (float64, bool) {
	if v.Type() == cty.Number {
		f, _ := v.AsBigFloat().Float64()
		return f, true
	}
	s, _ := AsText(v)
	percent, found := strings.CutSuffix(strings.TrimSpace(s), "%")
	f, err := strconv.ParseFloat(strings.TrimSpace(percent), 64)
	return f / 100, found && err == nil
}

// rateOf is a bit rate such as "10mbit".
func rateOf(v cty.Value) (uint64, bool) {
	s, _ := AsText(v)
	return BitRate(s)
}

// BitRate reads a rate as tc does: a number with bit, kbit, mbit or gbit, in powers of
// ten (tc(8), UNITS). The result is in bits per second.
func BitRate(s string) (uint64, bool) {
	s = strings.ToLower(strings.TrimSpace(s))
	for _, u := range []struct {
		unit string
		size float64
	}{{"kbit", 1e3}, {"mbit", 1e6}, {"gbit", 1e9}, {"bit", 1}} {
		number, found := strings.CutSuffix(s, u.unit)
		if !found {
			continue
		}
		x, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
		return uint64(x * u.size), err == nil && x >= 0 && x*u.size <= 1e15
	}
	return 0, false
}
