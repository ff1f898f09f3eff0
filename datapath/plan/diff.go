package plan

import (
	"bytes"
	"net/netip"
	"reflect"
	"slices"
)

// Diff returns what leads from have to want. Origins are not compared. Both plans
// are in canonical order.
//
// A link whose type, peer or tunnel attributes differ cannot be changed in place:
// it is in Delete and in Add, together with all that stands on it in want.
func Diff(have, want *Plan) Changes {
	var c Changes
	old := make(map[string]*Netns, len(have.Netns))
	for i := range have.Netns {
		old[have.Netns[i].Name] = &have.Netns[i]
	}
	kept := make(map[string]bool, len(old))
	for i := range want.Netns {
		w := &want.Netns[i]
		h := old[w.Name]
		if h == nil {
			c.Create = append(c.Create, *w)
			continue
		}
		kept[w.Name] = true
		if e, changed := diffNetns(h, w); changed {
			c.Edit = append(c.Edit, e)
		}
	}
	for i := range have.Netns {
		if name := have.Netns[i].Name; !kept[name] {
			c.Remove = append(c.Remove, name)
		}
	}
	return c
}

func diffNetns(have, want *Netns) (e Edit, changed bool) {
	e = Edit{Netns: want.Name, Kind: want.Kind}
	e.Add.IPv6, e.Change.IPv6, e.Delete.IPv6 = want.IPv6, want.IPv6, want.IPv6
	replaced := diffLinks(have.Links, want.Links, &e)
	// Whatever stands on a link that is made anew is gone with the old one.
	have = without(have, replaced)

	diffList(have.Addrs, want.Addrs, addrKey, sameAddr, &e.Add.Addrs, &e.Change.Addrs, &e.Delete.Addrs)
	diffList(have.Routes, want.Routes, routeKey, sameRoute, &e.Add.Routes, &e.Change.Routes, &e.Delete.Routes)
	diffList(have.Neighs, want.Neighs, neighKey, sameNeigh, &e.Add.Neighs, &e.Change.Neighs, &e.Delete.Neighs)
	diffList(have.FDB, want.FDB, fdbKey, sameFDB, &e.Add.FDB, &e.Change.FDB, &e.Delete.FDB)
	diffList(have.Sysctls, want.Sysctls, func(s Sysctl) string { return s.Key },
		func(a, b Sysctl) bool { return a == b }, &e.Add.Sysctls, &e.Change.Sysctls, &e.Delete.Sysctls)
	diffList(have.Qdiscs, want.Qdiscs, func(q Qdisc) string { return q.Link }, sameQdisc,
		&e.Add.Qdiscs, &e.Change.Qdiscs, &e.Delete.Qdiscs)
	diffSets(have.Sets, want.Sets, &e)
	diffVirtual(have.Virtual, want.Virtual, &e)
	diffList(have.Agents, want.Agents, func(a Agent) string { return a.Name }, sameAgent,
		&e.Add.Agents, &e.Change.Agents, &e.Delete.Agents)
	diffList(have.Execs, want.Execs, func(x Exec) string { return x.Name }, sameExec,
		&e.Add.Execs, &e.Change.Execs, &e.Delete.Execs)
	e.Tables = diffTables(have.Tables, want.Tables)
	e.NFT = diffNFT(have.NFT, want.NFT)
	if e.filters() {
		e.UDP, e.Cut = want.UDP, want.Cut
	}
	return e, !e.empty()
}

// filters reports whether the edit changes what happens to packets beyond routing:
// rules, sets, virtual servers.
func (e *Edit) filters() bool {
	sets := len(e.Sets) + len(e.Add.Sets) + len(e.Change.Sets) + len(e.Delete.Sets)
	virtual := len(e.Virtual) + len(e.Add.Virtual) + len(e.Delete.Virtual)
	return len(e.Tables)+len(e.NFT)+sets+virtual > 0
}

func (e *Edit) empty() bool {
	return len(e.Tables) == 0 && len(e.NFT) == 0 && len(e.Sets) == 0 && len(e.Virtual) == 0 && e.Add.empty() && e.Change.empty() && e.Delete.empty()
}

// empty reports whether nothing is listed in n, tables aside.
func (n *Netns) empty() bool {
	return len(n.Links) == 0 && len(n.Addrs) == 0 && len(n.Routes) == 0 && len(n.Neighs) == 0 &&
		len(n.FDB) == 0 && len(n.Sysctls) == 0 && len(n.Qdiscs) == 0 && len(n.Sets) == 0 && len(n.Virtual) == 0 && len(n.Agents) == 0 && len(n.Execs) == 0
}

// diffList compares two lists by key. Items of want come in its order, deleted
// ones in that of have.
func diffList[T any, K comparable](have, want []T, key func(T) K, same func(a, b T) bool, add, change, del *[]T) {
	if len(have) == 0 {
		*add = append(*add, want...)
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
		case !same(h, w):
			*change = append(*change, w)
		}
	}
	for _, h := range have {
		if !kept[key(h)] {
			*del = append(*del, h)
		}
	}
}

// diffLinks fills in the links of e and returns the names of those that are made
// anew.
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
	return replaced
}

// without returns n without all that stands on the given links.
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

func reject[T any](list []T, unwanted func(T) bool) []T {
	return slices.DeleteFunc(slices.Clone(list), unwanted)
}

type addrID struct {
	link   string
	prefix netip.Prefix
}

func addrKey(a Addr) addrID { return addrID{a.Link, a.Prefix} }

type routeID struct {
	to    netip.Prefix
	local bool
}

// routeKey is the table and the destination: the kernel refuses a second route to it,
// so that a route that moves to another link is changed, not added.
func routeKey(r Route) routeID { return routeID{r.To.Masked(), r.Local} }

type neighID struct {
	link string
	addr netip.Addr
}

func neighKey(n Neigh) neighID { return neighID{n.Link, n.Addr} }

type fdbID struct {
	link string
	mac  [6]byte
	dst  netip.Addr
}

func fdbKey(f FDB) fdbID { return fdbID{f.Link, f.MAC, f.Dst} }

func sameLink(a, b Link) bool { a.Origin = b.Origin; return a == b }
func sameAddr(a, b Addr) bool { return true }
func sameRoute(a, b Route) bool {
	return a.Via == b.Via && slices.Equal(a.More, b.More) && a.Dev == b.Dev && a.OnLink == b.OnLink
}
func sameNeigh(a, b Neigh) bool { return a.MAC == b.MAC }
func sameFDB(a, b FDB) bool     { return true }

func sameAgent(a, b Agent) bool {
	return a.Node == b.Node && a.Health == b.Health && slices.Equal(a.Listen, b.Listen)
}

func sameExec(a, b Exec) bool {
	return reflect.DeepEqual(a.Argv, b.Argv) && slices.Equal(a.Env, b.Env)
}

type tableID struct {
	ipv6 bool
	name string
}

func diffTables(have, want []Table) []TableEdit {
	old := make(map[tableID]*Table, len(have))
	for i := range have {
		old[tableID{have[i].IPv6, have[i].Name}] = &have[i]
	}
	var edits []TableEdit
	add := func(e TableEdit) {
		if len(e.Set) > 0 || len(e.Delete) > 0 {
			edits = append(edits, e)
		}
	}
	wanted := make(map[tableID]bool, len(want))
	for i := range want {
		id := tableID{want[i].IPv6, want[i].Name}
		wanted[id] = true
		h := old[id]
		if h == nil {
			h = &Table{}
		}
		add(diffTable(h, &want[i]))
	}
	for i := range have {
		if h := &have[i]; !wanted[tableID{h.IPv6, h.Name}] {
			add(diffTable(h, &Table{IPv6: h.IPv6, Name: h.Name}))
		}
	}
	return edits
}

func diffTable(have, want *Table) TableEdit {
	e := TableEdit{IPv6: want.IPv6, Name: want.Name}
	var cmp comparer
	// Most chains stand where they stood: only those between the common beginning
	// and the common end have to be looked up.
	olds, news := have.Chains, want.Chains
	for len(olds) > 0 && len(news) > 0 && olds[0].Name == news[0].Name {
		if !cmp.sameChain(&olds[0], &news[0]) {
			e.Set = append(e.Set, news[0])
		}
		olds, news = olds[1:], news[1:]
	}
	var last []Chain
	for i, j := len(olds)-1, len(news)-1; i >= 0 && j >= 0 && olds[i].Name == news[j].Name; i, j = i-1, j-1 {
		if !cmp.sameChain(&olds[i], &news[j]) {
			last = append(last, news[j])
		}
		olds, news = olds[:i], news[:j]
	}
	slices.Reverse(last)
	diffChains(&cmp, &e, olds, news)
	e.Set = append(e.Set, last...)
	return e
}

// diffChains adds to an edit what leads from some chains of a table to others.
func diffChains(cmp *comparer, e *TableEdit, have, want []Chain) {
	old := make(map[string]*Chain, len(have))
	for i := range have {
		old[have[i].Name] = &have[i]
	}
	wanted := make(map[string]bool, len(want))
	for i := range want {
		w := &want[i]
		wanted[w.Name] = true
		h := old[w.Name]
		if h == nil && w.untouched() {
			continue
		}
		if h == nil || !cmp.sameChain(h, w) {
			e.Set = append(e.Set, *w)
		}
	}
	for i := range have {
		switch h := &have[i]; {
		case wanted[h.Name]:
		case h.Policy == "":
			e.Delete = append(e.Delete, h.Name)
		case !h.untouched():
			// A built-in chain cannot be deleted; it goes back to how it was.
			e.Set = append(e.Set, Chain{Name: h.Name, Policy: "ACCEPT"})
		}
	}
}

// untouched reports whether c is a built-in chain as the kernel made it.
func (c *Chain) untouched() bool { return c.Policy == "ACCEPT" && len(c.Rules) == 0 }

// sameMatch compares values. Only a CTState cannot be compared with ==.
func sameMatch(a, b Match) bool {
	if s, ok := a.(CTState); ok {
		t, ok := b.(CTState)
		return ok && s.Not == t.Not && slices.Equal(s.States, t.States)
	}
	if _, ok := b.(CTState); ok {
		return false
	}
	return a == b
}

// comparer compares rules as iptables-save prints them, without making a string
// of each.
type comparer struct{ a, b []byte }

func (c *comparer) sameChain(a, b *Chain) bool {
	return a.Policy == b.Policy && slices.EqualFunc(a.Rules, b.Rules, c.sameRule)
}

func (c *comparer) sameRule(a, b Rule) bool {
	if a.Raw == "" && b.Raw == "" && a.Target == b.Target && slices.EqualFunc(a.Matches, b.Matches, sameMatch) {
		return true
	}
	// Rules that are written differently, or were read, may still be the same.
	c.a, c.b = a.appendSave(c.a[:0]), b.appendSave(c.b[:0])
	return bytes.Equal(c.a, c.b)
}
