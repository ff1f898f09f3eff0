package claims

import (
	"maps"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/netlab/netlab/datapath/flow"
	"github.com/netlab/netlab/scenarios/expect"
	"github.com/netlab/netlab/scenarios/language/blocks"
	"github.com/netlab/netlab/topology"
)

var outcomes = []string{string(flow.Connected), string(flow.Refused), string(flow.Timeout), string(flow.Unreachable), string(flow.Reset), string(flow.DNS)}

// outcome reads how connections end: all alike, by weights, or some of them.
func (l *reader) outcome(e *expect.Reach, c *expectBody, sc blocks.Scope) {
	e.Outcome, e.Sometimes = flow.Connected, l.Boolean(c.sometimes, sc).Value
	v, ok := l.Value(c.outcome, sc)
	if !ok {
		return
	}
	if v.Type() == cty.String {
		e.Outcome = flow.Outcome(l.Word(c.outcome, "outcome", sc, string(flow.Connected), outcomes, nil))
		return
	}
	// A name resolves always or never.
	mixed := slices.DeleteFunc(slices.Clone(outcomes), func(o string) bool { return o == string(flow.DNS) })
	weights := l.weights(c.outcome, v, topology.OneOf(mixed), mixed, "a string or a map of numbers", `"timeout" or outcome = { connected = 1, timeout = 1 }`)
	if weights == nil {
		return
	}
	e.Mix = map[flow.Outcome]float64{}
	for name, weight := range weights {
		e.Mix[flow.Outcome(name)] = weight
	}
	if names := slices.Sorted(maps.Keys(e.Mix)); len(names) > 0 && e.Mix[flow.Connected] == 0 {
		e.Outcome = names[0] // no answer is expected
	}
	if v.LengthInt() == 1 {
		l.Errorf(c.outcome.Expr.Range(), "One outcome", "Weights need at least two outcomes. Write outcome = %q.", e.Outcome)
	}
	if e.Sometimes {
		l.Errorf(c.sometimes.NameRange, "Sometimes with weights", "Weights already say how many connections end how. Remove sometimes, or the weights.")
	}
}

// weights reads a map of positive numbers for some of the names; nil: it is none. of says
// what the names are.
func (l *reader) weights(a *hcl.Attribute, v cty.Value, of string, names []string, kind, example string) map[string]float64 {
	if !blocks.IsMap(v) {
		l.WrongType(a, kind, example, v)
		return nil
	}
	weights := map[string]float64{}
	for k, n := range v.Elements() {
		name := k.AsString()
		if n.IsNull() || n.Type() != cty.Number || n.AsBigFloat().Sign() <= 0 || !slices.Contains(names, name) {
			l.Errorf(a.Expr.Range(), "Invalid weight", "The weight of %q must be a positive number for %s.%s", name, of, topology.DidYouMean(name, names))
			continue
		}
		weights[name], _ = n.AsBigFloat().Float64()
	}
	return weights
}
