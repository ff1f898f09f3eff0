package reference

import (
	"fmt"
	"slices"
	"strings"

	"github.com/netlab/netlab/datapath"
	"github.com/netlab/netlab/scenarios/language"
	"github.com/netlab/netlab/scenarios/language/blocks"
)

// Entry is a block or an attribute of the language.
type Entry struct {
	Path      string // service.port.node_port; "": a file
	Means     string // in one sentence
	Block     bool
	Labeled   bool             // of a block
	Table     blocks.Schema    // of a block
	Attribute blocks.Attribute // if it is not a block
	alike     string           // the same for entries of blocks that may hold the same
}

// name is the last part of the path.
func (e Entry) name() string { return e.Path[strings.LastIndexByte(e.Path, '.')+1:] }

// shape is the same for blocks that may hold the same, such as all selectors.
func (e Entry) shape() string { return fmt.Sprint(e.Table.Kind, e.Table.AttrNames()) }

// within are the entries directly in a block: attributes first, and nothing that is
// only planned.
func (e Entry) within() []Entry {
	var out []Entry
	at := func(name string) string { return strings.TrimPrefix(e.Path+"."+name, ".") }
	for _, a := range e.Table.Attrs {
		if a.At != nil && !a.Refused {
			out = append(out, Entry{Path: at(a.Name), Means: a.Means, Attribute: a, alike: e.shape() + a.Name})
		}
	}
	for _, b := range e.Table.Blocks {
		if b.Refused {
			continue
		}
		in := Entry{Path: at(b.Name), Means: b.Means, Block: true, Labeled: b.Labeled, alike: e.shape() + b.Name}
		if b.Table != nil {
			in.Table = b.Table()
		}
		out = append(out, in)
	}
	return out
}

// top is the file as a block.
func top() Entry {
	return Entry{Block: true, Table: language.Reference(datapath.Catalogue())}
}

// all are all entries below one, in the order of the tables.
func (e Entry) all() []Entry {
	var out []Entry
	for _, in := range e.within() {
		out = append(append(out, in), in.all()...)
	}
	return out
}

// Find returns the entries with a path, such as service.type: one, or two where a block
// and an attribute share a name, such as policy.pod_selector. Without any, unknown is
// the beginning of the path that does not exist, and near are the paths beside it.
func Find(path string) (found []Entry, unknown string, near []string) {
	at := []Entry{top()}
	parts := strings.Split(path, ".")
	for i, part := range parts {
		var next []Entry
		near = nil
		for _, e := range at {
			for _, in := range e.within() {
				near = append(near, in.Path)
				if in.name() == part {
					next = append(next, in)
				}
			}
		}
		if at = next; len(at) == 0 {
			slices.Sort(near)
			return nil, strings.Join(parts[:i+1], "."), slices.Compact(near)
		}
	}
	return at, "", nil
}

// Paths are the paths of all entries, without repetition.
func Paths() []string {
	var out []string
	for _, e := range top().all() {
		if !slices.Contains(out, e.Path) {
			out = append(out, e.Path)
		}
	}
	return out
}
