package blocks

import "github.com/hashicorp/hcl/v2"

// Attribute describes one attribute of a block. The table of a block (its schema) is the
// only place that has its name: the decoder stores what is written in a field of the block's
// struct, which is what evaluation reads.
type Attribute struct {
	At       **hcl.Attribute // nil: planned, that is, answered with "not supported yet"
	Name     string
	Holds    valueType
	Required bool
	Default  string // the default, in HCL; empty: none, or as means says
	Means    string // in one sentence
}

// valueType describes the values of an attribute.
type valueType string

// The types of attributes.
const (
	AString       valueType = "string"
	ANumber       valueType = "number"
	ABool         valueType = "bool"
	AList         valueType = "list of strings"
	AMap          valueType = "map of strings"
	AWeightMap    valueType = "map of numbers"
	ATime         valueType = "duration"
	ARate         valueType = "bit rate"
	AShare        valueType = "share"
	AnAddress     valueType = "IP address"
	SomeAddresses valueType = "IP addresses"
	ACIDR         valueType = "CIDR"
	SomeCIDRs     valueType = "CIDR or list of CIDRs"
	ANode         valueType = "node"
	SomeNodes     valueType = "list of nodes"
	ANamespace    valueType = "namespace"
	APod          valueType = "pod"
	APort         valueType = "port number or name"
	SomeRoutes    valueType = "map of routes"
	ASelector     valueType = "label selector"
	AType         valueType = "type"
	AnExpression  valueType = "expression"
	Anything      valueType = "any value"
	SomeDialers   valueType = "pods, nodes or clients"
	SomeTargets   valueType = "services, pods, nodes, clients or addresses"
	SomeAgents    valueType = "pods or clients"
	SomeSources   valueType = "addresses, CIDRs, pods, nodes or clients"
	SomePairs     valueType = "list of pairs"
	AnOutcome     valueType = "string, or map of weights"
)

// Content is what every block holds beside its attributes.
type Content struct {
	Given  int // attributes that are written
	blocks []*Block
	End    hcl.Range
}

func (c *Content) Body() *Content { return c }

func (c *Content) Named(kind string) []*Block {
	var out []*Block
	for _, b := range c.blocks {
		if b.Kind == kind {
			out = append(out, b)
		}
	}
	return out
}

// Shape is a struct with the attributes of a kind of block as fields.
type Shape interface {
	Schema() Schema
	Body() *Content
}

// Bind stores the attributes that are written in their fields.
func (s Schema) Bind(written hcl.Attributes) {
	for _, a := range s.Attrs {
		if a.At != nil {
			*a.At = written[a.Name]
		}
	}
}
