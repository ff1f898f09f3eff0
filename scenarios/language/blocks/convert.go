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

func Written[T any](v T, a *hcl.Attribute) topology.Opt[T] {
	return topology.Opt[T]{Value: v, Set: true, Origin: source.OriginOf(a.Expr.Range())}
}

func (l *Reader) WrongType(a *hcl.Attribute, want, example string, v cty.Value) {
	l.Errorf(a.Expr.Range(), "Wrong type", "%s must be %s, not %s. Write %s = %s.", a.Name, want, Describe(v), a.Name, example)
}

func (l *Reader) Text(a *hcl.Attribute, sc Scope) (out topology.Opt[string]) {
	v, ok := l.Value(a, sc)
	if !ok {
		return out
	}
	if !v.Type().IsPrimitiveType() {
		l.WrongType(a, "a string", `"…"`, v)
		return out
	}
	s, _ := convert.Convert(v, cty.String)
	return Written(s.AsString(), a)
}

func (l *Reader) Number(a *hcl.Attribute, sc Scope) (out topology.Opt[int]) {
	if a == nil {
		return out
	}
	v, ok := l.Eval(a.Expr, sc)
	if ok && v.IsNull() {
		return out
	}
	out.Origin = source.OriginOf(a.Expr.Range())
	if !ok {
		return out
	}
	n, err := convert.Convert(v, cty.Number)
	if err != nil || v.Type() == cty.Bool {
		l.WrongType(a, "a number", "1", v)
		return out
	}
	i, ok := functions.Whole(n)
	if !ok {
		l.Errorf(a.Expr.Range(), "Not a whole number", "%s must be a whole number of reasonable size. Write %s = 1.", a.Name, a.Name)
		return out
	}
	return Written(i, a)
}

func (l *Reader) Boolean(a *hcl.Attribute, sc Scope) (out topology.Opt[bool]) {
	v, ok := l.Value(a, sc)
	if !ok {
		return out
	}
	b, err := convert.Convert(v, cty.Bool)
	if err != nil {
		l.WrongType(a, "a bool", "true", v)
		return out
	}
	return Written(b.True(), a)
}

// Labels reads a map of strings. Nil means that the attribute is absent.
func (l *Reader) Labels(a *hcl.Attribute, sc Scope) map[string]string {
	v, ok := l.Value(a, sc)
	if !ok {
		return nil
	}
	out := map[string]string{}
	if !v.Type().IsObjectType() && !v.Type().IsMapType() || IsKind(v, ObjectKinds...) {
		l.WrongType(a, "a map of strings", `{ app = "web" }`, v)
		return out
	}
	for it := v.ElementIterator(); it.Next(); {
		k, e := it.Element()
		if e.IsNull() || !e.Type().IsPrimitiveType() {
			l.Errorf(a.Expr.Range(), "Wrong type", "The value of %q in %s must be a string, not %s. Write { %s = \"…\" }.", k.AsString(), a.Name, Describe(e), k.AsString())
			continue
		}
		s, _ := convert.Convert(e, cty.String)
		out[k.AsString()] = s.AsString()
	}
	return out
}

// Strings reads a list of strings.
func (l *Reader) Strings(a *hcl.Attribute, sc Scope) []string {
	v, ok := l.Value(a, sc)
	if !ok {
		return nil
	}
	if !IsList(v) {
		l.WrongType(a, "a list of strings", `["a", "b"]`, v)
		return nil
	}
	var out []string
	for it := v.ElementIterator(); it.Next(); {
		_, e := it.Element()
		if e.IsNull() || !e.Type().IsPrimitiveType() {
			l.WrongType(a, "a list of strings", `["a", "b"]`, v)
			return nil
		}
		s, _ := convert.Convert(e, cty.String)
		out = append(out, s.AsString())
	}
	return out
}

// Texts reads a list of strings, or one string, with its place.
func (l *Reader) Texts(a *hcl.Attribute, sc Scope) (out topology.Opt[[]string]) {
	v, ok := l.Value(a, sc)
	if !ok {
		return out
	}
	if s, ok := AsText(v); ok {
		return Written([]string{s}, a)
	}
	list := l.Strings(a, sc)
	if list == nil && (!IsList(v) || v.LengthInt() > 0) {
		return out // reported
	}
	return Written(list, a)
}

// Names reads a list of objects of a kind, or one.
func (l *Reader) Names(a *hcl.Attribute, kind string, sc Scope) (out topology.Opt[[]string]) {
	v, ok := l.Value(a, sc)
	if !ok {
		return out
	}
	var list []string
	for _, o := range ObjectsIn(v) {
		name, ok := AsText(o)
		if IsKind(o, kind) {
			name, ok = TextOf(o, "name"), true
		}
		if !ok {
			l.Errorf(a.Expr.Range(), "Wrong type", "%s must be a list of %ss, not %s. Write %s = [%s.NAME].", a.Name, kind, Describe(o), a.Name, kind)
			return out
		}
		list = append(list, name)
	}
	return Written(list, a)
}

// Addresses reads a list of IP addresses, or one.
func (l *Reader) Addresses(a *hcl.Attribute, sc Scope) (out topology.Opt[[]netip.Addr]) {
	v, ok := l.Value(a, sc)
	if !ok {
		return out
	}
	var list []netip.Addr
	for _, o := range ObjectsIn(v) {
		addr, ok := addressOf(o)
		if !ok {
			l.Errorf(a.Expr.Range(), "Invalid address", "%s must hold IP addresses, not %s. Write %s = [\"192.0.2.10\"].", a.Name, QuoteOr(o), a.Name)
			return out
		}
		list = append(list, addr)
	}
	return Written(list, a)
}

func IsList(v cty.Value) bool {
	t := v.Type()
	return t.IsTupleType() || t.IsListType() || t.IsSetType()
}

// Elements are the elements of a list, or the value itself.
func Elements(v cty.Value) []cty.Value {
	if !IsList(v) {
		return []cty.Value{v}
	}
	var out []cty.Value
	for it := v.ElementIterator(); it.Next(); {
		_, e := it.Element()
		out = append(out, e)
	}
	return out
}

// Address reads an IP address, or that of an object.
func (l *Reader) Address(a *hcl.Attribute, sc Scope) (out topology.Opt[netip.Addr]) {
	v, ok := l.Value(a, sc)
	if !ok {
		return out
	}
	addr, ok := addressOf(v)
	if !ok {
		l.Errorf(a.Expr.Range(), "Invalid address", "%s must be an IP address, not %s. Write %s = \"192.168.0.50\".", a.Name, QuoteOr(v), a.Name)
		return out
	}
	return Written(addr, a)
}

func addressOf(v cty.Value) (netip.Addr, bool) {
	if IsKind(v, "node", "pod", "client") {
		v = v.GetAttr("ip")
	}
	s, ok := AsText(v)
	if !ok {
		return netip.Addr{}, false
	}
	a, err := netip.ParseAddr(s)
	return a, err == nil && a.Zone() == "" && !a.Is4In6()
}

// Prefixes reads a CIDR or a list of them.
func (l *Reader) Prefixes(a *hcl.Attribute, sc Scope) (out topology.Opt[[]netip.Prefix]) {
	v, ok := l.Value(a, sc)
	if !ok {
		return out
	}
	var list []netip.Prefix
	for _, e := range Elements(v) {
		s, _ := AsText(e)
		p, err := netip.ParsePrefix(s)
		if err != nil || p.Addr().Is4In6() {
			l.Errorf(a.Expr.Range(), "Invalid CIDR", "%s must be a CIDR or a list of two, not %s. Write %s = \"10.0.0.0/16\".", a.Name, QuoteOr(e), a.Name)
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

// QuoteOr is a short string in quotes, else the type of the value.
func QuoteOr(v cty.Value) string {
	if s, ok := AsText(v); ok && len(s) <= 60 {
		return `"` + s + `"`
	}
	return Describe(v)
}

// Name reads the name of an object: text, or a reference to one of the kind.
func (l *Reader) Name(a *hcl.Attribute, kind string, sc Scope) (out topology.Opt[string]) {
	v, ok := l.Value(a, sc)
	if !ok {
		return out
	}
	if IsKind(v, kind) {
		return Written(TextOf(v, "name"), a)
	}
	if s, ok := AsText(v); ok {
		return Written(s, a)
	}
	l.Errorf(a.Expr.Range(), "Wrong type", "%s must be a %s, not %s. Write %s = %s.NAME.", a.Name, kind, Describe(v), a.Name, kind)
	return out
}

// maxDuration bounds how long an expectation may wait.
const maxDuration = 10 * time.Minute

// Duration reads a duration such as "500ms"; zero: it may be 0s.
func (l *Reader) Duration(a *hcl.Attribute, def time.Duration, zero bool, sc Scope) time.Duration {
	v, ok := l.Value(a, sc)
	if !ok {
		return def
	}
	s, _ := AsText(v)
	d, err := time.ParseDuration(s)
	if err != nil || d < 0 || d == 0 && !zero || d > maxDuration {
		l.Errorf(a.Expr.Range(), "Invalid duration", "%s must be a duration up to %s, not %s. Write %s = \"500ms\".", a.Name, "10m", QuoteOr(v), a.Name)
		return def
	}
	return d
}

// Routes reads a list of { to, via }.
func (l *Reader) Routes(a *hcl.Attribute, sc Scope) []topology.RouteSpec {
	v, ok := l.Value(a, sc)
	if !ok {
		return nil
	}
	items, _ := hcl.ExprList(a.Expr)
	var out []topology.RouteSpec
	for i, e := range Elements(v) {
		r := a.Expr.Range()
		if i < len(items) && len(items) == len(Elements(v)) {
			r = items[i].Range()
		}
		route, ok := routeOf(e)
		if !ok {
			l.Errorf(r, "Invalid route", "A route needs a destination and a next hop. Write { to = \"10.244.1.0/24\", via = node.node1.ip }.")
			continue
		}
		route.Origin = source.OriginOf(r)
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

// IsNull reports an attribute that is null, which counts as not written. That of an
// expectation may be unknown without each.from; then it is not null.
func (l *Reader) IsNull(a *hcl.Attribute, sc Scope) bool {
	if slices.ContainsFunc(a.Expr.Variables(), func(t hcl.Traversal) bool { return t.RootName() == "each" }) {
		return false
	}
	v, ok := l.Eval(a.Expr, sc)
	return ok && v.IsNull()
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

// ObjectsIn flattens lists and the instances of pods into single values.
func ObjectsIn(v cty.Value) []cty.Value {
	if v.IsNull() || !IsList(v) && !v.Type().IsObjectType() && !v.Type().IsMapType() || IsKind(v, ObjectKinds...) {
		return []cty.Value{v}
	}
	var out []cty.Value
	for it := v.ElementIterator(); it.Next(); {
		_, e := it.Element()
		out = append(out, ObjectsIn(e)...)
	}
	return out
}

func AsText(v cty.Value) (string, bool) {
	v, _ = v.Unmark()
	if v.Type() != cty.String || v.IsNull() || !v.IsKnown() {
		return "", false
	}
	return v.AsString(), true
}

// TargetPort reads a number or a name.
func (l *Reader) TargetPort(a *hcl.Attribute, sc Scope) (out topology.Opt[string]) {
	v, ok := l.Value(a, sc)
	if !ok {
		return out
	}
	if v.Type() == cty.Number {
		n := l.Number(a, sc)
		if !n.Set {
			return out
		}
		return Written(strconv.Itoa(n.Value), a)
	}
	if s, ok := AsText(v); ok {
		return Written(s, a)
	}
	l.WrongType(a, "the number or name of a port", `"http"`, v)
	return out
}

// PodName reads a reference to a pod as namespace/name.
func (l *Reader) PodName(a *hcl.Attribute, sc Scope) (out topology.Opt[string]) {
	v, ok := l.Value(a, sc)
	if !ok {
		return out
	}
	if IsKind(v, "pod") {
		return Written(TextOf(v, "namespace")+"/"+TextOf(v, "name"), a)
	}
	if s, ok := AsText(v); ok {
		return Written(s, a)
	}
	l.Errorf(a.Expr.Range(), "Wrong type", "pod must be one pod, not %s. Write pod = pod.NAME, or pod.NAME[0] where it has instances.", Describe(v))
	return out
}

// Seconds reads a whole number of seconds, or a duration such as "3h".
func (l *Reader) Seconds(a *hcl.Attribute, sc Scope) (out topology.Opt[int]) {
	v, ok := l.Value(a, sc)
	if !ok {
		return out
	}
	if text, ok := AsText(v); ok {
		d, err := time.ParseDuration(text)
		if err == nil && d%time.Second == 0 {
			return Written(int(d/time.Second), a)
		}
		if err == nil {
			l.Errorf(a.Expr.Range(), "Invalid duration", "%s must be whole seconds, not %s. Write %s = 10.", a.Name, QuoteOr(v), a.Name)
			return out
		}
	}
	return l.Number(a, sc)
}

// OneOfTwo reports two attributes that say the same thing.
func (l *Reader) OneOfTwo(a, b *hcl.Attribute) {
	if a != nil && b != nil {
		l.Errorf(b.NameRange, "Given twice", "%s and %s say the same thing. Remove one of them.", a.Name, b.Name)
	}
}

// Item is the place of an element of a list that is written out.
func Item(a *hcl.Attribute, i, of int) hcl.Range {
	if items, diags := hcl.ExprList(a.Expr); !diags.HasErrors() && len(items) == of {
		return items[i].Range()
	}
	return a.Expr.Range()
}

// NameOr is an object's kind and name, else what quoteOr says.
func NameOr(v cty.Value) string {
	if IsKind(v, ObjectKinds...) {
		return TextOf(v, "kind") + " " + TextOf(v, "name")
	}
	return QuoteOr(v)
}

// Delay reads a time such as "20ms".
func (l *Reader) Delay(a *hcl.Attribute, sc Scope) (out topology.Opt[time.Duration]) {
	v, ok := l.Value(a, sc)
	if !ok {
		return out
	}
	s, _ := AsText(v)
	d, err := time.ParseDuration(s)
	if err != nil {
		l.Errorf(a.Expr.Range(), "Invalid duration", "%s must be a duration, not %s. Write %s = \"20ms\".", a.Name, QuoteOr(v), a.Name)
		return out
	}
	return Written(d, a)
}

// Factor reads a positive number.
func (l *Reader) Factor(a *hcl.Attribute, sc Scope) float64 {
	v, ok := l.Value(a, sc)
	if !ok {
		return 0
	}
	if v.Type() != cty.Number {
		l.WrongType(a, "a number", "2", v)
		return 0
	}
	f, _ := v.AsBigFloat().Float64()
	if f <= 0 {
		l.Errorf(a.Expr.Range(), "Factor out of range", "%s is a factor above 0. Write %s = 2.", a.Name, a.Name)
	}
	return f
}
