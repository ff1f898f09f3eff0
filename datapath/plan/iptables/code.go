package iptables

import "github.com/netlab/netlab/datapath/plan/coder"

// Code writes or reads a table.
func Code(c *coder.Coder, t *Table) {
	c.Bool(&t.IPv6)
	coder.String(c, &t.Name)
	coder.List(c, &t.Chains, codeChain)
}

func codeChain(c *coder.Coder, x *Chain) {
	coder.String(c, &x.Name)
	coder.String(c, &x.Policy)
	coder.Int(c, &x.Ahead)
	coder.List(c, &x.Rules, codeRule)
}

func codeRule(c *coder.Coder, r *Rule) {
	c.Origin(&r.Origin)
	coder.String(c, &r.Raw)
	coder.List(c, &r.Matches, codeMatch)
	codeTarget(c, &r.Target)
}

// Matches and Targets hold one of each type, the most frequent first.
var (
	Matches = coder.KindsOf[Match](Comment{}, Proto{}, Dst{}, DPort{}, Src{}, Random{}, Mark{}, AddrType{}, CTState{}, MatchSet{}, InIf{},
		OutIf{}, DPorts{}, Recent{}, MultiPort{}, Physdev{}, PhysdevIsIn{}, IPVS{}, Limit{}, ICMPType{}, State{}, NFAcct{}, SPort{})
	Targets = coder.KindsOf[Target](Jump{}, DNAT{}, Return{}, Accept{}, Drop{}, Masquerade{}, OrMark{}, XorMark{}, SetMark{}, Reject{}, Goto{}, NFLog{}, Redirect{}, NoTrack{})
)

func codeMatch(c *coder.Coder, m *Match) {
	Matches.Code(c, m)
	switch x := (*m).(type) {
	case Src:
		c.Prefix(&x.Prefix)
		c.Bool(&x.Not)
		keepMatch(c, m, x)
	case Dst:
		c.Prefix(&x.Prefix)
		c.Bool(&x.Not)
		keepMatch(c, m, x)
	case InIf:
		coder.String(c, &x.Name)
		c.Bool(&x.Not)
		keepMatch(c, m, x)
	case OutIf:
		coder.String(c, &x.Name)
		c.Bool(&x.Not)
		keepMatch(c, m, x)
	case Proto:
		coder.String(c, &x.Name)
		c.Bool(&x.Plain)
		keepMatch(c, m, x)
	case DPort:
		coder.Int(c, &x.Port)
		keepMatch(c, m, x)
	case SPort:
		coder.Int(c, &x.Port)
		keepMatch(c, m, x)
	case AddrType:
		coder.String(c, &x.Src)
		coder.String(c, &x.Dst)
		c.Bool(&x.NotSrc)
		keepMatch(c, m, x)
	case Mark:
		coder.Int(c, &x.Value)
		coder.Int(c, &x.Mask)
		c.Bool(&x.Not)
		keepMatch(c, m, x)
	case CTState:
		coder.Strings(c, &x.States)
		c.Bool(&x.Not)
		keepMatch(c, m, x)
	case State:
		coder.String(c, &x.State)
		keepMatch(c, m, x)
	case Random:
		c.Float(&x.Probability)
		keepMatch(c, m, x)
	case Recent:
		coder.String(c, &x.List)
		c.Bool(&x.Set)
		coder.Int(c, &x.Seconds)
		c.Bool(&x.Reap)
		c.Bool(&x.IPv6)
		keepMatch(c, m, x)
	case NFAcct:
		coder.String(c, &x.Object)
		c.Bool(&x.Alone)
		keepMatch(c, m, x)
	case MatchSet:
		coder.String(c, &x.Set)
		coder.String(c, &x.Parts)
		c.Bool(&x.Not)
		keepMatch(c, m, x)
	case DPorts:
		coder.Int(c, &x.First)
		coder.Int(c, &x.Last)
		keepMatch(c, m, x)
	case MultiPort:
		coder.String(c, &x.Ports)
		keepMatch(c, m, x)
	case Physdev:
		coder.String(c, &x.In)
		coder.String(c, &x.Out)
		c.Bool(&x.Bridged)
		keepMatch(c, m, x)
	case PhysdevIsIn:
		c.Bool(&x.Not)
		keepMatch(c, m, x)
	case IPVS:
		c.Addr(&x.Addr)
		coder.String(c, &x.Proto)
		coder.Int(c, &x.Port)
		keepMatch(c, m, x)
	case Limit:
		coder.String(c, &x.Rate)
		coder.Int(c, &x.Burst)
		keepMatch(c, m, x)
	case ICMPType:
		coder.Int(c, &x.Type)
		coder.Int(c, &x.Code)
		c.Bool(&x.AnyCode)
		c.Bool(&x.IPv6)
		keepMatch(c, m, x)
	case Comment:
		c.Text(&x.Text)
		keepMatch(c, m, x)
	}
}

func codeTarget(c *coder.Coder, t *Target) {
	Targets.Code(c, t)
	switch x := (*t).(type) {
	case Jump:
		coder.String(c, &x.Chain)
		keepTarget(c, t, x)
	case Goto:
		coder.String(c, &x.Chain)
		keepTarget(c, t, x)
	case Reject:
		coder.String(c, &x.With)
		keepTarget(c, t, x)
	case DNAT:
		c.AddrPort(&x.To)
		keepTarget(c, t, x)
	case Redirect:
		coder.Int(c, &x.Port)
		keepTarget(c, t, x)
	case Masquerade:
		c.Bool(&x.RandomFully)
		keepTarget(c, t, x)
	case OrMark:
		coder.Int(c, &x.Bits)
		keepTarget(c, t, x)
	case SetMark:
		coder.Int(c, &x.Value)
		coder.Int(c, &x.Mask)
		keepTarget(c, t, x)
	case NFLog:
		coder.Int(c, &x.Group)
		coder.String(c, &x.Prefix)
		keepTarget(c, t, x)
	case XorMark:
		coder.Int(c, &x.Bits)
		keepTarget(c, t, x)
	}
}

// keepMatch puts what was read into its place.
func keepMatch[M Match](c *coder.Coder, to *Match, m M) {
	if c.Reading() {
		*to = m
	}
}

func keepTarget[T Target](c *coder.Coder, to *Target, t T) {
	if c.Reading() {
		*to = t
	}
}
