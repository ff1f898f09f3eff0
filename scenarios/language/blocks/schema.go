package blocks

import "github.com/hashicorp/hcl/v2"

// Schema says what a block may hold. Planned names are known, but reported as
// "not supported yet".
type Schema struct {
	Kind          string // the block, as named in a sentence
	Attrs         []Attribute
	Blocks        []nested
	PlannedBlocks []nested
}

// nested is a block inside a block, or at the top of a file.
type nested struct {
	Name    string
	labeled bool
}

func Named(labeled bool, names ...string) []nested {
	var out []nested
	for _, n := range names {
		out = append(out, nested{n, labeled})
	}
	return out
}

// Body is the schema in the terms of HCL, planned names included.
func (s Schema) Body() *hcl.BodySchema {
	out := &hcl.BodySchema{}
	for _, a := range s.Attrs {
		out.Attributes = append(out.Attributes, hcl.AttributeSchema{Name: a.Name})
	}
	for _, list := range [][]nested{s.Blocks, s.PlannedBlocks} {
		for _, b := range list {
			h := hcl.BlockHeaderSchema{Type: b.Name}
			if b.labeled {
				h.LabelNames = []string{"name"}
			}
			out.Blocks = append(out.Blocks, h)
		}
	}
	return out
}

// AttrNames and blockNames list what exists, for suggestions.
func (s Schema) AttrNames() []string {
	var out []string
	for _, a := range s.Attrs {
		out = append(out, a.Name)
	}
	return out
}

func (s Schema) blockNames() []string {
	var out []string
	for _, list := range [][]nested{s.Blocks, s.PlannedBlocks} {
		for _, b := range list {
			out = append(out, b.Name)
		}
	}
	return out
}
