package blocks

import (
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"

	"github.com/netlab/netlab/scenarios/language/functions"
	"github.com/netlab/netlab/scenarios/language/source"
)

// Reader takes the blocks of a scenario apart and evaluates the expressions in them. It
// knows which names are declared, and what has a value at the current stage.
type Reader struct {
	*source.Collector
	top       Schema // of the files
	Functions map[string]function.Function
	// valueOf makes the value behind the first word of a reference, once per stage.
	valueOf func(kind string) cty.Value

	raw      map[string]hcl.Blocks
	stage    Stage
	Declared map[string]map[string]hcl.Range  // kind to names
	Poisoned map[string]bool                  // kind.name whose declaration failed
	Made     map[string]map[string]*Instances // kind and label to what the block made
	locals   map[string]*local
	calling  []string             // locals under evaluation
	Roots    map[string]cty.Value // cached objects of a stage
	Silent   bool                 // something was skipped because its cause was reported
	// Incomplete says that not all objects could be read: one that is missing is no mistake.
	Incomplete bool
}

// New makes a reader of files that may hold the blocks of top.
func New(c *source.Collector, top Schema, functions map[string]function.Function, valueOf func(kind string) cty.Value) *Reader {
	return &Reader{
		Collector: c, top: top, Functions: functions, valueOf: valueOf, raw: map[string]hcl.Blocks{},
		Declared: map[string]map[string]hcl.Range{}, Poisoned: map[string]bool{}, Made: map[string]map[string]*Instances{}, locals: map[string]*local{}, Roots: map[string]cty.Value{},
	}
}

// Empty reports that no file has any block.
func (l *Reader) Empty() bool { return len(l.raw) == 0 }

func (l *Reader) Enter(s Stage) {
	l.stage = s
	l.Roots = map[string]cty.Value{}
}

// HCL adds HCL's own diagnostics and those of functions, in our words.
func (l *Reader) HCL(diags hcl.Diagnostics) {
	for _, d := range diags {
		if strings.Contains(d.Detail, strings.TrimPrefix(functions.InstancesFunc, "\x00")) {
			d.Summary, d.Detail = "Splat of one value", "This value cannot be used with a splat. Use it without [*]."
		}
		l.Collector.HCL(hcl.Diagnostics{d})
	}
}
