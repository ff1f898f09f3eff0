package claims

import (
	"cmp"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"github.com/netlab/netlab/scenarios/language/blocks"
	"github.com/netlab/netlab/topology"
)

// FaultTable is something that is broken on purpose, of one of some kinds.
func FaultTable(kinds []topology.FaultKind) blocks.Schema { return new(faultBody).table(kinds) }

// faultBody is something that is broken on purpose, and the claims that hold then.
type faultBody struct {
	*blocks.Content
	name, kind, node, towards, protocol, port *hcl.Attribute
}

func (b *faultBody) table(kinds []topology.FaultKind) blocks.Schema {
	var means []string
	for _, k := range kinds {
		means = append(means, k.Name+" ("+k.About+")")
	}
	return blocks.Schema{Kind: "fault", Blocks: []blocks.Nested{
		blocks.Labeled("expect", "A claim that is tried while the fault is there.", func() blocks.Schema { return new(expectBody).table() }),
	}, Attrs: blocks.Object(blocks.AsWritten(&b.name, "string"), []blocks.Attribute{
		{At: blocks.AsWritten(&b.kind, "string"), Name: "kind", Required: true, Means: "What breaks: " + strings.Join(means, "; ") + "."},
		{At: blocks.AsWritten(&b.node, "node"), Name: "node", Required: true, Means: "The node where it breaks."},
		{At: blocks.AsWritten(&b.towards, "node"), Name: "towards", Means: "The other node, for kinds that are about the way to one."},
		{At: blocks.AsWritten(&b.protocol, "string"), Name: "protocol", Default: `"udp"`, Means: "The protocol of port: udp or tcp."},
		{At: blocks.AsWritten(&b.port, "number"), Name: "port", Means: "The port, for kinds that are about one."},
	})}
}

// evalFaults reads the faults and their claims, whose names are added to those of others.
func (l *reader) evalFaults(names map[string]topology.Origin) {
	seen := map[string]topology.Origin{}
	for b := range l.Objects("fault") {
		c := &faultBody{}
		c.Content = l.Read(b, c.table(l.kinds))
		f := l.fault(b, c)
		if first, ok := seen[f.Name]; ok {
			l.Errorf(cmp.Or(rangeOf(c.name), b.LabelRange), "Duplicate fault", "The fault %q was already declared %s. Rename or remove one of them.", f.Name, first.SeenFrom(f.Origin))
		}
		seen[f.Name] = f.Origin
		nested := c.Named("expect")
		if len(nested) == 0 {
			l.Errorf(b.KindRange, "Fault without claim", "Nothing is tried while %q is broken. Add an expect block that says how that shows.", f.Name)
		}
		for _, block := range nested {
			for _, one := range l.InstancesOf(block, new(expectBody).table()) {
				c := &expectBody{}
				c.Content = l.Read(one, c.table())
				for _, e := range l.claims(one, c) {
					e.Name, e.During = f.Name+": "+e.Name, f
					l.addClaim(e, cmp.Or(rangeOf(c.name), one.LabelRange), names)
				}
			}
		}
		l.faults = append(l.faults, f)
	}
}

// fault resolves one fault block.
func (l *reader) fault(b *blocks.Block, c *faultBody) *topology.Fault {
	f := &topology.Fault{Name: l.Text(c.name, b.Scope).Or(topology.NameOf(b.Label, b.Key)), Origin: b.Origin()}
	var names []string
	for _, k := range l.kinds {
		names = append(names, k.Name)
	}
	word := l.Word(c.kind, "kind of fault", b.Scope, "", names, nil)
	f.Kind = topology.First(l.kinds, func(k topology.FaultKind) bool { return k.Name == word })
	if c.kind == nil {
		l.Errorf(b.LabelRange, "Missing attribute", "The fault %q has no kind. Add kind = %q, or another of %s.", f.Name, names[0], topology.OneOf(names))
	}
	f.Node, f.Towards = l.faultNode(c.node, "node", b.Scope), l.faultNode(c.towards, "towards", b.Scope)
	if c.node == nil {
		l.Errorf(b.LabelRange, "Missing attribute", "The fault %q has no node. Add node = node.NAME.", f.Name)
	}
	f.Protocol = topology.Protocol(l.Word(c.protocol, "protocol", b.Scope, string(topology.UDP), []string{"udp", "tcp"}, nil))
	f.Port = uint16(l.between(c.port, b.Scope, "port", 1, 65535))
	if f.Kind.Name == "" {
		return f
	}
	for _, x := range []struct {
		attr  *hcl.Attribute
		fits  bool
		name  string
		write string // "": it may be left out
	}{{c.towards, f.Kind.Towards, "towards", "node.NAME"}, {c.port, f.Kind.Port, "port", "8472"}, {c.protocol, f.Kind.Port, "protocol", ""}} {
		switch {
		case x.fits && x.attr == nil && x.write != "":
			l.Errorf(b.LabelRange, "Missing attribute", "The fault %q has no %s, which %s needs. Add %s = %s.", f.Name, x.name, f.Kind.Name, x.name, x.write)
		case !x.fits && x.attr != nil:
			l.Errorf(x.attr.NameRange, "Not part of this fault", "A fault of kind %s has no %s. Remove it.", f.Kind.Name, x.name)
		}
	}
	if f.Towards != nil && f.Towards == f.Node {
		l.Errorf(c.towards.Expr.Range(), "One node twice", "A node has no way to itself that could break. Name another node.")
	}
	return f
}

// faultNode reads a node of a fault; nil: none is written, or it is wrong.
func (l *reader) faultNode(a *hcl.Attribute, name string, sc blocks.Scope) *topology.Node {
	v, ok := l.Value(a, sc)
	if !ok {
		return nil
	}
	n, ok := l.object(v).(*topology.Node)
	switch {
	case !ok && blocks.IsKind(v, "node"):
		l.Silent = true // not resolved, and reported
	case !ok:
		l.Errorf(a.Expr.Range(), "Not a node", "%s must be a node, not %s.%s", name, blocks.QuoteOr(v), l.suggest(v))
	}
	return n
}
