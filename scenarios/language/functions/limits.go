package functions

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
)

// The limits of a scenario. A lab of thousands of pods fits with room to spare;
// a slip or a hostile file is rejected before it exhausts memory.
const (
	MaxInstances = 10_000  // of one block, by count, for_each or dynamic
	MaxPairs     = 100_000 // of one expectation
	MaxValue     = 1 << 18 // bytes and elements of one local value
)

// atOnce checks the arguments of functions that allocate their whole result before they fill
// it. What grows step by step is stopped by whoever watches the load; a single allocation
// larger than the machine's memory ends the process before anyone could.
var atOnce = map[string]func(args []cty.Value) error{
	"format":     widths,
	"formatlist": widths,
	"indent": func(args []cty.Value) error {
		if n, ok := Whole(args[0]); !ok || n > 999 {
			return function.NewArgErrorf(0, "indents are limited to 999")
		}
		return nil
	},
	"setproduct": func(args []cty.Value) error {
		n := 1
		for _, a := range args {
			if !a.CanIterateElements() {
				return nil
			}
			if n *= a.LengthInt(); n > MaxPairs {
				return fmt.Errorf("more than %d elements", MaxPairs)
			}
		}
		return nil
	},
	"replace": func(args []cty.Value) error {
		s, old, with := args[0].AsString(), args[1].AsString(), args[2].AsString()
		return fits(len(s) + strings.Count(s, old)*len(with))
	},
	"join": func(args []cty.Value) error {
		n := 0
		for _, list := range args[1:] {
			for it := list.ElementIterator(); it.Next(); {
				if _, e := it.Element(); e.IsKnown() && !e.IsNull() {
					n += len(args[0].AsString()) + len(e.AsString())
				}
			}
		}
		return fits(n)
	},
}

// maxText bounds the text that a function makes at once, in bytes.
const maxText = 64 * MaxValue

func fits(size int) error {
	if size > maxText {
		return fmt.Errorf("the text would be larger than %d bytes", maxText)
	}
	return nil
}

var longWidth = regexp.MustCompile(`%[^a-zA-Z%]*[0-9]{4,}`)

func widths(args []cty.Value) error {
	if len(args) > 0 && args[0].Type() == cty.String && longWidth.MatchString(args[0].AsString()) {
		return function.NewArgErrorf(0, "widths are limited to 999")
	}
	return nil
}

// checked is a function whose arguments are checked before the call.
func checked(f function.Function, check func([]cty.Value) error) function.Function {
	return function.New(&function.Spec{
		Params:   f.Params(),
		VarParam: f.VarParam(),
		Type: func(args []cty.Value) (cty.Type, error) {
			for _, a := range args {
				if !a.IsKnown() || a.IsNull() {
					return f.ReturnTypeForValues(args)
				}
			}
			if err := check(args); err != nil {
				return cty.NilType, err
			}
			return f.ReturnTypeForValues(args)
		},
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) { return f.Call(args) },
	})
}

// Size is the bytes and elements of a value, counted up to a little over maxValue.
func Size(v cty.Value) int {
	total := 0
	_ = cty.Walk(v, func(_ cty.Path, v cty.Value) (bool, error) {
		total++
		if v.IsKnown() && !v.IsNull() && v.Type() == cty.String {
			total += len(v.AsString())
		}
		return total <= MaxValue, nil
	})
	return total
}
