package language

import "github.com/hashicorp/hcl/v2"

// attribute describes one attribute of a block. The table of a block (its schema) is the
// only place that has its name: the decoder stores what is written in a field of the block's
// struct, which is what evaluation reads.
type attribute struct {
	at       **hcl.Attribute // nil: planned, that is, answered with "not supported yet"
	name     string
	holds    valueType
	required bool
	def      string // the default, in HCL; empty: none, or as means says
	means    string // in one sentence
}

// valueType describes the values of an attribute.
type valueType string

// The types of attributes.
const (
	aString       valueType = "string"
	aNumber       valueType = "number"
	aBool         valueType = "bool"
	aList         valueType = "list of strings"
	aMap          valueType = "map of strings"
	aWeightMap    valueType = "map of numbers"
	aTime         valueType = "duration"
	aRate         valueType = "bit rate"
	aShare        valueType = "share"
	anAddress     valueType = "IP address"
	someAddresses valueType = "IP addresses"
	aCIDR         valueType = "CIDR"
	someCIDRs     valueType = "CIDR or list of CIDRs"
	aNode         valueType = "node"
	someNodes     valueType = "list of nodes"
	aNamespace    valueType = "namespace"
	aPod          valueType = "pod"
	aPort         valueType = "port number or name"
	someRoutes    valueType = "map of routes"
	aSelector     valueType = "label selector"
	aType         valueType = "type"
	anExpression  valueType = "expression"
	anything      valueType = "any value"
	someDialers   valueType = "pods, nodes or clients"
	someTargets   valueType = "services, pods, nodes, clients or addresses"
	someAgents    valueType = "pods or clients"
	someSources   valueType = "addresses, CIDRs, pods, nodes or clients"
	somePairs     valueType = "list of pairs"
)

// content is what every block holds beside its attributes.
type content struct {
	given  int // attributes that are written
	blocks []*block
	end    hcl.Range
}

func (c *content) body() *content { return c }

func (c *content) named(kind string) []*block {
	var out []*block
	for _, b := range c.blocks {
		if b.kind == kind {
			out = append(out, b)
		}
	}
	return out
}

// shape is a struct with the attributes of a kind of block as fields.
type shape interface {
	schema() schema
	body() *content
}

// bind stores the attributes that are written in their fields.
func (s schema) bind(written hcl.Attributes) {
	for _, a := range s.attrs {
		if a.at != nil {
			*a.at = written[a.name]
		}
	}
}
