package nft

import "github.com/netlab/netlab/datapath/plan/coder"

// Code writes or reads a table.
func Code(c *coder.Coder, t *Table) {
	c.Origin(&t.Origin)
	coder.String(c, &t.Family)
	coder.String(c, &t.Name)
	coder.String(c, &t.Comment)
	c.Bool(&t.Dormant)
	coder.List(c, &t.Sets, codeSet)
	coder.List(c, &t.Chains, codeChain)
}

func codeSet(c *coder.Coder, s *Set) {
	c.Origin(&s.Origin)
	coder.String(c, &s.Name)
	coder.Strings(c, &s.Key)
	coder.Strings(c, &s.Data)
	c.Bool(&s.Interval)
	coder.Int(c, &s.Timeout)
	coder.String(c, &s.Comment)
	coder.List(c, &s.Elements, codeElement)
}

func codeElement(c *coder.Coder, e *Element) {
	coder.List(c, &e.Key, codeValue)
	coder.List(c, &e.Data, codeValue)
	coder.String(c, &e.Verdict.Kind)
	coder.String(c, &e.Verdict.Chain)
	coder.String(c, &e.Comment)
}

func codeValue(c *coder.Coder, v *Value) {
	c.Prefix(&v.Prefix)
	coder.Int(c, &v.First)
	coder.Int(c, &v.Last)
	coder.String(c, &v.Name)
}

func codeChain(c *coder.Coder, x *Chain) {
	coder.String(c, &x.Name)
	coder.String(c, &x.Type)
	coder.String(c, &x.Hook)
	coder.Int(c, &x.Priority)
	coder.String(c, &x.Policy)
	coder.String(c, &x.Comment)
	coder.List(c, &x.Rules, codeRule)
}

func codeRule(c *coder.Coder, r *Rule) {
	c.Origin(&r.Origin)
	coder.String(c, &r.Raw)
	c.Text(&r.Comment)
	coder.List(c, &r.Exprs, codeExpr)
}

var exprs = coder.KindsOf[Expr](Match{}, CTState{}, CTStatus{}, Lookup{}, VMap{}, Update{}, SetMark{}, MarkBy{}, Counter{}, NoTrack{}, Verdict{}, Reject{}, DNAT{}, Masquerade{})

func codeExpr(c *coder.Coder, e *Expr) {
	exprs.Code(c, e)
	switch x := (*e).(type) {
	case Match:
		coder.String(c, &x.Field)
		c.Bool(&x.Not)
		coder.Int(c, &x.Mask)
		codeValue(c, &x.Value)
		keep(c, e, x)
	case CTState:
		coder.Strings(c, &x.States)
		keep(c, e, x)
	case CTStatus:
		coder.Strings(c, &x.Status)
		keep(c, e, x)
	case Lookup:
		coder.Strings(c, &x.Fields)
		coder.String(c, &x.Set)
		coder.List(c, &x.Elements, codeElement)
		c.Bool(&x.Not)
		keep(c, e, x)
	case VMap:
		coder.Strings(c, &x.Fields)
		coder.String(c, &x.Map)
		coder.List(c, &x.Elements, codeElement)
		keep(c, e, x)
	case Update:
		coder.Strings(c, &x.Fields)
		coder.String(c, &x.Set)
		keep(c, e, x)
	case SetMark:
		c.Bool(&x.CT)
		coder.Int(c, &x.And)
		coder.Int(c, &x.Xor)
		keep(c, e, x)
	case MarkBy:
		coder.Strings(c, &x.Fields)
		coder.String(c, &x.Map)
		keep(c, e, x)
	case Verdict:
		coder.String(c, &x.Kind)
		coder.String(c, &x.Chain)
		keep(c, e, x)
	case Reject:
		coder.String(c, &x.With)
		keep(c, e, x)
	case DNAT:
		c.Bool(&x.IPv6)
		codeValue(c, &x.To)
		coder.Int(c, &x.Port)
		coder.Strings(c, &x.Fields)
		coder.String(c, &x.Map)
		c.Bool(&x.OneFamily)
		keep(c, e, x)
	case Masquerade:
		c.Bool(&x.FullyRandom)
		keep(c, e, x)
	}
}

// keep puts what was read into its place.
func keep[E Expr](c *coder.Coder, to *Expr, e E) {
	if c.Reading() {
		*to = e
	}
}
