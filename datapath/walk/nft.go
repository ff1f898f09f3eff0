package walk

import (
	"fmt"
	"iter"
	"math"
	"slices"

	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/datapath/plan/nft"
	"github.com/netlab/netlab/datapath/walk/network"
)

// Base chains of nf_tables are attached to the same hooks as the tables of iptables,
// and see a packet in the order of their priorities (nf_hook_slow in
// net/netfilter/core.c). Accept ends only its base chain, and the packet continues with
// whatever comes next at the hook; every other final verdict ends the evaluation.

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
	for list := v.h.Bases(v.hook, false); v.bases < len(list) && list[v.bases].Priority < to; {
		b := list[v.bases]
		v.bases++
		if !b.Sees(v.p.ipv6()) {
			continue
		}
		if f := r.fateOf(v, r.nftBase(v, b)); f != nil {
			return f
		}
	}
	return nil
}

// natChains consults the nat chains of a hook, which see only the first packet of a
// connection: those of nf_tables and of iptables, by their priorities, until one has
// translated it. All of them are consulted at the place of iptables' table
// (nf_nat_inet_fn in net/netfilter/nf_nat_core.c).
func (r *run) natChains(v *visit) verdict {
	list := v.h.Bases(v.hook, true)
	over := func(out verdict) bool { return out.action != accept || out.rewrite != nil }
	early := slices.IndexFunc(list, func(b network.Base) bool { return b.Priority >= priorityOf(v.hook, "nat") })
	if early < 0 {
		early = len(list)
	}
	for i := 0; i <= len(list); i++ {
		if i == early {
			if out := r.table(v, "nat"); over(out) || i == len(list) {
				return out
			}
		}
		if i < len(list) && list[i].Sees(v.p.ipv6()) {
			if out := r.nftBase(v, list[i]); over(out) {
				return out
			}
		}
	}
	return verdict{action: accept}
}

func (r *run) nftBase(v *visit, b network.Base) verdict {
	return r.base(v, nftChain{b.Chain, b.Table}, b.Table.Family+" "+b.Table.Name, b.Policy)
}

// nftChain is a chain of nf_tables.
type nftChain struct {
	*nft.Chain
	table *network.NFTTable
}

func (c nftChain) name() string { return c.Name }

func (c nftChain) candidates(*packet) iter.Seq[int] {
	return func(yield func(int) bool) {
		for i := 0; i < len(c.Rules) && yield(i); i++ {
		}
	}
}

// try hits if the rule did something.
func (c nftChain) try(v *visit, i int) (out verdict, hit bool) {
	rule := &c.Rules[i]
	if len(rule.Exprs) == 0 && rule.Raw != "" {
		return verdict{action: fail, why: fmt.Sprintf("chain %s rule %d is only text", c.Name, i+1)}, false
	}
	v.chance = 0
	for _, e := range rule.Exprs {
		met, did, err := v.nftExpr(c.table, e)
		if err != nil {
			return verdict{action: fail, why: fmt.Sprintf("chain %s rule %d: %v", c.Name, i+1, err)}, false
		}
		if did.word != "" {
			out, hit = did, true
		}
		if !met || did.action != next {
			break
		}
	}
	return out, hit
}

func (c nftChain) written(i int) (string, plan.Origin) { return c.Rules[i].Words(), c.Rules[i].Origin }

func (c nftChain) target(name string) chain {
	if to := c.table.Chain(name); to != nil && !to.IsBase() {
		return nftChain{to, c.table}
	}
	return nil
}
