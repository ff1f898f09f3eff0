package blocks

import (
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/netlab/netlab/scenarios/language/functions"
	"github.com/netlab/netlab/scenarios/language/source"
	"github.com/netlab/netlab/topology"
)

// local is one local value. It is evaluated when something refers to it for the first
// time, so that it can depend on whatever is known then.
type local struct {
	attr   *hcl.Attribute
	done   bool
	failed bool
	value  cty.Value
	size   int
}

func (l *Reader) CollectLocals() {
	for b := range l.BlocksOf("locals") {
		attrs, diags := b.Body.JustAttributes()
		l.HCL(diags)
		for _, name := range slices.Sorted(maps.Keys(attrs)) {
			if first, ok := l.locals[name]; ok {
				l.Errorf(attrs[name].NameRange, "Duplicate local value", "The local value %q was already declared %s. Rename or remove one of them.",
					name, source.OriginOf(first.attr.NameRange).SeenFrom(source.OriginOf(attrs[name].NameRange)))
				continue
			}
			l.locals[name] = &local{attr: attrs[name], value: cty.DynamicVal}
		}
	}
}

// evalLocal evaluates a local value at the first reference to it.
func (l *Reader) evalLocal(name string, r hcl.Range) bool {
	lo := l.locals[name]
	if lo == nil {
		l.Errorf(r, "Unknown local value", "There is no local value %q.%s Declare it in a locals block.", name,
			topology.DidYouMean(name, slices.Collect(maps.Keys(l.locals))))
		return false
	}
	if lo.done {
		return !lo.failed
	}
	if i := slices.Index(l.calling, name); i >= 0 {
		cycle := append(slices.Clone(l.calling[i:]), name)
		for j := range cycle {
			cycle[j] = "local." + cycle[j]
		}
		first := l.locals[l.calling[i]]
		l.Errorf(first.attr.NameRange, "Local values form a cycle", "%s refers to itself: %s. Break the cycle.", cycle[0], strings.Join(cycle, " -> "))
		for _, n := range l.calling[i:] {
			l.locals[n].done, l.locals[n].failed = true, true
		}
		return false
	}
	if len(l.calling) > source.MaxDepth {
		l.Errorf(r, "Nested too deeply", "Local values refer to each other more than %d levels deep. Use fewer steps.", source.MaxDepth)
		return false
	}
	l.calling = append(l.calling, name)
	v, ok := l.Eval(lo.attr.Expr, nil)
	l.calling = l.calling[:len(l.calling)-1]
	if !ok {
		// A later stage may know what was missing, but the mistake is reported.
		lo.done, lo.failed = true, true
		return false
	}
	lo.done, lo.value, lo.size = true, v, functions.Size(v)
	if lo.size > functions.MaxValue {
		l.Errorf(lo.attr.Expr.Range(), "Value too large", "The local value %q is larger than %d bytes. Make it smaller.", name, functions.MaxValue)
		lo.failed = true
	}
	return !lo.failed
}

// EvalLocals evaluates all local values, and so finds the mistakes in those that nothing refers
// to.
func (l *Reader) EvalLocals() bool {
	ok := true
	for _, name := range slices.Sorted(maps.Keys(l.locals)) {
		ok = l.evalLocal(name, l.locals[name].attr.NameRange) && ok
	}
	return ok
}
