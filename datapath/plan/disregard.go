package plan

import (
	"slices"

	"github.com/netlab/netlab/datapath/plan/ipset"
	"github.com/netlab/netlab/datapath/plan/iptables"
	"github.com/netlab/netlab/datapath/plan/ipvs"
	"github.com/netlab/netlab/datapath/plan/nft"
	"github.com/netlab/netlab/datapath/plan/occupant"
	"github.com/netlab/netlab/datapath/plan/ordered"
)

// ChangedFromInside reports whether a program in the namespace may change it.
func (n *Netns) ChangedFromInside() bool {
	return slices.ContainsFunc(n.Execs, func(x occupant.Exec) bool { return x.NetAdmin })
}

// HasAgent reports whether a program in the namespace does the work of rules of the plan.
func (n *Netns) HasAgent() bool {
	return slices.ContainsFunc(n.Execs, func(x occupant.Exec) bool { return x.Agent })
}

// LosesAgent reports whether the namespace has an agent that is not wanted any more.
func (n *Netns) LosesAgent(want *Netns) bool {
	return slices.ContainsFunc(n.Execs, func(x occupant.Exec) bool {
		return x.Agent && !slices.ContainsFunc(want.Execs, func(y occupant.Exec) bool { return y.Agent && y.Name == x.Name })
	})
}

// HasAgents reports whether a namespace of the plan has an agent.
func (p *Plan) HasAgents() bool {
	return slices.ContainsFunc(p.Netns, func(n Netns) bool { return n.HasAgent() })
}

// Adopt returns the plan with the rules that agents have put into its built-in chains: they stay
// when the chain is written, after the rules of the plan that are ahead of agents and before the
// others. What the plan that was applied before has is not theirs.
func (p *Plan) Adopt(have, applied *Plan) *Plan {
	if !p.HasAgents() {
		return p
	}
	out := &Plan{Lab: p.Lab, Netns: slices.Clone(p.Netns)}
	read, before := ordered.Index(have.Netns, netnsName), ordered.Index(applied.Netns, netnsName)
	for i := range out.Netns {
		n := &out.Netns[i]
		h := read[n.Name]
		if h == nil || !n.HasAgent() {
			continue
		}
		old := &Netns{}
		if b := before[n.Name]; b != nil {
			old = b
		}
		n.Tables = iptables.Adopt(n.Tables, h.Tables, old.Tables)
		iptables.Sort(n.Tables)
	}
	return out
}

// Disregard leaves out of a namespace that was read what the plan of it does not have, since a
// program that may change its network has put it there: it is no drift.
func (n *Netns) Disregard(planned *Netns) {
	n.Links = onlyOf(n.Links, planned.Links, func(l Link) string { return l.Name })
	n.Addrs = onlyOf(n.Addrs, planned.Addrs, func(a Addr) Addr { a.Origin = Origin{}; return a })
	n.Routes = onlyOf(n.Routes, planned.Routes, routeKey)
	n.Neighs = onlyOf(n.Neighs, planned.Neighs, neighKey)
	n.Qdiscs = onlyOf(n.Qdiscs, planned.Qdiscs, qdiscKey)
	n.XfrmStates = onlyOf(n.XfrmStates, planned.XfrmStates, xfrmStateKey)
	n.XfrmPolicies = onlyOf(n.XfrmPolicies, planned.XfrmPolicies, xfrmPolicyKey)
	n.Sets = onlyOf(n.Sets, planned.Sets, func(s ipset.Set) string { return s.Name })
	if planned.HasAgent() {
		n.Tables = iptables.Disregard(n.Tables, planned.Tables)
		n.Virtual = onlyOf(n.Virtual, planned.Virtual, func(v ipvs.Server) string { return v.Service() })
	} else {
		n.Tables = onlyOf(n.Tables, planned.Tables, func(t iptables.Table) any { return [2]any{t.IPv6, t.Name} })
	}
	n.NFT = onlyOf(n.NFT, planned.NFT, func(t nft.Table) [2]string { return [2]string{t.Family, t.Name} })
	n.Deviations = slices.DeleteFunc(n.Deviations, func(d Deviation) bool { return d.Wrong != Missing })
}

// onlyOf are those of a list that a plan has, too.
func onlyOf[T any, K comparable](list, plan []T, key func(T) K) []T {
	known := map[K]bool{}
	for _, x := range plan {
		known[key(x)] = true
	}
	return slices.DeleteFunc(slices.Clone(list), func(x T) bool { return !known[key(x)] })
}
