package walk

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/datapath/plan/nft"
)

// Base chains of nf_tables are attached to the same hooks as the tables of iptables,
// and see a packet in the order of their priorities (nf_hook_slow in
// net/netfilter/core.c). Accept ends only its base chain, and the packet continues with
// whatever comes next at the hook; every other final verdict ends the evaluation.

// nftTable is a table with indexes, built when a packet first visits its host.
type nftTable struct {
	*nft.Table
	chains map[string]*nft.Chain
	sets   map[string]*nftSet
}

// nftBase is a base chain.
type nftBase struct {
	*nft.Chain
	table *nftTable
}

// indexNFT finds the base chains of every hook, in the order of their priorities.
func (h *host) indexNFT() {
	h.bases, h.nats = map[string][]nftBase{}, map[string][]nftBase{}
	for i := range h.NFT {
		t := &nftTable{Table: &h.NFT[i], chains: map[string]*nft.Chain{}, sets: map[string]*nftSet{}}
		for j := range t.Sets {
			t.sets[t.Sets[j].Name] = &nftSet{Set: &t.Sets[j]}
		}
		for j := range t.Chains {
			c := &t.Chains[j]
			t.chains[c.Name] = c
			switch {
			case !c.IsBase():
			case c.Type == "nat":
				h.nats[c.Hook] = append(h.nats[c.Hook], nftBase{c, t})
			default:
				h.bases[c.Hook] = append(h.bases[c.Hook], nftBase{c, t})
			}
		}
	}
	for _, hooks := range []map[string][]nftBase{h.bases, h.nats} {
		for _, list := range hooks {
			slices.SortStableFunc(list, func(a, b nftBase) int { return cmp.Compare(a.Priority, b.Priority) })
		}
	}
}

// nftHook is the name of a hook in nft.
func nftHook(hook string) string {
	return map[string]string{"PREROUTING": "prerouting", "INPUT": "input", "FORWARD": "forward", "OUTPUT": "output", "POSTROUTING": "postrouting"}[hook]
}

// The priorities of the tables of iptables, connection tracking and IPVS (enum
// nf_ip_hook_priorities in include/uapi/linux/netfilter_ipv4.h).
func priorityOf(hook, table string) int {
	switch table {
	case "raw":
		return -300
	case "mangle":
		return -150
	case "nat":
		if hook == "INPUT" || hook == "POSTROUTING" {
			return 100
		}
		return -100
	}
	return 0
}

const (
	trackingPriority = -200
	balancePriority  = 98
)

// nftAfter is the priority up to which base chains run after a table: to what follows
// at the hook and is not a table, or to the end.
func nftAfter(hook, table string) int {
	switch {
	case table == "raw":
		return trackingPriority
	case table == "filter" && hook == "INPUT":
		return balancePriority
	case table == "filter", table == "nat" && hook != "OUTPUT":
		return math.MaxInt
	}
	return math.MinInt
}

// nft takes a packet through the base chains of a hook not yet visited, up to a
// priority, exclusive.
func (r *run) nft(v *visit, to int) *fate {
	for list := v.h.bases[nftHook(v.hook)]; v.bases < len(list) && list[v.bases].Priority < to; {
		b := list[v.bases]
		v.bases++
		if !b.sees(v.p) {
			continue
		}
		if f := r.fateOf(v, r.nftBase(v, b)); f != nil {
			return f
		}
	}
	return nil
}

// sees reports whether a chain gets packets of the packet's family.
func (b *nftBase) sees(p *packet) bool {
	return b.table.Family == "inet" || (b.table.Family == "ip6") == p.ipv6()
}

// natChains consults the nat chains of a hook, which see only the first packet of a
// connection: those of nf_tables and of iptables, by their priorities, until one has
// translated it. All of them are consulted at the place of iptables' table
// (nf_nat_inet_fn in net/netfilter/nf_nat_core.c).
func (r *run) natChains(v *visit) verdict {
	list := v.h.nats[nftHook(v.hook)]
	over := func(out verdict) bool { return out.action != accept || out.rewrite != nil }
	early := slices.IndexFunc(list, func(b nftBase) bool { return b.Priority >= priorityOf(v.hook, "nat") })
	if early < 0 {
		early = len(list)
	}
	for i := 0; i <= len(list); i++ {
		if i == early {
			if out := r.table(v, "nat"); over(out) || i == len(list) {
				return out
			}
		}
		if i < len(list) && list[i].sees(v.p) {
			if out := r.nftBase(v, list[i]); over(out) {
				return out
			}
		}
	}
	return verdict{action: accept}
}

// nftBase takes a packet through one base chain.
func (r *run) nftBase(v *visit, b nftBase) verdict {
	v.table = b.table.Family + " " + b.table.Name
	out := r.nftRules(v, b.table, b.Chain, 0)
	if out.action != next && out.action != back {
		return out
	}
	if b.Policy == "drop" {
		r.step(v.p, r.nftStep(v, b.Chain, Step{Kind: Policy, Text: "policy drop", Verdict: "drop"}))
		return verdict{action: drop, why: fmt.Sprintf("the policy of %s in table %s is drop", b.Name, v.table)}
	}
	return verdict{action: accept}
}

// nftRules takes a packet through a chain.
func (r *run) nftRules(v *visit, t *nftTable, c *nft.Chain, depth int) verdict {
	if depth > maxJumps {
		return verdict{action: fail, why: fmt.Sprintf("chain %s: more than %d jumps", c.Name, maxJumps)}
	}
	for i := range c.Rules {
		if r.seen++; r.seen > branchRules || len(r.steps) > branchSteps {
			return verdict{action: fail, why: fmt.Sprintf("more than %d rules", r.seen)}
		}
		out := r.nftRule(v, t, c, i, depth)
		if away := out.action == jumpAway; away || out.action == jump {
			told := len(r.steps)
			to := t.chains[out.chain]
			if to == nil || to.IsBase() {
				return verdict{action: fail, why: fmt.Sprintf("chain %s: jump to %s, which does not exist", c.Name, out.chain)}
			}
			if out = r.nftRules(v, t, to, depth+1); out.action == next || out.action == back {
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
	return verdict{}
}

// nftRule takes a packet through one rule, and records it if the rule did something.
func (r *run) nftRule(v *visit, t *nftTable, c *nft.Chain, i, depth int) verdict {
	rule := &c.Rules[i]
	if len(rule.Exprs) == 0 && rule.Raw != "" {
		return verdict{action: fail, why: fmt.Sprintf("chain %s rule %d is only text", c.Name, i+1)}
	}
	v.chance = 0
	var done *effect
	for _, e := range rule.Exprs {
		hit, did, err := v.nftExpr(t, e)
		if err != nil {
			return verdict{action: fail, why: fmt.Sprintf("chain %s rule %d: %v", c.Name, i+1, err)}
		}
		if !hit {
			break
		}
		if did != nil {
			if done = did; did.action != next {
				break
			}
		}
	}
	if done == nil {
		return verdict{}
	}
	out := done.verdict
	r.step(v.p, r.nftStep(v, c, Step{Kind: RuleHit, Rule: i + 1, Depth: depth, Text: rule.Words(), Origin: Origin(rule.Origin),
		Rewrite: out.rewrite, Chance: v.chance, Verdict: done.word}))
	r.rewritten(out.rewrite)
	if out.why == "" && (out.action == drop || out.action == reject) {
		out.why = fmt.Sprintf("%s by rule %d of chain %s, table %s, in %s", done.word, i+1, c.Name, v.table, v.h.Name)
		if o := rule.Origin; o != (plan.Origin{}) {
			out.why += " (" + o.String() + ")"
		}
	}
	return out
}

// nftStep completes a step of a chain.
func (r *run) nftStep(v *visit, c *nft.Chain, s Step) Step {
	s.Netns, s.Hook, s.Table, s.Chain, s.In, s.Out = v.h.Name, v.hook, v.table, c.Name, name(v.in), name(v.out)
	return s
}
