package plan

import (
	"bytes"
	"cmp"
	"net/netip"
	"slices"

	"github.com/netlab/netlab/datapath/plan/conntrack"
	"github.com/netlab/netlab/datapath/plan/httproute"
	"github.com/netlab/netlab/datapath/plan/ipset"
	"github.com/netlab/netlab/datapath/plan/iptables"
	"github.com/netlab/netlab/datapath/plan/ipvs"
	"github.com/netlab/netlab/datapath/plan/nft"
	"github.com/netlab/netlab/datapath/plan/occupant"
	"github.com/netlab/netlab/datapath/plan/ordered"
	"github.com/netlab/netlab/datapath/plan/zone"
)

// Sort brings the plan into canonical order: the underlay, then nodes, clients and
// pods, each by name, and the lists of each namespace. Links keep their order, in
// which they must be created; so do rules.
func (p *Plan) Sort() {
	slices.SortStableFunc(p.Netns, func(a, b Netns) int {
		return cmp.Or(cmp.Compare(a.Kind.order(), b.Kind.order()), cmp.Compare(a.Name, b.Name))
	})
	for i := range p.Netns {
		p.Netns[i].Sort()
	}
}

func (k Kind) order() int { return slices.Index([]Kind{Underlay, Router, Node, Client, Pod}, k) }

// Sort brings the lists of the namespace into canonical order.
func (n *Netns) Sort() {
	slices.SortStableFunc(n.Addrs, func(a, b Addr) int {
		return cmp.Or(n.compareLinks(a.Link, b.Link), comparePrefix(a.Prefix, b.Prefix))
	})
	slices.SortStableFunc(n.Routes, func(a, b Route) int {
		// A gateway may be reached by a route without one.
		return cmp.Or(ordered.Bools(a.Local, b.Local), ordered.Bools(a.Via.IsValid(), b.Via.IsValid()), comparePrefix(a.To, b.To), cmp.Compare(a.Dev, b.Dev))
	})
	slices.SortStableFunc(n.Neighs, func(a, b Neigh) int {
		return cmp.Or(n.compareLinks(a.Link, b.Link), a.Addr.Compare(b.Addr))
	})
	slices.SortStableFunc(n.FDB, func(a, b FDB) int {
		return cmp.Or(n.compareLinks(a.Link, b.Link), bytes.Compare(a.MAC[:], b.MAC[:]), a.Dst.Compare(b.Dst))
	})
	slices.SortStableFunc(n.Sysctls, func(a, b Sysctl) int { return cmp.Compare(a.Key, b.Key) })
	slices.SortStableFunc(n.Qdiscs, func(a, b Qdisc) int { return n.compareLinks(a.Link, b.Link) })
	ipset.Sort(n.Sets)
	iptables.Sort(n.Tables)
	nft.Sort(n.NFT)
	ipvs.Sort(n.Virtual)
	slices.SortStableFunc(n.Cut, func(a, b conntrack.Cut) int {
		return cmp.Or(a.Pod.Compare(b.Pod), ordered.Bools(a.Ingress, b.Ingress))
	})
	slices.SortStableFunc(n.Agents, func(a, b occupant.Agent) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortStableFunc(n.Tunnels, func(a, b occupant.Tunnel) int { return cmp.Compare(a.Link, b.Link) })
	for i := range n.Tunnels {
		slices.SortStableFunc(n.Tunnels[i].Peers, func(a, b occupant.TunnelPeer) int { return comparePrefix(a.Pods, b.Pods) })
	}
	slices.SortStableFunc(n.XfrmStates, func(a, b XfrmState) int {
		return cmp.Or(a.Src.Compare(b.Src), a.Dst.Compare(b.Dst), cmp.Compare(a.SPI, b.SPI))
	})
	slices.SortStableFunc(n.XfrmPolicies, func(a, b XfrmPolicy) int {
		return cmp.Or(cmp.Compare(a.Dir, b.Dir), comparePrefix(a.From, b.From), comparePrefix(a.To, b.To))
	})
	sortSpeakers(n)
	slices.SortStableFunc(n.Records, zone.Record.Compare)
	slices.SortStableFunc(n.Routing, httproute.Route.Compare)
	slices.SortStableFunc(n.Resolvers, func(a, b occupant.Resolver) int { return cmp.Compare(a.Pod, b.Pod) })
	slices.SortStableFunc(n.Files, func(a, b occupant.PodFiles) int { return cmp.Compare(a.Pod, b.Pod) })
	slices.SortStableFunc(n.Execs, func(a, b occupant.Exec) int { return cmp.Compare(a.Name, b.Name) })
}

// compareLinks orders links as they are created.
func (n *Netns) compareLinks(a, b string) int {
	if a == b {
		return 0
	}
	index := func(name string) int {
		return slices.IndexFunc(n.Links, func(l Link) bool { return l.Name == name })
	}
	return cmp.Or(cmp.Compare(index(a), index(b)), cmp.Compare(a, b))
}

func comparePrefix(a, b netip.Prefix) int {
	return cmp.Or(a.Addr().Compare(b.Addr()), cmp.Compare(a.Bits(), b.Bits()))
}
