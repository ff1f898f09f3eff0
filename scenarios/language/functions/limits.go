package functions

import (
	"errors"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
)

// The limits of a scenario. A lab of thousands of pods fits with room to spare;
// a slip or a hostile file is rejected before it exhausts memory.
const (
	MaxInstances = 10_000  // of one block, by count, for_each or dynamic
	MaxPairs     = 100_000 // of one expectation
	MaxValue     = 1 << 18 // bytes and elements of one local value
)

// The names of functions that instrument adds to expressions; no file can spell them.
const (
	loopFunc      = "\x00loop"
	textFunc      = "\x00text"
	InstancesFunc = "\x00instances"
)

// Instrument prepares the expressions of a native body: what loops and templates
// cost is counted, and a splat over the instances of a for_each goes over its
// values. HCL itself would take the object of the instances for one single value.
func Instrument(root hclsyntax.Node) {
	wrap := func(name string, e hclsyntax.Expression) hclsyntax.Expression {
		r := e.Range()
		return &hclsyntax.FunctionCallExpr{Name: name, Args: []hclsyntax.Expression{e}, NameRange: r, OpenParenRange: r, CloseParenRange: r}
	}
	_ = hclsyntax.VisitAll(root, func(n hclsyntax.Node) hcl.Diagnostics {
		switch e := n.(type) {
		case *hclsyntax.ForExpr:
			e.CollExpr = wrap(loopFunc, e.CollExpr)
		case *hclsyntax.SplatExpr:
			e.Source = wrap(InstancesFunc, e.Source)
		case *hclsyntax.TemplateExpr:
			for i, p := range e.Parts {
				if _, literal := p.(*hclsyntax.LiteralValueExpr); !literal && len(e.Parts) > 1 {
					e.Parts[i] = wrap(textFunc, p)
				}
			}
		}
		return nil
	})
}

// budget is the work that the expressions of one scenario may still do, in bytes and
// elements handled. Loops can multiply anything, so everything is counted.
type budget struct{ left int }

// The prices of an iteration, a call and an element, about what they cost in bytes.
const (
	maxWork      = 32 << 20
	turnPrice    = 256
	callPrice    = 64
	elementPrice = 16
)

var ErrBudget = errors.New("the expressions of this scenario do too much work")

func (b *budget) spend(n int) error {
	if b.left -= n; b.left < 0 {
		b.left = -1
		return ErrBudget
	}
	return nil
}

// counted is a function whose calls are charged to the budget: arguments before,
// the result after the call.
func (b *budget) counted(f function.Function) function.Function {
	return wrapped(f, func(args []cty.Value) error {
		price := callPrice
		for _, a := range args {
			price += weight(a)
		}
		return b.spend(price)
	}, func(result cty.Value) error { return b.spend(weight(result)) })
}

// weight is roughly the size of a value in bytes, without its elements.
func weight(v cty.Value) int {
	v, _ = v.Unmark()
	switch {
	case !v.IsKnown() || v.IsNull():
		return 0
	case v.Type() == cty.String:
		return len(v.AsString())
	case v.CanIterateElements():
		return elementPrice * v.LengthInt()
	}
	return 0
}

// counter is a function that returns its argument after charging the budget.
func (b *budget) counter(price func(cty.Value) int) function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{{Name: "value", Type: cty.DynamicPseudoType, AllowDynamicType: true, AllowNull: true, AllowUnknown: true, AllowMarked: true}},
		Type:   func(args []cty.Value) (cty.Type, error) { return args[0].Type(), nil },
		Impl:   func(args []cty.Value, _ cty.Type) (cty.Value, error) { return args[0], b.spend(price(args[0])) },
	})
}

// instancesFunction implements instancesFunc: the values of an object
// of instances, anything else as it is.
func instancesFunction() function.Function {
	of := func(v cty.Value) cty.Value {
		if !v.IsKnown() || v.IsNull() || !v.Type().IsObjectType() || v.Type().HasAttribute("kind") || v.LengthInt() == 0 {
			return v
		}
		var out []cty.Value
		for it := v.ElementIterator(); it.Next(); {
			_, e := it.Element()
			if !e.Type().IsObjectType() || !e.Type().HasAttribute("kind") {
				return v
			}
			out = append(out, e)
		}
		return cty.TupleVal(out)
	}
	return function.New(&function.Spec{
		Params: []function.Parameter{{Name: "value", Type: cty.DynamicPseudoType, AllowDynamicType: true, AllowNull: true, AllowUnknown: true}},
		Type:   func(args []cty.Value) (cty.Type, error) { return of(args[0]).Type(), nil },
		Impl:   func(args []cty.Value, _ cty.Type) (cty.Value, error) { return of(args[0]), nil },
	})
}

// Size is the bytes and elements of a value, counted up to a little over maxValue.
func Size(v cty.Value) int {
	total := 0
	_ = cty.Walk(v, func(_ cty.Path, v cty.Value) (bool, error) {
		total++
		if v.IsKnown() && !v.IsNull() && v.Type() == cty.String {
			total += len(v.AsString())
		}
		return total <= MaxValue, nil
	})
	return total
}
