package blocks

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/ext/dynblock"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"github.com/netlab/netlab/scenarios/language/functions"
	"github.com/netlab/netlab/scenarios/language/source"
	"github.com/netlab/netlab/topology"
)

// Scope is the names that exist only inside a block: each, count and the iterators
// of dynamic blocks.
type Scope map[string]cty.Value

// Block is a block of the scenario.
type Block struct {
	Kind       string
	Label      string
	KindRange  hcl.Range
	LabelRange hcl.Range // that of the kind for a block without label
	Body       hcl.Body
	Scope      Scope // of the dynamic block or instance that it is part of

	Key   string // of the instance; "" without count and for_each
	Index int    // of the instance among its siblings
}

func (b *Block) Origin() topology.Origin { return source.OriginOf(b.LabelRange) }

// Name is the name of the object that is given no other one.
func (b *Block) Name() string { return topology.NameOf(b.Label, b.Key) }

// Written is where the object comes from.
func (b *Block) Written() topology.Written { return topology.Written{Block: b.Label, Key: b.Key} }

// Read takes a block apart by its schema, with its dynamic blocks expanded. It stores what
// is written where the schema says, and reports what is out of place.
func (l *Reader) Read(b *Block, s Schema) *Content {
	l.Now(b.LabelRange)
	ctx := l.dynamicContext(b.Body, b.Scope)
	body := dynblock.Expand(b.Body, ctx, dynblock.OptCheckForEach(l.checkDynamic))
	raw, diags := body.Content(s.body())
	if of := s.blocksIn(raw); len(of.Attrs) < len(s.Attrs) {
		raw, diags = body.Content(of.body())
	}
	l.schemaDiags(diags, s)
	l.checkPlanned(raw, s)
	for _, a := range s.Attrs {
		if written := raw.Attributes[a.Name]; written != nil && a.At != nil {
			l.Store(a.At, written, b.Scope)
		}
	}
	out := &Content{Given: len(raw.Attributes), Scope: b.Scope, schema: s, attrs: raw.Attributes}
	for _, rb := range raw.Blocks {
		if !slices.ContainsFunc(s.PlannedBlocks, func(n Nested) bool { return n.Name == rb.Type }) {
			out.blocks = append(out.blocks, newBlock(rb, b.Scope))
		}
	}
	return out
}

// blocksIn is the schema without the bools that are blocks: JSON writes both alike, so that
// an object is a block where there is one of that name.
func (s Schema) blocksIn(raw *hcl.BodyContent) Schema {
	s.Attrs = slices.DeleteFunc(slices.Clone(s.Attrs), func(a Attribute) bool {
		written := raw.Attributes[a.Name]
		if written == nil || a.Type() != "bool" || !slices.Contains(s.blockNames(), a.Name) || !strings.HasSuffix(written.Range.Filename, ".json") {
			return false
		}
		_, notObject := hcl.ExprMap(written.Expr)
		return !notObject.HasErrors()
	})
	return s
}

// Peek is an attribute of a block that has not been read; nil: it is not written.
func (b *Block) Peek(name string) *hcl.Attribute {
	raw, _, _ := b.Body.PartialContent(&hcl.BodySchema{Attributes: []hcl.AttributeSchema{{Name: name}}})
	return raw.Attributes[name]
}

func newBlock(rb *hcl.Block, sc Scope) *Block {
	b := &Block{Kind: rb.Type, KindRange: rb.TypeRange, LabelRange: rb.TypeRange, Body: rb.Body, Scope: sc}
	if len(rb.Labels) > 0 {
		b.Label = rb.Labels[0]
	}
	if len(rb.LabelRanges) > 0 {
		b.LabelRange = rb.LabelRanges[0]
	}
	return b
}

func (l *Reader) checkPlanned(raw *hcl.BodyContent, s Schema) {
	for _, name := range slices.Sorted(maps.Keys(raw.Attributes)) {
		if slices.ContainsFunc(s.Attrs, func(a Attribute) bool { return a.Name == name && a.At == nil }) {
			l.notYet(raw.Attributes[name].NameRange, "attribute", name)
		}
	}
	for _, rb := range raw.Blocks {
		if slices.ContainsFunc(s.PlannedBlocks, func(n Nested) bool { return n.Name == rb.Type }) {
			l.notYet(rb.TypeRange, "block", rb.Type)
		}
	}
}

func (l *Reader) notYet(r hcl.Range, what, name string) {
	l.Errorf(r, "Not supported yet", "This version does not have the %s %q yet. Remove it.", what, name)
}

func (l *Reader) checkDynamic(v cty.Value, e hcl.Expression, _ *hcl.EvalContext) hcl.Diagnostics {
	v, _ = v.Unmark()
	if v.IsKnown() && !v.IsNull() && v.CanIterateElements() && v.LengthInt() > functions.MaxInstances {
		return hcl.Diagnostics{{Severity: hcl.DiagError, Summary: "Too many instances", Subject: e.Range().Ptr(),
			Detail: fmt.Sprintf("This makes %d blocks. The limit is %d.", v.LengthInt(), functions.MaxInstances)}}
	}
	return nil
}

// TopLevel sorts the blocks of a file by kind, with unknown ones reported. Dynamic
// blocks are kept for the stage of their kind, which knows more names.
func (l *Reader) TopLevel(body hcl.Body) {
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
				l.Errorf(rb.LabelRanges[0], "Unknown block", "There is no block %q.%s", kind, OrKnown(kind, s.blockNames()))
				continue
			}
			if kind == "variable" || kind == "locals" || kind == "netlab" {
				l.Errorf(rb.LabelRanges[0], "Dynamic block not allowed", "A %s block cannot be dynamic. Write it out.", kind)
				continue
			}
		}
		l.raw[kind] = append(l.raw[kind], rb)
	}
}

// BlocksOf are the blocks of a kind, dynamic ones expanded. The name of one that a dynamic
// block made is declared when its turn comes.
func (l *Reader) BlocksOf(kind string) iter.Seq[*Block] {
	return func(yield func(*Block) bool) {
		var all []*Block
		for _, rb := range l.raw[kind] {
			if rb.Type == "dynamic" {
				all = append(all, l.expand(rb, kind)...)
				continue
			}
			all = append(all, newBlock(rb, nil))
		}
		for _, b := range all {
			if b.Scope != nil {
				l.Declare(kind, b.Label, b.LabelRange)
			}
			if !yield(b) {
				return
			}
		}
	}
}

// Distinct are the blocks of a kind without those whose label was declared before, which
// has been reported.
func (l *Reader) Distinct(kind string) iter.Seq[*Block] {
	return func(yield func(*Block) bool) {
		seen := map[string]bool{}
		for b := range l.BlocksOf(kind) {
			if !seen[b.Label] && !yield(b) {
				return
			}
			seen[b.Label] = true
		}
	}
}

// expand makes the blocks of a dynamic block at the top of a file. Those inside
// other blocks are dynblock's; here the iterator must stay visible for nested
// blocks with scopes of their own.
func (l *Reader) expand(rb *hcl.Block, kind string) []*Block {
	raw, diags := rb.Body.Content(&hcl.BodySchema{
		Attributes: []hcl.AttributeSchema{{Name: "for_each", Required: true}, {Name: "iterator"}, {Name: "labels"}},
		Blocks:     []hcl.BlockHeaderSchema{{Type: "content"}},
	})
	l.HCL(diags)
	forEach := raw.Attributes["for_each"]
	if forEach == nil || diags.HasErrors() {
		return nil
	}
	if len(raw.Blocks) != 1 {
		l.Errorf(rb.LabelRanges[0], "Dynamic block without content", "A dynamic block needs one content block. Add content { … }.")
		return nil
	}
	iterator := kind
	if a := raw.Attributes["iterator"]; a != nil {
		if iterator = hcl.ExprAsKeyword(a.Expr); iterator == "" {
			l.Errorf(a.Expr.Range(), "Invalid iterator", "The iterator must be a single name. Write iterator = item.")
			return nil
		}
	}
	elements, ok := l.elements(forEach, nil)
	if !ok {
		return nil
	}
	var out []*Block
	for _, e := range elements {
		sc := Scope{iterator: cty.ObjectVal(map[string]cty.Value{"key": e.key, "value": e.value})}
		b := newBlock(rb, sc)
		b.Kind, b.Label, b.Body = kind, "", raw.Blocks[0].Body
		b.KindRange = rb.LabelRanges[0]
		if a := raw.Attributes["labels"]; a != nil {
			v, ok := l.Eval(a.Expr, sc)
			if !ok {
				continue
			}
			b.LabelRange = a.Expr.Range()
			list, err := convert.Convert(v, cty.List(cty.String))
			if err != nil || list.IsNull() || list.LengthInt() != 1 || list.Index(cty.Zero).IsNull() {
				l.Errorf(a.Expr.Range(), "Invalid dynamic label", "labels must be a list of one string. Write labels = [%s.key].", iterator)
				continue
			}
			b.Label = list.Index(cty.Zero).AsString()
		}
		out = append(out, b)
	}
	return out
}

// schemaDiags turns HCL's complaints about the shape of a block into ours, with the
// nearest known name.
func (l *Reader) schemaDiags(diags hcl.Diagnostics, s Schema) {
	for _, d := range diags {
		name := ""
		if d.Subject != nil {
			name = strings.Trim(string(d.Subject.SliceBytes(l.Sources[d.Subject.Filename])), `"`)
		}
		switch d.Summary {
		case "Unsupported argument", "Unexpected attribute":
			if slices.Contains(s.blockNames(), name) {
				l.Errorf(*d.Subject, "Block written as attribute", "%q is a block of this %s. Write %s { … } without the equals sign.", name, s.Kind, name)
				continue
			}
			l.Errorf(*d.Subject, "Unknown attribute", "This %s has no attribute %q.%s", s.Kind, name, s.instead(name))
		case "Unsupported block type":
			if slices.Contains(s.AttrNames(), name) {
				l.Errorf(*d.Subject, "Attribute written as block", "%q is an attribute of this %s. Write %s = …", name, s.Kind, name)
				continue
			}
			l.Errorf(*d.Subject, "Unknown block", "This %s has no block %q.%s", s.Kind, name, cmp.Or(elsewhere(name), OrKnown(name, s.blockNames())))
		case "Extraneous JSON object property":
			l.Errorf(*d.Subject, "Unknown property", "This %s has neither an attribute nor a block %q.%s", s.Kind, name,
				OrKnown(name, append(s.AttrNames(), s.blockNames()...)))
		default:
			l.HCL(hcl.Diagnostics{d})
		}
	}
}

// instead says what to write in place of an attribute that does not exist.
func (s Schema) instead(name string) string {
	blocks, attrs := s.blockNames(), s.AttrNames()
	near, block := topology.DidYouMean(name, attrs), topology.DidYouMean(name, blocks)
	switch {
	case (name == "count" || name == "for_each") && near == "":
		return ` Blocks inside others are repeated by dynamic "KIND" { for_each = … }.`
	case near == "" && elsewhere(name) != "":
		return elsewhere(name)
	case slices.Contains(attrs, "match_labels") && near == "":
		return fmt.Sprintf(" Labels stand in match_labels = { %s = … }, or in an attribute instead of the block.", name)
	case near == "" && block != "":
		return block + " That is a block, without the equals sign."
	case len(attrs) > 0 || len(blocks) == 0:
		return OrKnown(name, attrs)
	}
	return fmt.Sprintf(" It has blocks only: %s.", topology.OneOf(slices.Sorted(slices.Values(blocks))))
}

// OrKnown suggests the nearest name, else lists what there is.
func OrKnown(name string, known []string) string {
	if h := topology.DidYouMean(name, known); h != "" {
		return h
	}
	if len(known) == 0 {
		return " It takes none; remove it."
	}
	known = slices.Sorted(slices.Values(known))
	return fmt.Sprintf(" Use %s.", topology.OneOf(known))
}

// Single returns the block of a kind that may occur once; nil if there is none.
func (l *Reader) Single(kind string) *Block {
	return l.first(slices.Collect(l.BlocksOf(kind)), "A scenario has")
}

// Option returns the block of a kind that may occur once inside another block.
func (l *Reader) Option(c *Content, kind string) *Block {
	return l.first(c.Named(kind), "There may be")
}

func (l *Reader) first(blocks []*Block, there string) *Block {
	if len(blocks) == 0 {
		return nil
	}
	for _, b := range blocks[1:] {
		l.Errorf(b.KindRange, "Duplicate "+b.Kind+" block", "%s one %s block, and the first is %s. Merge them.", there, b.Kind,
			source.OriginOf(blocks[0].KindRange).SeenFrom(source.OriginOf(b.KindRange)))
	}
	return blocks[0]
}

// DeclareAll records every name that the blocks declare, so that a reference to a later
// stage can be told from a reference to nothing.
func (l *Reader) DeclareAll() {
	for kind, blocks := range l.raw {
		l.Declared[kind] = map[string]hcl.Range{}
		for _, b := range blocks {
			if b.Type != "dynamic" && len(b.Labels) > 0 {
				l.Declare(kind, b.Labels[0], b.LabelRanges[0])
			}
		}
	}
}

// Declare records the label of a block. Where expressions refer to it, a second block with
// the label is an error. Package topology checks the names of objects.
func (l *Reader) Declare(kind, name string, r hcl.Range) {
	first, ok := l.Declared[kind][name]
	if !ok {
		if l.Declared[kind] == nil {
			l.Declared[kind] = map[string]hcl.Range{}
		}
		l.Declared[kind][name] = r
		return
	}
	if kind == "variable" || kind == "expect" || slices.Contains(ObjectKinds, kind) {
		l.Errorf(r, "Duplicate "+kind, "The %s %q was already declared %s. Rename or remove one of them.", kind, name, source.OriginOf(first).SeenFrom(source.OriginOf(r)))
	}
}
