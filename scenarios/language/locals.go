package language

import (
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

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

func (l *reader) collectLocals() {
	for _, b := range l.blocksOf("locals") {
		attrs, diags := b.body.JustAttributes()
		l.hcl(diags)
		for _, name := range slices.Sorted(maps.Keys(attrs)) {
			if first, ok := l.locals[name]; ok {
				l.errorf(attrs[name].NameRange, "Duplicate local value", "The local value %q was already declared %s. Rename or remove one of them.",
					name, originOf(first.attr.NameRange).SeenFrom(originOf(attrs[name].NameRange)))
				continue
			}
			l.locals[name] = &local{attr: attrs[name], value: cty.DynamicVal}
		}
	}
}

// evalLocal evaluates a local value at the first reference to it.
func (l *reader) evalLocal(name string, r hcl.Range) bool {
	lo := l.locals[name]
	if lo == nil {
		l.errorf(r, "Unknown local value", "There is no local value %q.%s Declare it in a locals block.", name,
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
		l.errorf(first.attr.NameRange, "Local values form a cycle", "%s refers to itself: %s. Break the cycle.", cycle[0], strings.Join(cycle, " -> "))
		for _, n := range l.calling[i:] {
			l.locals[n].done, l.locals[n].failed = true, true
		}
		return false
	}
	if len(l.calling) > maxDepth {
		l.errorf(r, "Nested too deeply", "Local values refer to each other more than %d levels deep. Use fewer steps.", maxDepth)
		return false
	}
	l.calling = append(l.calling, name)
	v, ok := l.eval(lo.attr.Expr, nil)
	l.calling = l.calling[:len(l.calling)-1]
	if !ok {
		// A later stage may know what was missing, but the mistake is reported.
		lo.done, lo.failed = true, true
		return false
	}
	lo.done, lo.value, lo.size = true, v, size(v)
	if lo.size > maxValue {
		l.errorf(lo.attr.Expr.Range(), "Value too large", "The local value %q is larger than %d bytes. Make it smaller.", name, maxValue)
		lo.failed = true
	}
	return !lo.failed
}

func (l *reader) allLocals() bool {
	ok := true
	for _, name := range slices.Sorted(maps.Keys(l.locals)) {
		ok = l.evalLocal(name, l.locals[name].attr.NameRange) && ok
	}
	return ok
}

// evalUnusedLocals finds the mistakes in local values that nothing refers to.
func (l *reader) evalUnusedLocals() { l.allLocals() }
