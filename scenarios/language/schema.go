package language

import "github.com/hashicorp/hcl/v2"

// schema says what a block may hold. Planned names are known, but reported as
// "not supported yet".
type schema struct {
	kind          string // the block, as named in a sentence
	attrs         []attribute
	blocks        []nested
	plannedBlocks []nested
}

// nested is a block inside a block, or at the top of a file.
type nested struct {
	name    string
	labeled bool
}

func named(labeled bool, names ...string) []nested {
	var out []nested
	for _, n := range names {
		out = append(out, nested{n, labeled})
	}
	return out
}

// fileSchema is the schema of the top level of a file.
func fileSchema() schema {
	return schema{
		kind: "scenario",
		blocks: append(named(false, "netlab", "locals", "network", "proxy", "policies", "matrix"),
			named(true, "variable", "node", "client", "namespace", "pod", "service", "policy", "cluster_policy", "expect")...),
		plannedBlocks: named(true, "ingress", "step"),
	}
}

// body is the schema in the terms of HCL, planned names included.
func (s schema) body() *hcl.BodySchema {
	out := &hcl.BodySchema{}
	for _, a := range s.attrs {
		out.Attributes = append(out.Attributes, hcl.AttributeSchema{Name: a.name})
	}
	for _, list := range [][]nested{s.blocks, s.plannedBlocks} {
		for _, b := range list {
			h := hcl.BlockHeaderSchema{Type: b.name}
			if b.labeled {
				h.LabelNames = []string{"name"}
			}
			out.Blocks = append(out.Blocks, h)
		}
	}
	return out
}

// attrNames and blockNames list what exists, for suggestions.
func (s schema) attrNames() []string {
	var out []string
	for _, a := range s.attrs {
		out = append(out, a.name)
	}
	return out
}

func (s schema) blockNames() []string {
	var out []string
	for _, list := range [][]nested{s.blocks, s.plannedBlocks} {
		for _, b := range list {
			out = append(out, b.name)
		}
	}
	return out
}
