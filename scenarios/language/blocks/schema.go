package blocks

import (
	"net/netip"
	"slices"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/netlab/netlab/topology"
)

// Schema says what a block may hold. Planned names are known, but reported as
// "not supported yet".
type Schema struct {
	Kind          string // the block, as named in a sentence
	Attrs         []Attribute
	Blocks        []Nested
	PlannedBlocks []Nested
}

// Attribute describes one attribute of a block. The schema is the only place that has its
// name, except where code asks whether it is written.
type Attribute struct {
	// At is where the value goes: a pointer, whose type says what the value must be (see
	// Store), or a Value. Nil: planned, that is, answered with "not supported yet".
	At       any
	Name     string
	Required bool
	Default  string // in HCL; empty: none, or as Means says
	Means    string // in one sentence
	Refused  bool   // it belongs elsewhere: whoever reads it says where
}

// Value reads an attribute where the type of a variable does not say all.
type Value struct {
	Type    string // what the value must be, in words
	Read    func(l *Reader, a *hcl.Attribute, sc Scope)
	repeats bool // it says how many instances of the block there are
}

// AsWritten keeps an attribute as it is written: whoever reads the block evaluates it.
func AsWritten(to **hcl.Attribute, kind string) Value {
	return Value{Type: kind, Read: func(_ *Reader, a *hcl.Attribute, _ Scope) { *to = a }}
}

// Raw is the place of an attribute that others read by its name, or nobody does.
func Raw(kind string) Value { return Value{Type: kind, Read: func(*Reader, *hcl.Attribute, Scope) {}} }

// Repeats is the place of count or for_each, which Objects reads.
func Repeats(kind string) Value {
	v := Raw(kind)
	v.repeats = true
	return v
}

// Type is what the value must be, in words; "" where the attribute is planned.
func (a Attribute) Type() string {
	switch at := a.At.(type) {
	case nil:
		return ""
	case Value:
		return at.Type
	case *string, *topology.Opt[string]:
		return "string"
	case *topology.Opt[int]:
		return "number"
	case *topology.Opt[bool]:
		return "bool"
	case *topology.Opt[time.Duration]:
		return "duration"
	case *topology.Opt[netip.Addr]:
		return "IP address"
	case *topology.Opt[[]netip.Addr]:
		return "IP address, or list of them"
	case *topology.Opt[[]netip.Prefix]:
		return "CIDR, or list of them"
	case *topology.Opt[[]string], *[]string:
		return "list of strings"
	case *topology.Opt[float64]:
		return "share"
	case *topology.Opt[uint64]:
		return "bit rate"
	case *map[string]string:
		return "map of strings"
	case *[]topology.RouteSpec:
		return "list of routes"
	}
	panic("no attribute has this type")
}

// OwnName is the name that a block gives its object, with its place.
func OwnName(name *string, named *topology.Origin) Value {
	return Value{Type: "string", Read: func(l *Reader, a *hcl.Attribute, sc Scope) {
		if t := l.Text(a, sc); t.Set {
			*name, *named = t.Value, t.Origin
		}
	}}
}

// Object is the attributes of every block that makes objects, before those of its own.
func Object(name Value, own []Attribute) []Attribute {
	return append([]Attribute{
		{At: name, Name: "name", Means: "The name, by default the label of the block, with the key of an instance after a hyphen."},
		{At: Repeats("number"), Name: "count", Means: "How many instances there are, each with count.index."},
		{At: Repeats("map, or set of strings"), Name: "for_each", Means: "A map or a set of strings, with an instance for each element, which is each.key and each.value."},
	}, own...)
}

// NameOf is the name of an object: text, or a reference to one of the kind.
func NameOf(kind string, to *topology.Opt[string]) Value {
	return Value{Type: kind, Read: func(l *Reader, a *hcl.Attribute, sc Scope) {
		example := kind + ".NAME"
		*to = convertTo(l, a, sc, nameOf(kind), func(v cty.Value) {
			if all := ObjectsIn(v); len(all) > 0 && IsKind(all[0], kind) {
				example += "[…], one of its instances"
			}
			l.WrongType(a, "one "+kind, example, v)
		})
	}}
}

// NamesOf is a list of objects of a kind, or one.
func NamesOf(kind string, to *topology.Opt[[]string]) Value {
	return Value{Type: "list of " + kind + "s", Read: func(l *Reader, a *hcl.Attribute, sc Scope) {
		*to = eachObject(l, a, sc, nameOf(kind), l.wrong(a, "a list of "+kind+"s", "["+kind+".NAME]"))
	}}
}

// Networks is a list of CIDRs and of objects that have addresses, or one.
func Networks(to *topology.Opt[[]netip.Prefix]) Value {
	return Value{Type: "CIDR, object, or list of them", Read: func(l *Reader, a *hcl.Attribute, sc Scope) {
		v, ok := l.Value(a, sc)
		if !ok {
			return
		}
		var out []netip.Prefix
		for _, o := range ObjectsIn(v) {
			list, ok := networksOf(o)
			if !ok {
				l.Invalid(a, "network", "hold CIDRs or objects that have addresses", `["10.0.0.0/8"]`, o)
				return
			}
			out = append(out, list...)
		}
		if len(out) == 0 {
			l.Errorf(a.Expr.Range(), "Empty list", "%s is an empty list, so it means nothing. Name a CIDR, or remove it for all.", a.Name)
			return
		}
		*to = Written(out, a)
	}}
}

// networksOf are the addresses of an object, the prefixes of a subnet, or one that is written.
func networksOf(v cty.Value) (out []netip.Prefix, ok bool) {
	texts := []cty.Value{v}
	switch {
	case IsKind(v, HostKinds...):
		texts = Elements(v.GetAttr("ips"))
	case IsKind(v, "subnet"):
		texts = Elements(v.GetAttr("cidrs"))
	}
	for _, t := range texts {
		s, _ := AsText(t)
		p, ok := PrefixOf(s)
		if !ok {
			return nil, false
		}
		out = append(out, p)
	}
	return out, true
}

// As reads a value in a way of its own.
func As[T any](to *T, kind string, read func(*Reader, *hcl.Attribute, Scope) T) Value {
	return Value{Type: kind, Read: func(l *Reader, a *hcl.Attribute, sc Scope) { *to = read(l, a, sc) }}
}

// Noted keeps the place of a value that is missing or unusable, so that nothing else is
// reported about it.
func Noted[T any](to *topology.Opt[T], kind string, read func(*Reader, *hcl.Attribute, Scope) topology.Opt[T]) Value {
	return Value{Type: kind, Read: func(l *Reader, a *hcl.Attribute, sc Scope) {
		if *to = read(l, a, sc); !to.Set {
			to.Origin = originOf(a)
		}
	}}
}

// Reported is Noted, except that null counts as not written.
func Reported[T any](to *topology.Opt[T], kind string, read func(*Reader, *hcl.Attribute, Scope) topology.Opt[T]) Value {
	return Value{Type: kind, Read: func(l *Reader, a *hcl.Attribute, sc Scope) {
		if !l.IsNull(a, sc) {
			Noted(to, kind, read).Read(l, a, sc)
		}
	}}
}

// Store reads an attribute into what its schema names.
func (l *Reader) Store(at any, a *hcl.Attribute, sc Scope) {
	switch to := at.(type) {
	case Value:
		to.Read(l, a, sc)
	case *string:
		*to = l.Text(a, sc).Value
	case *topology.Opt[string]:
		*to = l.Text(a, sc)
	case *topology.Opt[int]:
		*to = l.Number(a, sc)
	case *topology.Opt[bool]:
		*to = l.Boolean(a, sc)
	case *topology.Opt[time.Duration]:
		*to = convertTo(l, a, sc, durationOf, l.invalid(a, "duration", "be a duration", `"20ms"`))
	case *topology.Opt[netip.Addr]:
		*to = l.Address(a, sc)
	case *topology.Opt[[]netip.Addr]:
		*to = eachObject(l, a, sc, addressOf, l.invalid(a, "address", "hold IP addresses", `["192.0.2.10"]`))
	case *topology.Opt[[]netip.Prefix]:
		*to = l.prefixes(a, sc)
	case *topology.Opt[[]string]:
		*to = l.Texts(a, sc)
	case *topology.Opt[float64]:
		*to = convertTo(l, a, sc, shareOf, l.invalid(a, a.Name, "be a share of the packets", `"1%" or `+a.Name+" = 0.01"))
	case *topology.Opt[uint64]:
		*to = convertTo(l, a, sc, rateOf, l.invalid(a, a.Name, "be a bit rate in the notation of tc", `"10mbit"`))
	case *[]string:
		*to = l.Strings(a, sc)
	case *map[string]string:
		*to = l.Labels(a, sc)
	case *[]topology.RouteSpec:
		*to = l.routes(a, sc)
	default:
		panic("no attribute has this type")
	}
}

// Nested is a block inside a block, or at the top of a file.
type Nested struct {
	Name    string
	Labeled bool
	Means   string // in one sentence
	// Table returns what the block may hold; nil: planned, or any attribute.
	Table   func() Schema
	Refused bool // it belongs elsewhere: whoever reads it says where
}

// Labeled is a block with a label.
func Labeled(name, means string, table func() Schema) Nested {
	return Nested{Name: name, Labeled: true, Means: means, Table: table}
}

// Plain is a block without label.
func Plain(name, means string, table func() Schema) Nested {
	return Nested{Name: name, Means: means, Table: table}
}

// Planned are blocks that do not exist yet.
func Planned(labeled bool, names ...string) []Nested {
	var out []Nested
	for _, n := range names {
		out = append(out, Nested{Name: n, Labeled: labeled})
	}
	return out
}

// Content is what is written in a block.
type Content struct {
	Given  int // attributes
	Scope  Scope
	schema Schema
	attrs  hcl.Attributes
	blocks []*Block
}

// Named are the blocks of a kind.
func (c *Content) Named(kind string) []*Block {
	return slices.DeleteFunc(slices.Clone(c.blocks), func(b *Block) bool { return b.Kind != kind })
}

// Attr is an attribute as written; nil: it is not.
func (c *Content) Attr(name string) *hcl.Attribute {
	if !slices.Contains(c.schema.AttrNames(), name) {
		panic("no schema has " + name)
	}
	return c.attrs[name]
}

// body is the schema in the terms of HCL, planned names included.
func (s Schema) body() *hcl.BodySchema {
	out := &hcl.BodySchema{}
	for _, a := range s.Attrs {
		out.Attributes = append(out.Attributes, hcl.AttributeSchema{Name: a.Name})
	}
	for _, b := range slices.Concat(s.Blocks, s.PlannedBlocks) {
		h := hcl.BlockHeaderSchema{Type: b.Name}
		if b.Labeled {
			h.LabelNames = []string{"name"}
		}
		out.Blocks = append(out.Blocks, h)
	}
	return out
}

// AttrNames and blockNames list what exists, for suggestions: nothing that is planned.
func (s Schema) AttrNames() []string {
	var out []string
	for _, a := range s.Attrs {
		if a.At != nil {
			out = append(out, a.Name)
		}
	}
	return out
}

func (s Schema) blockNames() []string {
	var out []string
	for _, b := range s.Blocks {
		out = append(out, b.Name)
	}
	return out
}
