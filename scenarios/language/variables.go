package language

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/ext/typeexpr"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"github.com/netlab/netlab/scenarios/language/blocks"
	"github.com/netlab/netlab/scenarios/language/source"
	"github.com/netlab/netlab/topology"
)

// envPrefix begins the environment variables that set variables.
const envPrefix = "NLAB_VAR_"

// given is a value from outside the scenario's blocks.
type given struct {
	value cty.Value
	raw   bool // a string of the command line, parsed by the variable's type
	at    hcl.Range
	from  string
}

func (l *loader) evalVariables(opts Options) {
	values := l.givenValues(opts)
	for b := range l.Distinct("variable") {
		v, ok := l.evalVariable(b, values[b.Label])
		if !ok {
			l.Poisoned["variable."+b.Label] = true
			v = cty.DynamicVal
		}
		l.variables[b.Label] = v
	}
	l.Roots = map[string]cty.Value{}
}

func (l *loader) evalVariable(b *blocks.Block, g *given) (cty.Value, bool) {
	c := &variableBody{}
	c.Content = l.Read(b, c.table())
	typ, defaults, ok := cty.DynamicPseudoType, (*typeexpr.Defaults)(nil), true
	if a := c.typ; a != nil {
		var diags hcl.Diagnostics
		typ, defaults, diags = typeexpr.TypeConstraintWithDefaults(a.Expr)
		l.HCL(diags)
		ok = !diags.HasErrors()
	}
	value := cty.NilVal
	if a := c.def; a != nil {
		l.Now(a.Expr.Range())
		v, diags := a.Expr.Value(nil)
		l.HCL(diags)
		if diags.HasErrors() {
			return cty.NilVal, false
		}
		if ok && !v.IsNull() {
			if value, ok = l.convertTo(v, typ, defaults, a.Expr.Range(), "default of variable "+fmt.Sprintf("%q", b.Label)); !ok {
				return cty.NilVal, false
			}
		} else {
			value = v
		}
	}
	if !ok {
		return cty.NilVal, false
	}
	if g != nil {
		want := typ
		if want == cty.DynamicPseudoType && value != cty.NilVal && value.Type().IsPrimitiveType() {
			want = value.Type()
		}
		if want == cty.DynamicPseudoType && value != cty.NilVal && !value.IsNull() && g.raw {
			// A list or a map where the default is one; anything else is text.
			g.raw = strings.HasPrefix(g.value.AsString(), "[") || strings.HasPrefix(g.value.AsString(), "{")
		}
		text := want.IsPrimitiveType() || want == cty.DynamicPseudoType && (value == cty.NilVal || value.IsNull())
		if value, ok = l.fromOutside(b, *g, want, defaults, text); !ok {
			return cty.NilVal, false
		}
	}
	if value == cty.NilVal {
		l.Errorf(b.LabelRange, "Variable without value", "The variable %q has no default and was not set. Use --var %s=…", b.Label, b.Label)
		return cty.NilVal, false
	}
	return value, l.validate(b, c, value)
}

// fromOutside reads a value that was set from outside. What the command line gives is text
// where text is wanted, else an expression.
func (l *loader) fromOutside(b *blocks.Block, g given, want cty.Type, defaults *typeexpr.Defaults, text bool) (cty.Value, bool) {
	v := g.value
	at := g.at
	if at.Filename == "" {
		at = b.LabelRange
	}
	l.Now(at)
	if g.raw && !text {
		src := []byte(v.AsString())
		tokens, _ := hclsyntax.LexExpression(src, g.from, hcl.InitialPos)
		e, diags := hclsyntax.ParseExpression(nil, g.from, hcl.InitialPos)
		if source.TooDeep(tokens) == nil {
			e, diags = hclsyntax.ParseExpression(src, g.from, hcl.InitialPos)
		}
		if !diags.HasErrors() {
			v, diags = e.Value(nil)
		}
		if diags.HasErrors() {
			l.Errorf(at, "Invalid variable value", "The value of variable %q is not an expression. Write it like --var '%s=[\"a\", \"b\"]'.", b.Label, b.Label)
			return cty.NilVal, false
		}
	}
	return l.convertTo(v, want, defaults, at, fmt.Sprintf("value of variable %q", b.Label))
}

func (l *loader) convertTo(v cty.Value, typ cty.Type, defaults *typeexpr.Defaults, r hcl.Range, what string) (cty.Value, bool) {
	if defaults != nil {
		v = defaults.Apply(v)
	}
	out, err := convert.Convert(v, typ)
	if err != nil {
		l.Errorf(r, "Wrong type", "The %s must be of type %s, not %s. Change the value or the type.", what, typeexpr.TypeString(typ), blocks.Describe(v))
		return cty.NilVal, false
	}
	return out, true
}

func (l *loader) validate(b *blocks.Block, c *variableBody, v cty.Value) bool {
	ok := true
	for _, vb := range c.Named("validation") {
		var cond, message *hcl.Attribute
		l.Read(vb, validationTable(&cond, &message))
		if cond == nil || message == nil {
			l.Errorf(vb.KindRange, "Incomplete validation", "A validation needs condition and error_message. Add what is missing.")
			continue
		}
		ctx := &hcl.EvalContext{Functions: l.Functions, Variables: map[string]cty.Value{"var": cty.ObjectVal(map[string]cty.Value{b.Label: v})}}
		l.Now(cond.Expr.Range())
		res, diags := cond.Expr.Value(ctx)
		l.HCL(diags)
		if diags.HasErrors() {
			ok = false
			continue
		}
		res, _ = res.Unmark()
		pass, err := convert.Convert(res, cty.Bool)
		if err != nil || pass.IsNull() || !pass.IsKnown() {
			l.Errorf(cond.Expr.Range(), "Wrong type", "condition must be a bool, not %s. Compare var.%s with something.", blocks.Describe(res), b.Label)
			ok = false
			continue
		}
		if pass.False() {
			text := "The value is invalid."
			if m, diags := message.Expr.Value(ctx); !diags.HasErrors() && m.Type() == cty.String && !m.IsNull() && m.IsKnown() {
				text, _ = blocks.AsText(m)
			}
			l.Errorf(b.LabelRange, "Invalid variable value", "%s (Variable %q; its validation is on line %d.)", text, b.Label, vb.KindRange.Start.Line)
			ok = false
		}
	}
	return ok
}

// givenValues gathers the values from outside: environment, automatic files, named
// files, command line; the later ones win.
func (l *loader) givenValues(opts Options) map[string]*given {
	out := map[string]*given{}
	declared := l.Declared["variable"]
	for _, e := range opts.Environ {
		key, value, _ := strings.Cut(e, "=")
		if name, ok := strings.CutPrefix(key, envPrefix); ok {
			out[name] = &given{value: cty.StringVal(value), raw: true, from: key}
		}
	}
	for _, f := range l.in.Auto {
		l.varFile(out, f, l.Sources[f], !l.in.Single)
	}
	for _, path := range opts.VarFiles {
		src, err := source.ReadFile(path)
		if err != nil {
			l.Errorf(hcl.Range{}, "Cannot read variables", "%s: %s. Name a file that you can read.", path, source.Reason(err))
			continue
		}
		name := path
		if filepath.Base(path) == path {
			name = "./" + path // a bare name would mean one in the scenario's folder
		}
		if !source.IsScenarioAt(path) {
			l.unquoted(out, name, src, !opts.Shared)
			continue
		}
		l.Sources[name] = src
		l.varFile(out, name, src, !opts.Shared)
	}
	for _, name := range slices.Sorted(maps.Keys(opts.Vars)) {
		if _, ok := declared[name]; !ok && !opts.Shared {
			l.Errorf(hcl.Range{}, "Unknown variable", "--var %s: there is no variable %q.%s Declare it with variable %q {}.", name, name,
				topology.DidYouMean(name, slices.Collect(maps.Keys(declared))), name)
		}
		out[name] = &given{value: cty.StringVal(opts.Vars[name]), raw: true, from: "--var " + name}
	}
	return out
}

// unquoted is varFile for a file that may be anything, such as one of passwords: what is wrong
// with it is told without a word of it.
func (l *loader) unquoted(out map[string]*given, name string, src []byte, strict bool) {
	l.Sources[name] = nil
	told := l.List
	l.varFile(out, name, src, strict)
	if len(l.List) > len(told) {
		l.List = told
		l.Errorf(hcl.Range{Filename: name}, "Cannot read variables", "%s sets something else than variables of this scenario. Write name = value, and end its name in .hcl to see the lines.", name)
	}
}

// varFile reads the values of one file. Files that several scenarios share may set
// variables that this one does not have.
func (l *loader) varFile(out map[string]*given, name string, src []byte, strict bool) {
	body := source.Parse(l.Collector, src, name)
	if body == nil {
		return
	}
	attrs, diags := body.JustAttributes()
	l.HCL(diags)
	for _, key := range slices.Sorted(maps.Keys(attrs)) {
		a := attrs[key]
		if _, ok := l.Declared["variable"][key]; !ok {
			if strict {
				l.Warnf(a.NameRange, "Unknown variable", "There is no variable %q.%s Declare it with variable %q {}.", key,
					topology.DidYouMean(key, slices.Collect(maps.Keys(l.Declared["variable"]))), key)
			}
			continue
		}
		l.Now(a.Expr.Range())
		v, diags := a.Expr.Value(nil)
		l.HCL(diags)
		if !diags.HasErrors() {
			out[key] = &given{value: v, at: a.Expr.Range(), from: name}
		}
	}
}
