package blocks

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/netlab/netlab/scenarios/language/functions"
	"github.com/netlab/netlab/scenarios/language/source"
	"github.com/netlab/netlab/topology"
)

// Eval evaluates an expression. False means that it has no value, and that the reason
// has been reported: here, or where what it refers to was declared.
func (l *Reader) Eval(e hcl.Expression, sc Scope) (cty.Value, bool) {
	refs := e.Variables()
	if !l.checkRefs(refs, sc) {
		l.Silent = true
		return cty.NilVal, false
	}
	ctx := l.contextFor(refs, sc)
	l.Now(e.Range())
	v, diags := e.Value(ctx)
	for _, d := range diags {
		l.improve(d, refs, ctx)
	}
	l.HCL(diags)
	if diags.HasErrors() {
		return cty.NilVal, false
	}
	v, _ = v.UnmarkDeep()
	if !v.IsWhollyKnown() {
		l.Silent = true
		return cty.NilVal, false
	}
	return v, true
}

// dynamicContext holds the values that the dynamic blocks of a body need to expand.
// Mistakes in their references are reported when they are expanded.
func (l *Reader) dynamicContext(body hcl.Body, sc Scope) *hcl.EvalContext {
	var refs []hcl.Traversal
	for _, t := range dynamicRefs(body, 0) {
		root := t.RootName()
		if _, scoped := sc[root]; scoped || root != "var" && root != "local" && !isKind(root) {
			continue // an iterator, or reported by the expansion
		}
		if !l.checkRef(t) {
			l.Silent = true
		}
		refs = append(refs, t)
	}
	return l.contextFor(refs, sc)
}

// dynamicRefs is what the dynamic blocks of a body refer to in order to expand.
func dynamicRefs(body hcl.Body, depth int) []hcl.Traversal {
	if depth > source.MaxDepth {
		return nil
	}
	content, _, _ := body.PartialContent(&hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{{Type: "dynamic", LabelNames: []string{"kind"}}}})
	var out []hcl.Traversal
	for _, b := range content.Blocks {
		inner, _, _ := b.Body.PartialContent(&hcl.BodySchema{
			Attributes: []hcl.AttributeSchema{{Name: "for_each"}, {Name: "labels"}},
			Blocks:     []hcl.BlockHeaderSchema{{Type: "content"}},
		})
		for _, name := range []string{"for_each", "labels"} {
			if a := inner.Attributes[name]; a != nil {
				out = append(out, a.Expr.Variables()...)
			}
		}
		for _, c := range inner.Blocks {
			out = append(out, dynamicRefs(c.Body, depth+1)...)
		}
	}
	return out
}

// contextFor is the values that references need.
func (l *Reader) contextFor(refs []hcl.Traversal, sc Scope) *hcl.EvalContext {
	ctx := &hcl.EvalContext{Variables: map[string]cty.Value{}, Functions: l.Functions}
	locals := map[string]cty.Value{}
	for _, t := range refs {
		root := t.RootName()
		if _, ok := sc[root]; ok {
			continue
		}
		if root == "local" {
			name, _, named := step(t)
			if named {
				if lo := l.locals[name]; lo != nil && lo.done {
					locals[name] = lo.value
				}
				continue
			}
			for name, lo := range l.locals {
				if lo.done && !lo.failed {
					locals[name] = lo.value
				}
			}
			continue
		}
		if _, ok := ctx.Variables[root]; ok {
			continue
		}
		if v, ok := l.root(root); ok {
			ctx.Variables[root] = v
		}
	}
	ctx.Variables["local"] = cty.ObjectVal(locals)
	if len(sc) == 0 {
		return ctx
	}
	child := ctx.NewChild()
	child.Variables = sc
	return child
}

// isKind reports whether a reference can begin with a name of what blocks declare.
func isKind(name string) bool {
	return slices.Contains(SettingKinds, name) || slices.Contains(ObjectKinds, name)
}

// root is the value behind the first word of a reference.
func (l *Reader) root(name string) (cty.Value, bool) {
	if v, ok := l.Roots[name]; ok {
		return v, true
	}
	if name != "var" && (!isKind(name) || l.stage <= stageOf(name)) {
		return cty.NilVal, false
	}
	l.Roots[name] = l.valueOf(name)
	return l.Roots[name], true
}

// improve rewords an HCL diagnostic about a value and adds the nearest
// name, which HCL does not know for attributes of objects.
func (l *Reader) improve(d *hcl.Diagnostic, refs []hcl.Traversal, ctx *hcl.EvalContext) {
	if d.Subject == nil {
		return
	}
	switch d.Summary {
	case "Call to unknown function":
		name := string(d.Subject.SliceBytes(l.Sources[d.Subject.Filename]))
		name, _, _ = strings.Cut(name, "(")
		name = strings.TrimSpace(name)
		known := functions.Names(l.Functions)
		d.Summary = "Unknown function"
		d.Detail = fmt.Sprintf("There is no function %q.%s", name, cmp.Or(topology.DidYouMean(name, known), " Remove the call; the functions are those of Terraform that need no clock, randomness or environment."))
	case "Invalid template interpolation value":
		for _, t := range refs {
			v, diags := t.TraverseAbs(ctx)
			if at := t.SourceRange(); at.Overlaps(*d.Subject) && !diags.HasErrors() && IsKind(v, ObjectKinds...) {
				d.Summary, d.Detail = "Object in text", fmt.Sprintf("%s is %s, not text. Use its address, such as %s.%s.", pathText(t), Describe(v), pathText(t), addressAttr(v))
			}
		}
	case "Unsupported attribute", "Missing map element", "Invalid index":
		for _, t := range refs {
			r := t.SourceRange()
			if !r.Overlaps(*d.Subject) || r.Filename != d.Subject.Filename {
				continue
			}
			l.improveStep(d, t, ctx)
			return
		}
	}
}

// addressAttr is the attribute of an object that has its address.
func addressAttr(v cty.Value) string {
	for _, name := range []string{"ip", "cluster_ip"} {
		if v.Type().HasAttribute(name) {
			return name
		}
	}
	return "name"
}

// improveStep finds the step of a reference that does not resolve.
func (l *Reader) improveStep(d *hcl.Diagnostic, t hcl.Traversal, ctx *hcl.EvalContext) {
	for i := 1; i < len(t); i++ {
		v, diags := t[:i].TraverseAbs(ctx)
		if diags.HasErrors() || v.IsNull() || !v.IsKnown() {
			return
		}
		if _, diags := t[:i+1].TraverseAbs(ctx); !diags.HasErrors() {
			continue
		}
		name, r := stepName(t[i])
		d.Subject = r.Ptr()
		d.Summary = "Unknown reference"
		known := attributesOf(v)
		path := pathText(t[:i])
		if len(known) == 0 {
			d.Detail = fmt.Sprintf("%s is %s and has no %q. Refer to %s itself.", path, Describe(v), name, path)
			return
		}
		d.Detail = fmt.Sprintf("%s has no %q.%s", path, name, OrKnown(name, known))
		return
	}
}

// attributesOf are the names that can follow a value.
func attributesOf(v cty.Value) []string {
	var out []string
	switch t := v.Type(); {
	case t.IsObjectType():
		for name := range t.AttributeTypes() {
			out = append(out, name)
		}
	case t.IsMapType():
		for it := v.ElementIterator(); it.Next(); {
			k, _ := it.Element()
			out = append(out, k.AsString())
		}
	case t.IsTupleType():
		for i := range min(t.Length(), 5) {
			out = append(out, fmt.Sprintf("[%d]", i))
		}
	}
	slices.Sort(out)
	return out
}

// Describe is the type of a value, with an article, for a sentence.
func Describe(v cty.Value) string {
	if v.IsNull() {
		return "null"
	}
	switch t := v.Type(); {
	case t.IsObjectType() && t.HasAttribute("kind"):
		if kind := TextOf(v, "kind"); kind != "" {
			return "a " + kind
		}
		return "an object"
	case IsMap(v):
		return "a map"
	case t.IsSetType():
		return "a set"
	case IsList(v):
		return "a list"
	default: // a string, number or bool
		return "a " + t.FriendlyName()
	}
}

// IsKind reports an object of one of the kinds.
func IsKind(v cty.Value, kinds ...string) bool {
	return !v.IsNull() && v.IsKnown() && v.Type().IsObjectType() && slices.Contains(kinds, TextOf(v, "kind"))
}

// TextOf is a string of an object; "" if it has none.
func TextOf(v cty.Value, attr string) string {
	if !v.Type().HasAttribute(attr) {
		return ""
	}
	s, _ := AsText(v.GetAttr(attr))
	return s
}
