package language

import (
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
)

// reader takes the blocks of a scenario apart and evaluates the expressions in them. It
// knows which names are declared, and what has a value at the current stage.
type reader struct {
	*collector
	top       schema // of the files
	functions map[string]function.Function
	// valueOf makes the value behind the first word of a reference, once per stage.
	valueOf func(kind string) cty.Value

	raw      map[string]hcl.Blocks
	stage    stage
	declared map[string]map[string]hcl.Range // kind to names
	poisoned map[string]bool                 // kind.name whose declaration failed
	locals   map[string]*local
	calling  []string             // locals under evaluation
	roots    map[string]cty.Value // cached objects of a stage
	silent   bool                 // something was skipped because its cause was reported
	spent    bool                 // the budget of the expressions; reported
}

// newReader makes a reader of files that may hold the blocks of top.
func newReader(c *collector, top schema, functions map[string]function.Function, valueOf func(kind string) cty.Value) *reader {
	return &reader{
		collector: c, top: top, functions: functions, valueOf: valueOf, raw: map[string]hcl.Blocks{},
		declared: map[string]map[string]hcl.Range{}, poisoned: map[string]bool{}, locals: map[string]*local{}, roots: map[string]cty.Value{},
	}
}

// empty reports that no file has any block.
func (l *reader) empty() bool { return len(l.raw) == 0 }

func (l *reader) enter(s stage) {
	l.stage = s
	l.roots = map[string]cty.Value{}
}

// hcl adds HCL's own diagnostics, and those of functions in our words.
func (l *reader) hcl(diags hcl.Diagnostics) {
	for _, d := range diags {
		switch {
		case strings.Contains(d.Detail, errBudget.Error()):
			if l.spent {
				continue // everything after the first fails too
			}
			l.spent = true
			d.Summary, d.Detail = "Too much to evaluate", "The expressions of this scenario do too much. Loop over less, or build less text."
		case strings.Contains(d.Detail, strings.TrimPrefix(instancesFunc, "\x00")):
			d.Detail = "This value cannot be used with a splat. Use it without [*]."
		}
		l.collector.hcl(hcl.Diagnostics{d})
	}
}
