package walk

import (
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/datapath/walk/network"
	"github.com/netlab/netlab/datapath/walk/trace"
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
		r.step(v.p, trace.Step{Kind: trace.Conntrack, Netns: v.h.Name, Hook: v.hook, Rewrite: rewrite, Text: text})
	}
	return nil
}

// table takes a packet through the built-in chain of a table.
func (r *run) table(v *visit, name string) verdict {
	t := v.h.Table(v.p.ipv6(), name)
	if t == nil {
		return verdict{action: accept}
	}
	c := t.Chain(v.hook)
	if c == nil {
		return verdict{action: accept}
	}
	return r.base(v, rulesOf{c}, name, c.Policy)
}

// chain is a chain of iptables or nf_tables.
type chain interface {
	name() string
	candidates(p *packet) iter.Seq[int] // rules that the packet can match
	// try executes a rule. Not hit: the rule does not concern the packet, or fails.
	try(v *visit, i int) (out verdict, hit bool)
	written(i int) (string, plan.Origin) // a rule
	target(name string) chain            // that rules may jump to, or nil
}

// rulesOf is a chain of iptables.
type rulesOf struct{ *network.Chain }

func (c rulesOf) name() string { return c.Name }

func (c rulesOf) candidates(p *packet) iter.Seq[int] { return c.Candidates(p.dst, p.quoted == nil) }

func (c rulesOf) try(v *visit, i int) (verdict, bool) {
	hit, err := v.all(&c.Rules[i])
	if err != nil {
		return verdict{action: fail, why: fmt.Sprintf("chain %s rule %d: %v", c.Name, i+1, err)}, false
	}
	if !hit {
		return verdict{}, false
	}
	return v.hit(c.Rules[i].Target), true
}

func (c rulesOf) written(i int) (string, plan.Origin) {
	return c.Rules[i].Restore(c.Name), c.Rules[i].Origin
}

func (c rulesOf) target(name string) chain {
	if to := c.Table.Chain(name); to != nil && to.Policy == "" {
		return rulesOf{to}
	}
	return nil
}

// base takes a packet through a chain of a hook.
func (r *run) base(v *visit, c chain, table, policy string) verdict {
	v.table = table
	out := r.rules(v, c, 0)
	switch {
	case out.action != next:
		return out
	case strings.EqualFold(policy, "drop"):
		r.step(v.p, v.step(c, trace.Step{Kind: trace.Policy, Text: "policy " + policy, Verdict: policy}))
		return verdict{action: drop, why: fmt.Sprintf("the policy of %s in table %s is %s", c.name(), table, policy)}
	}
	return verdict{action: accept}
}

// rules takes a packet through a chain. The end of a chain is equivalent to RETURN: the
// verdict is to continue with the next rule of the chain that jumped here.
func (r *run) rules(v *visit, c chain, depth int) verdict {
	if depth > maxJumps {
		return verdict{action: fail, why: fmt.Sprintf("chain %s: more than %d jumps", c.name(), maxJumps)}
	}
	for i := range c.candidates(v.p) {
		if r.seen++; r.seen > branchRules || len(r.steps) > branchSteps {
			return verdict{action: fail, why: fmt.Sprintf("more than %d rules", r.seen)}
		}
		out, hit := c.try(v, i)
		if hit {
			out = r.hit(v, c, i, depth, out)
		}
		switch out.action {
		case next:
		case back:
			return verdict{}
		case jump, jumpAway:
			told, away := len(r.steps), out.action == jumpAway
			to := c.target(out.chain)
			if to == nil {
				return verdict{action: fail, why: fmt.Sprintf("chain %s: jump to %s, which does not exist", c.name(), out.chain)}
			}
			if out = r.rules(v, to, depth+1); out.action != next {
				return out
			}
			r.steps[told-1].Idle = !slices.ContainsFunc(r.steps[told:], func(s trace.Step) bool { return !s.Idle })
			if away {
				return verdict{}
			}
		default:
			return out
		}
	}
	return verdict{}
}

func (r *run) hit(v *visit, c chain, i, depth int, out verdict) verdict {
	r.met(v, c, i)
	text, origin := c.written(i)
	r.step(v.p, v.step(c, trace.Step{Kind: trace.RuleHit, Rule: i + 1, Depth: depth, Text: text,
		Origin: trace.Origin(origin), Rewrite: out.rewrite, Chance: v.chance, Verdict: out.word}))
	r.rewritten(out.rewrite)
	if out.why == "" && (out.action == drop || out.action == reject) {
		out.why = fmt.Sprintf("%s by rule %d of chain %s, table %s, in %s", out.word, i+1, c.name(), v.table, v.h.Name)
		if origin != (plan.Origin{}) {
			out.why += " (" + origin.String() + ")"
		}
	}
	return out
}

// rewritten shows in the last step what NAT will do to the packet: it is translated
// after the table.
func (r *run) rewritten(w *trace.Rewrite) {
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

// step completes a step in a chain.
func (v *visit) step(c chain, s trace.Step) trace.Step {
	s.Netns, s.Hook, s.Table, s.Chain = v.h.Name, v.hook, v.table, c.name()
	s.In, s.Out = name(v.in), name(v.out)
	return s
}

func name(l *network.Link) string {
	if l == nil {
		return ""
	}
	return l.Name
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
		r.step(v.p, trace.Step{Kind: trace.Broken, Netns: v.h.Name, Hook: v.hook, Table: v.table, Text: out.why})
	default:
		return nil
	}
	return f
}
