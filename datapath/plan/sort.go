package plan

import (
	"bytes"
	"cmp"
	"net/netip"
	"slices"
)

// Sort brings the plan into canonical order: the wire, then nodes, clients and
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

func (k Kind) order() int { return slices.Index([]Kind{Wire, Node, Client, Pod}, k) }

// Sort brings the lists of the namespace into canonical order.
func (n *Netns) Sort() {
	slices.SortStableFunc(n.Addrs, func(a, b Addr) int {
		return cmp.Or(n.compareLinks(a.Link, b.Link), comparePrefix(a.Prefix, b.Prefix))
	})
	slices.SortStableFunc(n.Routes, func(a, b Route) int {
		return cmp.Or(compareBool(a.Local, b.Local), comparePrefix(a.To, b.To), cmp.Compare(a.Dev, b.Dev))
	})
	slices.SortStableFunc(n.Neighs, func(a, b Neigh) int {
		return cmp.Or(n.compareLinks(a.Link, b.Link), a.Addr.Compare(b.Addr))
	})
	slices.SortStableFunc(n.FDB, func(a, b FDB) int {
		return cmp.Or(n.compareLinks(a.Link, b.Link), bytes.Compare(a.MAC[:], b.MAC[:]), a.Dst.Compare(b.Dst))
	})
	slices.SortStableFunc(n.Sysctls, func(a, b Sysctl) int { return cmp.Compare(a.Key, b.Key) })
	slices.SortStableFunc(n.Qdiscs, func(a, b Qdisc) int { return n.compareLinks(a.Link, b.Link) })
	n.sortSets()
	n.sortNFT()
	slices.SortStableFunc(n.Tables, func(a, b Table) int {
		return cmp.Or(compareBool(a.IPv6, b.IPv6), cmp.Compare(tableOrder(a.Name), tableOrder(b.Name)))
	})
	for i := range n.Tables {
		// Chains have different names; a stable sort of thousands is slow.
		slices.SortFunc(n.Tables[i].Chains, func(a, b Chain) int {
			if a.Policy == "" && b.Policy == "" { // the rule, and worth a short cut
				return cmp.Compare(a.Name, b.Name)
			}
			return cmp.Or(cmp.Compare(hookOrder(a.Name), hookOrder(b.Name)), cmp.Compare(a.Name, b.Name))
		})
	}
	slices.SortStableFunc(n.Agents, func(a, b Agent) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortStableFunc(n.Execs, func(a, b Exec) int { return cmp.Compare(a.Name, b.Name) })
}

// sortSets brings what grows with services and policies into order. What is in order
// already, as backends make it, costs one look.
func (n *Netns) sortSets() {
	byName := func(a, b Set) int { return cmp.Compare(a.Name, b.Name) }
	if !slices.IsSortedFunc(n.Sets, byName) {
		slices.SortStableFunc(n.Sets, byName)
	}
	for i := range n.Sets {
		n.Sets[i].Sort()
	}
	for i := range n.Virtual {
		n.Virtual[i].Sort()
	}
	byAddr := func(a, b VirtualServer) int { return compareVirtual(&a, &b) }
	if !slices.IsSortedFunc(n.Virtual, byAddr) {
		slices.SortStableFunc(n.Virtual, byAddr)
	}
	slices.SortStableFunc(n.Cut, func(a, b Cut) int {
		return cmp.Or(a.Pod.Compare(b.Pod), compareBool(a.Ingress, b.Ingress))
	})
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

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	default:
		return 1
	}
}

// tableOrder is the order in which a packet meets the tables of one hook.
func tableOrder(name string) int {
	return slices.Index([]string{"raw", "mangle", "nat", "filter"}, name)
}

// hookOrder puts built-in chains first, in the order of a packet's way.
func hookOrder(chain string) int {
	i := slices.Index([]string{"PREROUTING", "INPUT", "FORWARD", "OUTPUT", "POSTROUTING"}, chain)
	if i < 0 {
		return 5
	}
	return i
}
