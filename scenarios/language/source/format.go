package source

import (
	"bytes"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclwrite"
)

// Format returns the native-syntax source of a scenario in canonical form: aligned
// and indented as every HCL tool does it. Source with a syntax error comes back
// unchanged, with the diagnostics. Progress may be nil.
func Format(path string, src []byte, progress *Progress) ([]byte, Diagnostics) {
	c := NewCollector("", map[string][]byte{path: src})
	c.Progress = progress
	c.Now(hcl.Range{Filename: path})
	if parseNative(c, src, path) == nil {
		return src, c.Sorted()
	}
	out := hclwrite.Format(src)
	if len(out) > 0 && !bytes.HasSuffix(out, []byte("\n")) {
		out = append(out, '\n')
	}
	return out, nil
}
