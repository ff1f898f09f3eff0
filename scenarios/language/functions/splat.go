package functions

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
)

// InstancesFunc is the name of the function that SplatInstances adds to expressions; no file
// can spell it.
const InstancesFunc = "\x00instances"

// SplatInstances prepares the expressions of a native body: a splat over the instances of a
// for_each goes over its values. HCL itself would take the object of the instances for one
// single value.
func SplatInstances(root hclsyntax.Node) {
	_ = hclsyntax.VisitAll(root, func(n hclsyntax.Node) hcl.Diagnostics {
		if e, ok := n.(*hclsyntax.SplatExpr); ok {
			r := e.Source.Range()
			e.Source = &hclsyntax.FunctionCallExpr{Name: InstancesFunc, Args: []hclsyntax.Expression{e.Source}, NameRange: r, OpenParenRange: r, CloseParenRange: r}
		}
		return nil
	})
}

// instancesFunction implements InstancesFunc: the values of an object
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
