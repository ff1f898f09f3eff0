package plan

import (
	"slices"

	"github.com/netlab/netlab/datapath/plan/ipset"
	"github.com/netlab/netlab/datapath/plan/iptables"
	"github.com/netlab/netlab/datapath/plan/nft"
	"github.com/netlab/netlab/datapath/plan/occupant"
)

// ChangedFromInside reports whether a program in the namespace may change it.
func (n *Netns) ChangedFromInside() bool {
	return slices.ContainsFunc(n.Execs, func(x occupant.Exec) bool { return x.NetAdmin })
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
	n.Tables = onlyOf(n.Tables, planned.Tables, func(t iptables.Table) any { return [2]any{t.IPv6, t.Name} })
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
