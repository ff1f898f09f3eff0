package claims

import (
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/netlab/netlab/datapath/flow"
	"github.com/netlab/netlab/scenarios/expect"
	"github.com/netlab/netlab/scenarios/language/blocks"
)

// allow reads a truth table: allow lists the pairs that connect, [from, to], where
// each of the two may be a list; denied says how all others end. A pod always
// reaches itself, listed or not.
func (l *reader) allow(e *expect.Reach, c *expectBody, from []dialer, sc blocks.Scope) *expect.Allow {
	a, denied := c.allow, c.denied
	if a == nil || l.IsNull(a, sc) {
		if denied != nil {
			l.Errorf(denied.NameRange, "Denied without allow", "denied is about the pairs that allow does not list. Add allow = [[pod.a, pod.b]], or write outcome.")
		}
		return nil
	}
	l.without(c, sc, []*hcl.Attribute{c.outcome, c.sometimes, c.answer, c.source, c.forwarded, c.sticky, c.ttl, c.mtu, c.upload}, []string{"spread", "latency", "throughput"}, func(at hcl.Range, name, _ string) {
		l.Errorf(at, "Not in a truth table", "With allow, pairs end differently, so %s cannot hold for all. Remove it, or write another expectation.", name)
	})
	def := flow.Timeout
	if l.lab.PolicyOptions.Deny == "reject" {
		def = flow.Refused
	}
	out := &expect.Allow{Denied: flow.Outcome(l.Word(denied, "denied setting", sc, string(def), []string{string(flow.Timeout), string(flow.Refused)}, nil))}
	for i := range e.From {
		out.Pairs = append(out.Pairs, make([]bool, len(e.To)))
		for k := range e.To {
			out.Pairs[i][k] = e.Itself(i, k)
		}
	}
	v, ok := l.Value(a, sc)
	if !ok {
		return nil
	}
	if !blocks.IsList(v) {
		l.WrongType(a, "a list of pairs", "[[pod.a, pod.b]]", v)
		return nil
	}
	r := l.targetReader(e, c, a, from, sc)
	for i, pair := range blocks.Elements(v) {
		if !blocks.IsList(pair) || pair.LengthInt() != 2 {
			l.Errorf(blocks.Item(a, i, v.LengthInt()), "Not a pair", "Each element of allow is a pair [from, to], not %s. Write allow = [[pod.a, pod.b], [pod.c, [pod.a, pod.b]]].", blocks.Describe(pair))
			return nil
		}
		r.at = blocks.Item(a, i, v.LengthInt())
		both := blocks.Elements(pair)
		l.allowPair(out, e, from, r, both[0], both[1])
	}
	return out
}

// without reports attributes and blocks that an expectation of this kind cannot have: where
// each is, its name, and what to call it.
func (l *reader) without(c *expectBody, sc blocks.Scope, attrs []*hcl.Attribute, nested []string, report func(at hcl.Range, name, called string)) {
	for _, a := range attrs {
		if a != nil && !l.IsNull(a, sc) {
			report(a.NameRange, a.Name, a.Name)
		}
	}
	for _, name := range nested {
		for _, b := range c.Named(name) {
			report(b.KindRange, name, "the "+name+" block")
		}
	}
}

// allowPair marks the pairs of one element of allow.
func (l *reader) allowPair(out *expect.Allow, e *expect.Reach, from []dialer, r *targetReader, who, whom cty.Value) {
	for _, f := range blocks.ObjectsIn(who) {
		place, known := l.place(f)
		i := slices.IndexFunc(from, func(d dialer) bool { return known && d.place.Netns == place.Netns && d.place.Name == place.Name })
		if i < 0 {
			l.Errorf(r.at, "Pair outside the table", "%s is not one of from. Add it there, or remove the pair.", blocks.NameOr(f))
			return
		}
		for _, t := range blocks.ObjectsIn(whom) {
			target, _, ok := r.read(t)
			if !ok {
				return
			}
			k := slices.IndexFunc(e.To, func(x expect.Target) bool { return x.Addr == target.Addr })
			if k < 0 {
				l.Errorf(r.at, "Pair outside the table", "%s is not one of to. Add it there, or remove the pair.", blocks.NameOr(t))
				return
			}
			out.Pairs[i][k] = true
		}
	}
}
