package plan

import (
	"fmt"
	"strings"
)

// Lines returns the changes as lines that could be pasted into a shell, in the
// order in which they are applied: what is new before what goes. Restore input
// takes several lines, as a here-document.
func (c Changes) Lines() []string {
	w := newTextWriter(&Plan{Netns: c.Create})
	for i := range c.Edit {
		w.register([]Netns{{Name: c.Edit[i].Netns, Links: c.Edit[i].Add.Links}})
	}
	// The new ends of a pair in namespaces that stay are made from the new
	// namespace, or from the later of two that stay.
	for i := range c.Edit {
		for _, l := range c.Edit[i].Add.Links {
			w.seen[Peer{c.Edit[i].Netns, l.Name}] = l.Type == Veth && w.isNew(l.Peer, c.Create)
		}
	}
	for i := range c.Edit {
		w.removeReplaced(&c.Edit[i])
	}
	for i := range c.Create {
		w.create(&c.Create[i])
	}
	for i := range c.Edit {
		w.edit(&c.Edit[i])
	}
	for i := range c.Edit {
		w.remove(&c.Edit[i])
	}
	if len(c.Remove) > 0 {
		w.enter("")
	}
	for _, name := range c.Remove {
		w.linef("ip netns delete %s", name)
	}
	text := strings.TrimSuffix(string(w.b), "\n")
	if text == "" {
		return nil
	}
	return strings.Split(text, "\n")
}

func (w *textWriter) isNew(p Peer, create []Netns) bool {
	for i := range create {
		if create[i].Name == p.Netns {
			return true
		}
	}
	return false
}

// removeReplaced deletes links whose name is needed again.
func (w *textWriter) removeReplaced(e *Edit) {
	for _, l := range e.replaced() {
		w.deleteLink(e.Netns, l)
	}
}

// deleteLink deletes a link, unless the other end of its pair took it along.
func (w *textWriter) deleteLink(netns string, l Link) {
	if w.gone[Peer{netns, l.Name}] {
		return
	}
	if l.Type == Veth {
		w.gone[l.Peer] = true
	}
	w.linef("ip -n %s link delete dev %s", netns, l.Name)
}

func (e *Edit) replaced() []Link {
	var both []Link
	for _, d := range e.Delete.Links {
		for _, a := range e.Add.Links {
			if a.Name == d.Name {
				both = append(both, d)
			}
		}
	}
	return both
}

// edit writes what an edit adds and changes.
func (w *textWriter) edit(e *Edit) {
	if e.Add.empty() && e.Change.empty() && !e.filters() {
		return
	}
	w.enter(e.Netns)
	for i := range e.Add.Links {
		l := &e.Add.Links[i]
		if here := (Peer{e.Netns, l.Name}); l.Type == Veth && w.seen[here] {
			continue // made with its peer's namespace
		}
		w.addLink(l)
	}
	for i := range e.Change.Links {
		w.changeLink(&e.Change.Links[i], e.Kind)
	}
	rest := e.Add
	rest.Links = nil
	rest.Sysctls = append(rest.Sysctls[:len(rest.Sysctls):len(rest.Sysctls)], e.Change.Sysctls...)
	w.add(&rest)
	for _, r := range e.Change.Routes {
		w.from(r.Origin)
		w.linef("ip -n %s route replace %s", w.netns, r.words())
	}
	for _, x := range e.Change.Neighs {
		w.from(x.Origin)
		w.linef("ip -n %s neigh replace %s lladdr %s dev %s nud permanent", w.netns, x.Addr, mac(x.MAC), x.Link)
	}
	for i := range e.Change.Qdiscs {
		w.linef("tc -n %s qdisc delete dev %s root", w.netns, e.Change.Qdiscs[i].Link)
		w.qdisc("add", &e.Change.Qdiscs[i])
	}
	w.agents("# change", &e.Change)
	w.growSets(e)
	w.tables(e.Tables)
	w.editNFT(e.NFT)
	w.shrinkSets(e)
	w.editVirtual(e)
	w.ipvsSysctls(rest.Sysctls)
}

// growSets writes what sets get before rules ask them. A set of another type can only be
// destroyed while no rule asks it.
func (w *textWriter) growSets(e *Edit) {
	w.input("ipset restore", func() {
		for i := range e.Change.Sets {
			w.b = append(append(append(w.b, "destroy "...), e.Change.Sets[i].Name...), '\n')
		}
		for _, list := range [][]Set{e.Change.Sets, e.Add.Sets} {
			for i := range list {
				w.from(list[i].Origin)
				w.b = list[i].appendCreate(w.b)
				w.b = list[i].Type.appendEntries(w.b, "add", list[i].Name, list[i].Entries)
			}
		}
		for i := range e.Sets {
			w.from(e.Sets[i].Origin)
			w.b = e.Sets[i].Type.appendEntries(w.b, "add", e.Sets[i].Name, e.Sets[i].Add)
		}
	})
}

// shrinkSets writes what goes from sets, and sets that go, once no rule asks them.
func (w *textWriter) shrinkSets(e *Edit) {
	w.input("ipset restore", func() {
		for i := range e.Sets {
			w.b = e.Sets[i].Type.appendEntries(w.b, "del", e.Sets[i].Name, e.Sets[i].Delete)
		}
		for i := range e.Delete.Sets {
			w.b = append(append(append(w.b, "destroy "...), e.Delete.Sets[i].Name...), '\n')
		}
	})
}

func (w *textWriter) editVirtual(e *Edit) {
	w.inputUncommented("ipvsadm -R", func() {
		for i := range e.Add.Virtual {
			w.from(e.Add.Virtual[i].Origin)
			w.b = e.Add.Virtual[i].appendAll(w.b)
		}
		for i := range e.Virtual {
			w.from(e.Virtual[i].Server.Origin)
			w.b = e.Virtual[i].appendRestore(w.b)
		}
		for i := range e.Delete.Virtual {
			w.b = append(e.Delete.Virtual[i].appendService(append(w.b, "-D "...)), '\n')
		}
	})
}

func (w *textWriter) changeLink(l *Link, kind Kind) {
	w.from(l.Origin)
	if a := l.attrs(); a != "" {
		w.linef("ip -n %s link set dev %s%s", w.netns, l.Name, a)
	}
	switch {
	case l.Master != "":
		w.linef("ip -n %s link set dev %s master %s", w.netns, l.Name, l.Master)
		w.linef("bridge -n %s link set dev %s hairpin %s", w.netns, l.Name, map[bool]string{true: "on", false: "off"}[l.Hairpin])
	case l.Type != Bridge && (kind == Wire || kind == Node): // others have no bridge to be taken from
		w.linef("ip -n %s link set dev %s nomaster", w.netns, l.Name)
	}
	w.linef("ip -n %s link set dev %s up", w.netns, l.Name)
}

// remove writes what an edit deletes, in the reverse of the order of creation.
func (w *textWriter) remove(e *Edit) {
	d := &e.Delete
	rest := *d
	rest.Sets, rest.Virtual = nil, nil // gone with the edit
	if rest.empty() {
		return
	}
	w.enter(e.Netns)
	gone := map[string]bool{} // links that take with them what stands on them
	for _, l := range d.Links {
		gone[l.Name] = true
	}
	w.agents("# remove", &Netns{Agents: d.Agents, Execs: d.Execs})
	for _, r := range d.Routes {
		if !gone[r.Dev] {
			w.linef("ip -n %s route delete %s", w.netns, r.words())
		}
	}
	for _, q := range d.Qdiscs {
		if !gone[q.Link] {
			w.linef("tc -n %s qdisc delete dev %s root", w.netns, q.Link)
		}
	}
	for _, f := range d.FDB {
		if !gone[f.Link] {
			w.linef("bridge -n %s fdb delete %s dev %s dst %s self permanent", w.netns, mac(f.MAC), f.Link, f.Dst)
		}
	}
	for _, x := range d.Neighs {
		if !gone[x.Link] {
			w.linef("ip -n %s neigh delete %s dev %s", w.netns, x.Addr, x.Link)
		}
	}
	for _, a := range d.Addrs {
		if !gone[a.Link] {
			w.linef("ip -n %s address delete %s dev %s", w.netns, a.Prefix, a.Link)
		}
	}
	replaced := map[string]bool{}
	for _, l := range e.replaced() {
		replaced[l.Name] = true
	}
	for i := len(d.Links) - 1; i >= 0; i-- {
		if l := d.Links[i]; !replaced[l.Name] {
			w.deleteLink(w.netns, l)
		}
	}
}

// Summary says in one line how much changes: "2 namespaces created, 1 changed
// (3 chains, 1 link)". It is "no change" for empty changes.
func (c Changes) Summary() string {
	if c.Empty() {
		return "no change"
	}
	var parts []string
	if n := len(c.Create); n > 0 {
		parts = append(parts, count(n, "network namespace")+" created")
	}
	if n := len(c.Edit); n > 0 {
		parts = append(parts, count(n, "network namespace")+" changed ("+c.edited()+")")
	}
	if n := len(c.Remove); n > 0 {
		parts = append(parts, count(n, "network namespace")+" removed")
	}
	return strings.Join(parts, ", ")
}

// edited counts the objects that the edits touch.
func (c Changes) edited() string {
	var links, addrs, routes, neighs, fdb, sysctls, qdiscs, sets, chains, virtual, agents, execs int
	for i := range c.Edit {
		e := &c.Edit[i]
		for _, n := range []*Netns{&e.Add, &e.Change, &e.Delete} {
			links += len(n.Links)
			addrs += len(n.Addrs)
			routes += len(n.Routes)
			neighs += len(n.Neighs)
			fdb += len(n.FDB)
			sysctls += len(n.Sysctls)
			qdiscs += len(n.Qdiscs)
			sets += len(n.Sets)
			virtual += len(n.Virtual)
			agents += len(n.Agents)
			execs += len(n.Execs)
		}
		sets += len(e.Sets)
		virtual += len(e.Virtual)
		for _, t := range e.Tables {
			chains += len(t.Set) + len(t.Delete)
		}
		for j := range e.NFT {
			chains, sets = e.NFT[j].counts(chains, sets)
		}
	}
	var parts []string
	for _, x := range []struct {
		n    int
		noun string
	}{{links, "link"}, {addrs, "address"}, {routes, "route"}, {neighs, "neighbour"}, {fdb, "FDB entry"},
		{sysctls, "sysctl"}, {qdiscs, "qdisc"}, {sets, "set"}, {chains, "chain"}, {virtual, "virtual server"}, {agents, "agent"}, {execs, "program"}} {
		if x.n > 0 {
			parts = append(parts, count(x.n, x.noun))
		}
	}
	return strings.Join(parts, ", ")
}

func count(n int, noun string) string {
	switch {
	case n == 1:
	case strings.HasSuffix(noun, "y"):
		noun = noun[:len(noun)-1] + "ies"
	case strings.HasSuffix(noun, "ss"):
		noun += "es"
	default:
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}
