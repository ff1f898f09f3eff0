package reference

import (
	"strings"
	"sync"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/netlab/netlab/scenarios"
)

// Use is a place in a scenario that ships where an entry is used.
type Use struct {
	Lab  scenarios.Lab
	Line int
	Text string // of the line
}

// uses are the uses of all entries, by path, in the order of the scenarios; a scenario
// has at most one of each.
var uses = sync.OnceValue(func() map[string][]Use {
	out := map[string][]Use{}
	for _, lab := range scenarios.All() {
		f, diags := hclsyntax.ParseConfig(lab.Text, lab.Path, hcl.InitialPos)
		if diags.HasErrors() {
			panic(diags) // they are tested
		}
		lines := strings.Split(string(lab.Text), "\n")
		note := func(path string, line int) {
			if have := out[path]; len(have) == 0 || have[len(have)-1].Lab.Path != lab.Path {
				out[path] = append(have, Use{lab, line, strings.TrimSpace(lines[line-1])})
			}
		}
		usesIn(f.Body.(*hclsyntax.Body), "", note)
	}
	return out
})

// usesIn notes what a body holds, the content of dynamic blocks included.
func usesIn(body *hclsyntax.Body, path string, note func(path string, line int)) {
	at := func(name string) string { return strings.TrimPrefix(path+"."+name, ".") }
	for _, a := range body.Attributes {
		note(at(a.Name), a.NameRange.Start.Line)
	}
	for _, b := range body.Blocks {
		if b.Type != "dynamic" {
			note(at(b.Type), b.TypeRange.Start.Line)
			usesIn(b.Body, at(b.Type), note)
			continue
		}
		note(at(b.Labels[0]), b.TypeRange.Start.Line)
		for _, content := range b.Body.Blocks {
			usesIn(content.Body, at(b.Labels[0]), note)
		}
	}
}

// Uses returns where scenarios that ship use a block or an attribute, one use each; if
// none does, where they use the same in a block that is alike.
func (e Entry) Uses() []Use {
	if list := uses()[e.Path]; len(list) > 0 {
		return list
	}
	return alikeUses()[e.alike]
}

var alikeUses = sync.OnceValue(func() map[string][]Use {
	out := map[string][]Use{}
	for _, e := range top().all() {
		if len(out[e.alike]) == 0 {
			out[e.alike] = uses()[e.Path]
		}
	}
	return out
})
