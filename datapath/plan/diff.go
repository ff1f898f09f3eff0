package plan

import (
	"cmp"
	"net/netip"
	"slices"

	"github.com/netlab/netlab/datapath/plan/bgp"
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

// Changes leads from one plan to another. Each part is in canonical order.
type Changes struct {
	Create []Netns  // new namespaces, with everything in them
	Edit   []Edit   // namespaces that stay
	Remove []string // namespaces to remove, with everything in them
	// Again are the changes that follow: those that a second read of the kernel showed to be
	// needed, since replacing a link also removes what depends on it, and namespaces that are
	// made anew.
	Again []Changes
}

// Empty reports whether there is nothing to do.
func (c Changes) Empty() bool {
	return len(c.Create) == 0 && len(c.Edit) == 0 && len(c.Remove) == 0
}

// Edit lists what changes inside one namespace. Add, Change and Delete are sets of
// items in the lists of a Netns; their Tables are empty, see the field Tables. Sets in
// Change have another type or family and are recreated; for changes inside sets and
// virtual servers see the fields Sets and Virtual. Change holds items that exist under
// the same key with other attributes. Items of a namespace in Remove, and the far ends
// of its veths, may be listed in Delete: applying the edit must tolerate that they are
// already gone.
type Edit struct {
	Netns  string
	Kind   Kind
	Add    Netns
	Change Netns
	Delete Netns
	Sets   []ipset.Edit
	// Idle are the chains whose rules reference a set in Change: they are emptied while
	// it is recreated, since the kernel does not delete a set that is in use. Tables
	// fills them again.
	Idle   []iptables.Edit
	Tables []iptables.Edit
	NFT    []nft.Edit
	// Virtual are in the order of their addresses.
	Virtual []ipvs.Edit
	// UDP holds all services of the namespace, if its address translation changes; Cut
	// all its cuts, if its rules change in any way.
	UDP []conntrack.UDPService
	Cut []conntrack.Cut
}

// viaItself reports whether an address that is deleted is the gateway of a route that is added
// or changed: while the namespace has the address, the kernel takes it for its own.
func (e *Edit) viaItself(a Addr) bool {
	via := func(r Route) bool { return r.Via == a.Prefix.Addr() || slices.Contains(r.More, a.Prefix.Addr()) }
	return slices.ContainsFunc(e.Add.Routes, via) || slices.ContainsFunc(e.Change.Routes, via)
}

// replaced are the links in Delete whose name is also in Add: they are recreated.
func (e *Edit) replaced() []*Link {
	var both []*Link
	for i := range e.Delete.Links {
		if d := &e.Delete.Links[i]; slices.ContainsFunc(e.Add.Links, func(a Link) bool { return a.Name == d.Name }) {
			both = append(both, d)
		}
	}
	return both
}

// Diff returns the changes from have to want. Origins are not compared. Both plans are
// in canonical order.
//
// A link whose type, peer or tunnel attributes differ cannot be changed in place: it is
// in both Delete and Add, together with everything in want that depends on it.
func Diff(have, want *Plan) Changes {
	if anew := madeAnew(have, want); len(anew) > 0 {
		between := want.withoutNetns(anew)
		c := Diff(have, between)
		c.Again = append(c.Again, Diff(between, want))
		return c
	}
	var c Changes
	old, wanted := ordered.Index(have.Netns, netnsName), ordered.Index(want.Netns, netnsName)
	for i := range want.Netns {
		w := &want.Netns[i]
		h := old[w.Name]
		if h == nil {
			c.Create = append(c.Create, *w)
			continue
		}
		if e, changed := diffNetns(h, w); changed {
			c.Edit = append(c.Edit, e)
		}
	}
	for i := range have.Netns {
		if name := have.Netns[i].Name; wanted[name] == nil {
			c.Remove = append(c.Remove, name)
		}
	}
	return c
}

// madeAnew are the namespaces that programs may change from now on: to whom a namespace belongs
// is decided when it is made. And those that lose an agent: what that has made goes with them.
func madeAnew(have, want *Plan) map[string]bool {
	var anew map[string]bool
	var old map[string]*Netns // most labs need none
	agents := have.HasAgents()
	for i := range want.Netns {
		w := &want.Netns[i]
		inside := w.ChangedFromInside()
		if !inside && !agents {
			continue
		}
		if old == nil {
			old = ordered.Index(have.Netns, netnsName)
		}
		if h := old[w.Name]; h != nil && (inside && !h.ChangedFromInside() || h.LosesAgent(w)) {
			if anew == nil {
				anew = map[string]bool{}
			}
			anew[w.Name] = true
		}
	}
	return anew
}

// withoutNetns is the plan without some namespaces, and without what leads to them.
func (p *Plan) withoutNetns(names map[string]bool) *Plan {
	rest := &Plan{Lab: p.Lab}
	for i := range p.Netns {
		n := &p.Netns[i]
		if names[n.Name] {
			continue
		}
		gone := map[string]bool{}
		for _, l := range n.Links {
			if l.Type == Veth && names[l.Peer.Netns] {
				gone[l.Name] = true
			}
		}
		m := *without(n, gone)
		m.Links = reject(n.Links, func(l Link) bool { return gone[l.Name] })
		rest.Netns = append(rest.Netns, m)
	}
	return rest
}

func neighKey(n Neigh) Neigh { n.MAC, n.Origin = MAC{}, Origin{}; return n }

func netnsName(n *Netns) string { return n.Name }

func diffNetns(have, want *Netns) (e Edit, changed bool) {
	e = Edit{Netns: want.Name, Kind: want.Kind}
	e.Add.IPv6, e.Change.IPv6, e.Delete.IPv6 = want.IPv6, want.IPv6, want.IPv6
	replaced := diffLinks(have.Links, want.Links, &e)
	// What depends on a recreated link disappears with the old one.
	have = without(have, replaced)

	diffList(have.Addrs, want.Addrs, func(a Addr) Addr { a.Origin = Origin{}; return a }, nil, &e.Add.Addrs, &e.Change.Addrs, &e.Delete.Addrs)
	diffList(have.Routes, want.Routes, routeKey, sameRoute, &e.Add.Routes, &e.Change.Routes, &e.Delete.Routes)
	diffList(have.Neighs, want.Neighs, neighKey, sameNeigh, &e.Add.Neighs, &e.Change.Neighs, &e.Delete.Neighs)
	diffList(have.FDB, want.FDB, func(f FDB) FDB { f.Origin = Origin{}; return f }, nil, &e.Add.FDB, &e.Change.FDB, &e.Delete.FDB)
	diffList(have.Sysctls, want.Sysctls, func(s Sysctl) string { return s.Key },
		func(a, b Sysctl) bool { return a == b }, &e.Add.Sysctls, &e.Change.Sysctls, &e.Delete.Sysctls)
	diffList(have.Qdiscs, want.Qdiscs, qdiscKey, sameQdisc,
		&e.Add.Qdiscs, &e.Change.Qdiscs, &e.Delete.Qdiscs)
	diffList(have.XfrmStates, want.XfrmStates, xfrmStateKey, sameXfrmState, &e.Add.XfrmStates, &e.Change.XfrmStates, &e.Delete.XfrmStates)
	diffList(have.XfrmPolicies, want.XfrmPolicies, xfrmPolicyKey, sameXfrmPolicy, &e.Add.XfrmPolicies, &e.Change.XfrmPolicies, &e.Delete.XfrmPolicies)
	sets, virtual := ipset.Diff(have.Sets, want.Sets), ipvs.Diff(have.Virtual, want.Virtual)
	e.Add.Sets, e.Change.Sets, e.Delete.Sets, e.Sets = sets.Add, sets.Change, sets.Delete, sets.Edits
	e.Add.Virtual, e.Delete.Virtual, e.Virtual = virtual.Add, virtual.Delete, virtual.Edits
	diffList(have.Agents, want.Agents, func(a occupant.Agent) string { return a.Name }, occupant.Agent.Equal,
		&e.Add.Agents, &e.Change.Agents, &e.Delete.Agents)
	diffList(have.Execs, want.Execs, func(x occupant.Exec) string { return x.Name }, occupant.Exec.Equal,
		&e.Add.Execs, &e.Change.Execs, &e.Delete.Execs)
	diffList(have.Tunnels, want.Tunnels, func(t occupant.Tunnel) string { return t.Link }, occupant.Tunnel.Equal,
		&e.Add.Tunnels, &e.Change.Tunnels, &e.Delete.Tunnels)
	diffList(have.ProxyPorts, want.ProxyPorts, func(p occupant.ProxyPort) occupant.Socket { return p.Socket() }, occupant.ProxyPort.Equal,
		&e.Add.ProxyPorts, &e.Change.ProxyPorts, &e.Delete.ProxyPorts)
	diffList(have.Records, want.Records, zone.Record.Key, nil, &e.Add.Records, &e.Change.Records, &e.Delete.Records)
	diffList(have.Resolvers, want.Resolvers, func(r occupant.Resolver) string { return r.Pod }, occupant.Resolver.Equal,
		&e.Add.Resolvers, &e.Change.Resolvers, &e.Delete.Resolvers)
	diffList(have.Files, want.Files, func(p occupant.PodFiles) string { return p.Pod }, occupant.PodFiles.Equal, &e.Add.Files, &e.Change.Files, &e.Delete.Files)
	diffList(have.Routing, want.Routing, httproute.Route.Key, httproute.Route.Equal, &e.Add.Routing, &e.Change.Routing, &e.Delete.Routing)
	diffList(have.Speakers, want.Speakers, func(bgp.Speaker) int { return 0 }, sameSpeaker,
		&e.Add.Speakers, &e.Change.Speakers, &e.Delete.Speakers)
	e.Delete.Deviations = have.Deviations
	e.Tables = iptables.Diff(have.Tables, want.Tables)
	if len(e.Change.Sets) > 0 {
		e.idle(have.Tables, want.Tables)
	}
	e.NFT = nft.Diff(have.NFT, want.NFT)
	if e.filters() {
		e.Cut = want.Cut
	}
	if e.translates(have, want) {
		e.UDP = want.UDP
	}
	return e, !e.empty()
}

// translates reports whether the edit changes address translation: NAT rules and
// virtual servers. Policies are not part of it, so that a change of policies alone does
// not read the connection tracking table for stale entries.
func (e *Edit) translates(have, want *Netns) bool {
	nat := func(name string) bool {
		return slices.ContainsFunc(append(slices.Clone(have.NFT), want.NFT...), func(t nft.Table) bool {
			return t.Name == name && slices.ContainsFunc(t.Chains, func(c nft.Chain) bool { return c.Type == "nat" })
		})
	}
	return len(e.Virtual)+len(e.Add.Virtual)+len(e.Delete.Virtual) > 0 ||
		slices.ContainsFunc(e.Tables, func(t iptables.Edit) bool { return t.Name == "nat" }) ||
		slices.ContainsFunc(e.NFT, func(t nft.Edit) bool { return nat(t.Name) })
}

// filters reports whether the edit changes what happens to packets beyond routing:
// rules, sets, virtual servers.
func (e *Edit) filters() bool {
	sets := len(e.Sets) + len(e.Add.Sets) + len(e.Change.Sets) + len(e.Delete.Sets)
	virtual := len(e.Virtual) + len(e.Add.Virtual) + len(e.Delete.Virtual)
	return len(e.Tables)+len(e.NFT)+sets+virtual > 0
}

func (e *Edit) empty() bool {
	return len(e.Tables)+len(e.NFT)+len(e.Sets)+len(e.Virtual) == 0 && e.Add.sizes() == sizes{} && e.Change.sizes() == sizes{} && e.Delete.sizes() == sizes{}
}

// diffList compares two lists by key; same may be nil if the key is all there is. Items of want keep its order, deleted ones that
// of have.
func diffList[L ~[]T, T any, K comparable](have, want L, key func(T) K, same func(a, b T) bool, add, change, del *L) {
	if len(have) == 0 {
		*add = append(*add, want...)
		return
	}
	if slices.EqualFunc(have, want, func(h, w T) bool { return key(h) == key(w) && (same == nil || same(h, w)) }) {
		return
	}
	old := make(map[K]T, len(have))
	for _, h := range have {
		old[key(h)] = h
	}
	kept := make(map[K]bool, len(want))
	for _, w := range want {
		k := key(w)
		kept[k] = true
		h, ok := old[k]
		switch {
		case !ok:
			*add = append(*add, w)
		case same != nil && !same(h, w):
			*change = append(*change, w)
		}
	}
	for _, h := range have {
		if !kept[key(h)] {
			*del = append(*del, h)
		}
	}
}

// diffLinks fills in the links of e and returns the names of those that are recreated.
func diffLinks(have, want []Link, e *Edit) map[string]bool {
	diffList(have, want, func(l Link) string { return l.Name }, sameLink, &e.Add.Links, &e.Change.Links, &e.Delete.Links)
	if len(e.Change.Links) == 0 {
		return nil
	}
	old := make(map[string]Link, len(have))
	for _, h := range have {
		old[h.Name] = h
	}
	replaced := map[string]bool{}
	var change []Link
	for _, w := range e.Change.Links {
		h := old[w.Name]
		if h.Type == w.Type && h.Peer == w.Peer && h.VXLAN == w.VXLAN {
			change = append(change, w)
			continue
		}
		replaced[w.Name] = true
		e.Delete.Links = append(e.Delete.Links, h)
		e.Add.Links = append(e.Add.Links, w)
	}
	e.Change.Links = change
	place := func(l Link) int { return slices.IndexFunc(want, func(w Link) bool { return w.Name == l.Name }) }
	if len(replaced) > 0 { // a link may be on another
		slices.SortStableFunc(e.Add.Links, func(a, b Link) int { return cmp.Compare(place(a), place(b)) })
	}
	return replaced
}

// without returns n without everything that depends on the given links.
func without(n *Netns, links map[string]bool) *Netns {
	if len(links) == 0 {
		return n
	}
	m := *n
	m.Addrs = reject(n.Addrs, func(a Addr) bool { return links[a.Link] })
	m.Routes = reject(n.Routes, func(r Route) bool { return links[r.Dev] })
	m.Neighs = reject(n.Neighs, func(x Neigh) bool { return links[x.Link] })
	m.FDB = reject(n.FDB, func(f FDB) bool { return links[f.Link] })
	m.Qdiscs = reject(n.Qdiscs, func(q Qdisc) bool { return links[q.Link] })
	return &m
}

func reject[L ~[]T, T any](list L, unwanted func(T) bool) L {
	return slices.DeleteFunc(slices.Clone(list), unwanted)
}

type routeID struct {
	to    netip.Prefix
	local bool
}

// routeKey is the table and the destination: the kernel refuses a second route to it,
// so a route that moves to another link is changed, not added.
func routeKey(r Route) routeID { return routeID{r.To.Masked(), r.Local} }

func sameLink(a, b Link) bool { a.Origin, a.UserSpace = b.Origin, b.UserSpace; return a == b }
func sameRoute(a, b Route) bool {
	return a.Type == b.Type && a.Protocol == b.Protocol && a.Via == b.Via && slices.Equal(a.More, b.More) && a.Dev == b.Dev && a.OnLink == b.OnLink
}
func sameNeigh(a, b Neigh) bool { return a.MAC == b.MAC }

// idle fills in the chains that are emptied while sets are recreated, and has them
// filled again.
func (e *Edit) idle(have, want []iptables.Table) {
	asks := func(r iptables.Rule) bool {
		return slices.ContainsFunc(e.Change.Sets, func(s ipset.Set) bool { return r.References(s.Name) })
	}
	for _, t := range have {
		x := iptables.Edit{IPv6: t.IPv6, Name: t.Name}
		for _, c := range t.Chains {
			if slices.ContainsFunc(c.Rules, asks) {
				x.Set = append(x.Set, iptables.Chain{Name: c.Name, Policy: c.Policy})
				e.reload(want, t, c.Name)
			}
		}
		if len(x.Set) > 0 {
			e.Idle = append(e.Idle, x)
		}
	}
}

// reload adds the wanted version of a chain to the edit, unless it is already there.
func (e *Edit) reload(want []iptables.Table, of iptables.Table, chain string) {
	same := func(ipv6 bool, name string) bool { return ipv6 == of.IPv6 && name == of.Name }
	named := func(c iptables.Chain) bool { return c.Name == chain }
	i := slices.IndexFunc(want, func(t iptables.Table) bool { return same(t.IPv6, t.Name) })
	if i < 0 || !slices.ContainsFunc(want[i].Chains, named) {
		return
	}
	k := slices.IndexFunc(e.Tables, func(t iptables.Edit) bool { return same(t.IPv6, t.Name) })
	if k < 0 {
		k = len(e.Tables)
		e.Tables = append(e.Tables, iptables.Edit{IPv6: of.IPv6, Name: of.Name})
	}
	if !slices.ContainsFunc(e.Tables[k].Set, named) {
		j := slices.IndexFunc(want[i].Chains, named)
		e.Tables[k].Set = append(e.Tables[k].Set, want[i].Chains[j])
	}
}
