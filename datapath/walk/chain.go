package walk

import (
	"fmt"
	"slices"

	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/datapath/plan/iptables"
)

// tables takes a packet through some tables of a hook, and reports why it stops there;
// nil: it continues.
func (r *run) tables(v *visit, names ...string) *fate {
	for _, name := range names {
		if f := r.nft(v, priorityOf(v.hook, name)); f != nil {
			return f
		}
		if f := r.oneTable(v, name); f != nil {
			return f
		}
		if f := r.nft(v, nftAfter(v.hook, name)); f != nil {
			return f
		}
	}
	return nil
}

func (r *run) oneTable(v *visit, name string) *fate {
	if name == "nat" {
		return r.nat(v)
	}
	return r.fateOf(v, r.table(v, name))
}

// nat consults the nat table, which sees only the first packet of a connection, and
// translates the packet.
func (r *run) nat(v *visit) *fate {
	c := v.p.conn
	if c == nil {
		return nil
	}
	m := manip(v.hook == "PREROUTING" || v.hook == "OUTPUT")
	done := &c.srcDone
	if m == dstManip {
		done = &c.dstDone
	}
	if v.p.state == "NEW" && !v.p.back && !*done {
		*done = true
		if f := r.fateOf(v, r.natChains(v)); f != nil {
			return f
		}
		v.p.translate(m) // already shown in the rule's step
		return nil
	}
	if rewrite := v.p.translate(m); rewrite != nil {
		text := "of the connection"
		if v.p.back {
			text = "undone for the answer"
		}
		r.step(v.p, Step{Kind: Conntrack, Netns: v.h.Name, Hook: v.hook, Rewrite: rewrite, Text: text})
	}
	return nil
}

// table takes a packet through the built-in chain of a table.
func (r *run) table(v *visit, name string) verdict {
	v.table = name
	t := v.h.tables[tableKey{v.p.ipv6(), name}]
	if t == nil {
		return verdict{action: accept}
	}
	c := t.chain(v.hook)
	if c == nil {
		return verdict{action: accept}
	}
	out := r.rules(v, c, 0)
	if out.action != next && out.action != back {
		return out
	}
	if c.Policy == "DROP" {
		r.step(v.p, v.step(Policy, c, Step{Text: "policy DROP", Verdict: "DROP"}))
		return verdict{action: drop, why: fmt.Sprintf("the policy of %s in table %s is DROP", c.Name, name)}
	}
	return verdict{action: accept}
}

// rules takes a packet through a chain.
func (r *run) rules(v *visit, c *chain, depth int) verdict {
	if depth > maxJumps {
		return verdict{action: fail, why: fmt.Sprintf("chain %s: more than %d jumps", c.Name, maxJumps)}
	}
	for list := c.candidates(v.p); ; {
		i, ok := list.next()
		if !ok {
			return verdict{}
		}
		if r.seen++; r.seen > branchRules || len(r.steps) > branchSteps {
			return verdict{action: fail, why: fmt.Sprintf("more than %d rules", r.seen)}
		}
		rule := &c.Rules[i]
		hit, err := v.all(rule)
		if err != nil {
			return verdict{action: fail, why: fmt.Sprintf("chain %s rule %d: %v", c.Name, i+1, err)}
		}
		if !hit {
			continue
		}
		out := r.hit(v, c, int(i), depth)
		if away := out.action == jumpAway; away || out.action == jump {
			told := len(r.steps)
			if out = r.jump(v, c, out.chain, depth); out.action == back {
				r.steps[told-1].Idle = !slices.ContainsFunc(r.steps[told:], func(s Step) bool { return !s.Idle })
				if away {
					return verdict{}
				}
				continue
			}
		}
		switch out.action {
		case next:
		case back:
			return verdict{}
		default:
			return out
		}
	}
}

// jump takes a packet through a chain that a rule names. The end of a chain is
// equivalent to RETURN.
func (r *run) jump(v *visit, from *chain, to string, depth int) verdict {
	c := from.table.chain(to)
	if c == nil || c.Policy != "" {
		return verdict{action: fail, why: fmt.Sprintf("chain %s: jump to %s, which does not exist", from.Name, to)}
	}
	out := r.rules(v, c, depth+1)
	if out.action == next {
		out.action = back
	}
	return out
}

// hit executes a rule and records it.
func (r *run) hit(v *visit, c *chain, i, depth int) verdict {
	rule := &c.Rules[i]
	chance := v.chance
	out := v.hit(rule.Target)
	s := v.step(RuleHit, c, Step{Rule: i + 1, Depth: depth, Text: rule.Restore(c.Name),
		Origin: Origin(rule.Origin), Rewrite: out.rewrite, Chance: chance, Verdict: word(rule.Target)})
	r.step(v.p, s)
	r.rewritten(out.rewrite)
	switch {
	case out.why != "":
	case out.action == drop || out.action == reject:
		out.why = fmt.Sprintf("%s by %s", word(rule.Target), place(v, c, i))
		if o := rule.Origin; o != (plan.Origin{}) {
			out.why += " (" + o.String() + ")"
		}
	}
	return out
}

// rewritten shows in the last step what NAT will do to the packet: it is translated
// after the table.
func (r *run) rewritten(w *Rewrite) {
	if w == nil {
		return
	}
	last := &r.steps[len(r.steps)-1]
	if w.Field == "dst" {
		last.Packet.Dst = w.To
	} else {
		last.Packet.Src = w.To
	}
}

func place(v *visit, c *chain, i int) string {
	return fmt.Sprintf("rule %d of chain %s, table %s, in %s", i+1, c.Name, v.table, v.h.Name)
}

// step completes a step of a rule.
func (v *visit) step(k Kind, c *chain, s Step) Step {
	s.Kind, s.Netns, s.Hook, s.Table, s.Chain = k, v.h.Name, v.hook, v.table, c.Name
	s.In, s.Out = name(v.in), name(v.out)
	return s
}

func name(l *link) string {
	if l == nil {
		return ""
	}
	return l.Name
}

// word is the name of a rule's target in a trace.
func word(t iptables.Target) string {
	switch t := t.(type) {
	case nil:
		return ""
	case iptables.Jump:
		return t.Chain
	case iptables.Goto:
		return t.Chain
	case iptables.NFLog:
		return "NFLOG"
	case iptables.Return:
		return "RETURN"
	case iptables.Accept:
		return "ACCEPT"
	case iptables.Drop:
		return "DROP"
	case iptables.Reject:
		return "REJECT"
	case iptables.DNAT:
		return "DNAT"
	case iptables.Masquerade:
		return "MASQUERADE"
	case iptables.OrMark, iptables.XorMark, iptables.SetMark:
		return "MARK"
	}
	return fmt.Sprintf("%T", t)
}

// fateOf turns the verdict of a table into the fate of the packet, or nil.
func (r *run) fateOf(v *visit, out verdict) *fate {
	f := &fate{h: v.h, p: v.p, why: out.why}
	switch out.action {
	case drop:
		f.kind = dropped
	case reject:
		f.kind, f.code = refused, out.with
		if f.code == TCPReset && v.p.proto != "tcp" {
			f.kind = dropped
		}
	case fail:
		f.kind = broken
		r.step(v.p, Step{Kind: Broken, Netns: v.h.Name, Hook: v.hook, Table: v.table, Text: out.why})
	default:
		return nil
	}
	return f
}
