package language

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/ext/dynblock"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"github.com/netlab/netlab/topology"
)

// scope is the names that exist only inside a block: each, count and the iterators
// of dynamic blocks.
type scope map[string]cty.Value

// block is a block of the scenario.
type block struct {
	kind       string
	label      string
	kindRange  hcl.Range
	labelRange hcl.Range // that of the kind for a block without label
	body       hcl.Body
	scope      scope // of the dynamic block that made it
}

func (b *block) origin() topology.Origin { return originOf(b.labelRange) }

// read takes a block apart, as readInto does, into a new struct of its kind.
func read[T any, P interface {
	*T
	shape
}](l *reader, b *block, sc scope) *T {
	out := new(T)
	l.readInto(P(out), b, sc)
	return out
}

// readInto takes a block apart by its schema, with its dynamic blocks expanded, and
// reports what is out of place.
func (l *reader) readInto(into shape, b *block, sc scope) {
	s, out := into.schema(), into.body()
	ctx := l.dynamicContext(b.body, sc)
	raw, diags := dynblock.Expand(b.body, ctx, dynblock.OptCheckForEach(l.checkDynamic)).Content(s.body())
	l.schemaDiags(diags, s)
	s.bind(raw.Attributes)
	out.given, out.end = len(raw.Attributes), raw.MissingItemRange
	l.checkPlanned(raw, s)
	for _, rb := range raw.Blocks {
		if slices.ContainsFunc(s.plannedBlocks, func(n nested) bool { return n.name == rb.Type }) {
			continue
		}
		out.blocks = append(out.blocks, newBlock(rb, nil))
	}
}

func newBlock(rb *hcl.Block, sc scope) *block {
	b := &block{kind: rb.Type, kindRange: rb.TypeRange, labelRange: rb.TypeRange, body: rb.Body, scope: sc}
	if len(rb.Labels) > 0 {
		b.label = rb.Labels[0]
	}
	if len(rb.LabelRanges) > 0 {
		b.labelRange = rb.LabelRanges[0]
	}
	return b
}

func (l *reader) checkPlanned(raw *hcl.BodyContent, s schema) {
	for _, name := range slices.Sorted(maps.Keys(raw.Attributes)) {
		if slices.ContainsFunc(s.attrs, func(a attribute) bool { return a.name == name && a.at == nil }) {
			l.notYet(raw.Attributes[name].NameRange, "attribute", name)
		}
	}
	for _, rb := range raw.Blocks {
		if slices.ContainsFunc(s.plannedBlocks, func(n nested) bool { return n.name == rb.Type }) {
			l.notYet(rb.TypeRange, "block", rb.Type)
		}
	}
}

func (l *reader) notYet(r hcl.Range, what, name string) {
	l.errorf(r, "Not supported yet", "This version does not have the %s %q yet. Remove it.", what, name)
}

func (l *reader) checkDynamic(v cty.Value, e hcl.Expression, _ *hcl.EvalContext) hcl.Diagnostics {
	v, _ = v.Unmark()
	if v.IsKnown() && !v.IsNull() && v.CanIterateElements() && v.LengthInt() > maxInstances {
		return hcl.Diagnostics{{Severity: hcl.DiagError, Summary: "Too many instances", Subject: e.Range().Ptr(),
			Detail: fmt.Sprintf("This makes %d blocks. The limit is %d.", v.LengthInt(), maxInstances)}}
	}
	return nil
}

// topLevel sorts the blocks of a file by kind, with unknown ones reported. Dynamic
// blocks are kept for the stage of their kind, which knows more names.
func (l *reader) topLevel(body hcl.Body) {
	s := l.top
	hs := s.body()
	hs.Blocks = append(hs.Blocks, hcl.BlockHeaderSchema{Type: "dynamic", LabelNames: []string{"kind"}})
	raw, diags := body.Content(hs)
	l.schemaDiags(diags, s)
	l.checkPlanned(raw, s)
	for _, rb := range raw.Blocks {
		kind := rb.Type
		if kind == "dynamic" {
			kind = rb.Labels[0]
			if !slices.Contains(s.blockNames(), kind) {
				l.errorf(rb.LabelRanges[0], "Unknown block", "There is no block %q.%s", kind, orKnown(kind, s.blockNames()))
				continue
			}
			if kind == "variable" || kind == "locals" || kind == "netlab" {
				l.errorf(rb.LabelRanges[0], "Dynamic block not allowed", "A %s block cannot be dynamic. Write it out.", kind)
				continue
			}
		}
		l.raw[kind] = append(l.raw[kind], rb)
	}
}

// blocksOf returns the blocks of a kind, dynamic ones expanded.
func (l *reader) blocksOf(kind string) []*block {
	var out []*block
	for _, rb := range l.raw[kind] {
		if rb.Type == "dynamic" {
			out = append(out, l.expand(rb, kind)...)
			continue
		}
		out = append(out, newBlock(rb, nil))
	}
	return out
}

// expand makes the blocks of a dynamic block at the top of a file. Those inside
// other blocks are dynblock's; here the iterator must stay visible for nested
// blocks with scopes of their own.
func (l *reader) expand(rb *hcl.Block, kind string) []*block {
	raw, diags := rb.Body.Content(&hcl.BodySchema{
		Attributes: []hcl.AttributeSchema{{Name: "for_each", Required: true}, {Name: "iterator"}, {Name: "labels"}},
		Blocks:     []hcl.BlockHeaderSchema{{Type: "content"}},
	})
	l.hcl(diags)
	forEach := raw.Attributes["for_each"]
	if forEach == nil || diags.HasErrors() {
		return nil
	}
	if len(raw.Blocks) != 1 {
		l.errorf(rb.LabelRanges[0], "Dynamic block without content", "A dynamic block needs one content block. Add content { … }.")
		return nil
	}
	iterator := kind
	if a := raw.Attributes["iterator"]; a != nil {
		if iterator = hcl.ExprAsKeyword(a.Expr); iterator == "" {
			l.errorf(a.Expr.Range(), "Invalid iterator", "The iterator must be a single name. Write iterator = item.")
			return nil
		}
	}
	instances, ok := l.instances(forEach, nil)
	if !ok {
		return nil
	}
	var out []*block
	for _, in := range instances {
		sc := scope{iterator: cty.ObjectVal(map[string]cty.Value{"key": in.key, "value": in.value})}
		b := newBlock(rb, sc)
		b.kind, b.label, b.body = kind, "", raw.Blocks[0].Body
		b.kindRange = rb.LabelRanges[0]
		if a := raw.Attributes["labels"]; a != nil {
			v, ok := l.eval(a.Expr, sc)
			if !ok {
				continue
			}
			b.labelRange = a.Expr.Range()
			label, err := firstLabel(v)
			if err != nil {
				l.errorf(a.Expr.Range(), "Invalid dynamic label", "labels must be a list of one string. Write labels = [%s.key].", iterator)
				continue
			}
			b.label = label
		}
		out = append(out, b)
	}
	return out
}

func firstLabel(v cty.Value) (string, error) {
	list, err := convert.Convert(v, cty.List(cty.String))
	if err != nil || list.IsNull() || list.LengthInt() != 1 {
		return "", fmt.Errorf("not a list of one")
	}
	s := list.Index(cty.Zero)
	if s.IsNull() {
		return "", fmt.Errorf("null")
	}
	return s.AsString(), nil
}

// instance is one element of a for_each or count.
type instance struct {
	name       string
	key, value cty.Value
}

// instances evaluates a for_each: a map, an object or a set of strings. Its order is
// that of the keys; for a list it is the list's.
func (l *reader) instances(a *hcl.Attribute, sc scope) ([]instance, bool) {
	v, ok := l.eval(a.Expr, sc)
	if !ok {
		return nil, false
	}
	if v.IsNull() || !v.CanIterateElements() {
		l.errorf(a.Expr.Range(), "Wrong type", "for_each must be a map or a set of strings, not %s. Use toset([…]) or { key = value }.", describe(v))
		return nil, false
	}
	if n := v.LengthInt(); n > maxInstances {
		l.errorf(a.Expr.Range(), "Too many instances", "This makes %d instances. The limit is %d.", n, maxInstances)
		return nil, false
	}
	var out []instance
	for it := v.ElementIterator(); it.Next(); {
		key, value := it.Element()
		if v.Type().IsSetType() {
			key = value
		}
		name, err := convert.Convert(key, cty.String)
		if err != nil || name.IsNull() {
			l.errorf(a.Expr.Range(), "Wrong type", "The elements of this set must be strings. Use toset([\"a\", \"b\"]).")
			return nil, false
		}
		out = append(out, instance{name.AsString(), key, value})
	}
	return out, true
}

// schemaDiags turns HCL's complaints about the shape of a block into ours, with the
// nearest known name.
func (l *reader) schemaDiags(diags hcl.Diagnostics, s schema) {
	for _, d := range diags {
		name := ""
		if d.Subject != nil {
			name = strings.Trim(string(d.Subject.SliceBytes(l.sources[d.Subject.Filename])), `"`)
		}
		switch d.Summary {
		case "Unsupported argument", "Unexpected attribute":
			if slices.Contains(s.blockNames(), name) {
				l.errorf(*d.Subject, "Block written as attribute", "%q is a block of this %s. Write %s { … } without the equals sign.", name, s.kind, name)
				continue
			}
			l.errorf(*d.Subject, "Unknown attribute", "This %s has no attribute %q.%s", s.kind, name, s.instead(name))
		case "Unsupported block type":
			if slices.Contains(s.attrNames(), name) {
				l.errorf(*d.Subject, "Attribute written as block", "%q is an attribute of this %s. Write %s = …", name, s.kind, name)
				continue
			}
			l.errorf(*d.Subject, "Unknown block", "This %s has no block %q.%s", s.kind, name, orKnown(name, s.blockNames()))
		case "Extraneous JSON object property":
			l.errorf(*d.Subject, "Unknown property", "This %s has neither an attribute nor a block %q.%s", s.kind, name,
				orKnown(name, append(s.attrNames(), s.blockNames()...)))
		default:
			l.hcl(hcl.Diagnostics{d})
		}
	}
}

// instead says what to write in place of an attribute that does not exist.
func (s schema) instead(name string) string {
	blocks := s.blockNames()
	if len(s.attrNames()) > 0 || len(blocks) == 0 {
		return orKnown(name, s.attrNames())
	}
	if h := topology.DidYouMean(name, blocks); h != "" {
		return h + " That is a block, without the equals sign."
	}
	return fmt.Sprintf(" It has blocks only: %s.", topology.OneOf(slices.Sorted(slices.Values(blocks))))
}

// orKnown suggests the nearest name, else lists what there is.
func orKnown(name string, known []string) string {
	if h := topology.DidYouMean(name, known); h != "" {
		return h
	}
	if len(known) == 0 {
		return " It takes none; remove it."
	}
	known = slices.Sorted(slices.Values(known))
	return fmt.Sprintf(" Use %s.", topology.OneOf(known))
}

// single returns the block of a kind that may occur once.
func (l *reader) single(kind string) *block {
	blocks := l.blocksOf(kind)
	if len(blocks) == 0 {
		return nil
	}
	for _, b := range blocks[1:] {
		l.errorf(b.kindRange, "Duplicate "+kind+" block", "A scenario has one %s block, and the first is %s. Merge them.", kind, originOf(blocks[0].kindRange).SeenFrom(originOf(b.kindRange)))
	}
	return blocks[0]
}

// option returns the block of a kind that may occur once inside another block.
func (l *reader) option(c shape, kind string) *block {
	blocks := c.body().named(kind)
	if len(blocks) == 0 {
		return nil
	}
	for _, b := range blocks[1:] {
		l.errorf(b.kindRange, "Duplicate "+kind+" block", "There may be one %s block, and the first is %s. Merge them.", kind, originOf(blocks[0].kindRange).SeenFrom(originOf(b.kindRange)))
	}
	return blocks[0]
}

// declareAll records every name that the blocks declare, so that a reference to a later
// stage can be told from a reference to nothing.
func (l *reader) declareAll() {
	for kind, blocks := range l.raw {
		l.declared[kind] = map[string]hcl.Range{}
		for _, b := range blocks {
			if b.Type != "dynamic" && len(b.Labels) > 0 {
				l.declare(kind, b.Labels[0], b.LabelRanges[0])
			}
		}
	}
}

// declare records a name; a second declaration of a variable, pod or local is an
// error here. Package topology checks nodes and the like.
func (l *reader) declare(kind, name string, r hcl.Range) {
	first, ok := l.declared[kind][name]
	if !ok {
		if l.declared[kind] == nil {
			l.declared[kind] = map[string]hcl.Range{}
		}
		l.declared[kind][name] = r
		return
	}
	if kind == "variable" || kind == "pod" || kind == "expect" || kind == "service" {
		l.errorf(r, "Duplicate "+kind, "The %s %q was already declared %s. Rename or remove one of them.", kind, name, originOf(first).SeenFrom(originOf(r)))
	}
}

// declareDynamic records the name of a block that a dynamic block made.
func (l *reader) declareDynamic(b *block) {
	if b.scope != nil {
		l.declare(b.kind, b.label, b.labelRange)
	}
}
