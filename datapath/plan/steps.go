package plan

import (
	"github.com/netlab/netlab/datapath/plan/conntrack"
	"github.com/netlab/netlab/datapath/plan/ipset"
	"github.com/netlab/netlab/datapath/plan/iptables"
	"github.com/netlab/netlab/datapath/plan/ipvs"
	"github.com/netlab/netlab/datapath/plan/nft"
)

// Steps returns the operations that build the whole plan from nothing.
func (p *Plan) Steps() []Step { return Diff(&Plan{}, p).Steps() }

// Steps returns the operations that make the changes, ordered so that each finds what
// it needs and no packet meets a gap: deviations are put right and links to be recreated deleted first; then new
// namespaces are created, and namespaces that stay get what is new and what differs;
// once all rules are in force, what they no longer use is removed; then everything else
// that is not wanted.
func (c Changes) Steps() []Step {
	l := newStepList(c)
	for i := range c.Edit { // first, since they may be in the way
		l.netns = c.Edit[i].Netns
		addEach(l, Delete, c.Edit[i].Delete.Deviations)
		addEach(l, Delete, reject(c.Edit[i].Delete.Addrs, func(a Addr) bool { return !c.Edit[i].viaItself(a) }))
	}
	for i := range c.Edit {
		l.netns = c.Edit[i].Netns
		for _, x := range c.Edit[i].replaced() {
			if !l.goesAlong(x) {
				l.add(Delete, x)
			}
		}
	}
	for i := range c.Create {
		l.create(&c.Create[i])
	}
	for i := range c.Edit {
		l.edit(&c.Edit[i])
	}
	l.steps = append(l.steps, l.late...)
	if len(c.Edit) > 0 {
		l.add(Change, RulesInForce{})
	}
	for i := range c.Edit {
		l.finish(&c.Edit[i])
	}
	for i := range c.Edit {
		l.remove(&c.Edit[i])
	}
	for _, name := range c.Remove {
		l.netns = name
		l.add(Delete, &Removal{Ends: l.follow[name]})
	}
	steps := append(l.steps, l.last...)
	for _, again := range c.Again {
		steps = append(steps, again.Steps()...)
	}
	return steps
}

// stepList collects the steps of changes.
type stepList struct {
	steps  []Step
	late   []Step // what depends on veths that are created with their other end
	last   []Step // deletions of links, after all others
	netns  string
	ends   map[Peer]*vethEnd // of all new veths
	gone   map[Peer]bool     // ends removed with the other end of their pair
	follow map[string][]Peer // ends removed with a namespace, by its name
}

// vethEnd is one end of a pair that is created in one step, when its later end is
// reached: by then both namespaces exist.
type vethEnd struct {
	link    *Link
	reached bool
}

func newStepList(c Changes) *stepList {
	items, ends := 2*len(c.Edit)+len(c.Remove), 0
	for i := range c.Create {
		n := &c.Create[i]
		items += 8 + len(n.Links) + len(n.Addrs) + len(n.Routes) + len(n.Neighs) + len(n.FDB)
		ends += len(n.Links)
	}
	l := &stepList{steps: make([]Step, 0, items), ends: make(map[Peer]*vethEnd, ends), gone: map[Peer]bool{}, follow: map[string][]Peer{}}
	isNew := make(map[string]bool, len(c.Create))
	for i := range c.Create {
		isNew[c.Create[i].Name] = true
		l.register(c.Create[i].Name, c.Create[i].Links, nil)
	}
	for i := range c.Edit {
		// The other end is in a new namespace, or in the later of two that stay.
		l.register(c.Edit[i].Netns, c.Edit[i].Add.Links, isNew)
	}
	for _, name := range c.Remove {
		l.follow[name] = nil
	}
	return l
}

func (l *stepList) register(netns string, links []Link, reached map[string]bool) {
	for i := range links {
		if x := &links[i]; x.Type == Veth {
			l.ends[Peer{netns, x.Name}] = &vethEnd{link: x, reached: reached[x.Peer.Netns]}
		}
	}
}

func (l *stepList) add(v Verb, item Item) {
	l.steps = append(l.steps, Step{Netns: l.netns, Verb: v, Item: item})
}

// awaits reports whether a link of the namespace is created later, with its other end.
func (l *stepList) awaits(link string) bool {
	here := l.ends[Peer{l.netns, link}]
	if here == nil {
		return false
	}
	there := l.ends[here.link.Peer]
	return there != nil && !there.reached
}

// addOn adds a step that depends on a link.
func (l *stepList) addOn(link string, v Verb, item Item) {
	if l.awaits(link) {
		l.late = append(l.late, Step{Netns: l.netns, Verb: v, Item: item})
		return
	}
	l.add(v, item)
}

// linkSysctls writes the settings of links.
func (l *stepList) linkSysctls(list Sysctls) {
	awaits := func(s Sysctl) bool { return l.awaits(s.linkOf()) }
	addList(l, Change, reject(list, awaits))
	if later := reject(list, func(s Sysctl) bool { return !awaits(s) }); len(later) > 0 {
		l.late = append(l.late, Step{Netns: l.netns, Verb: Change, Item: later})
	}
}

// create creates a namespace with everything in it.
func (l *stepList) create(n *Netns) {
	l.netns = n.Name
	sysctls := placesOf(n.Sysctls)
	l.add(Add, n)
	addList(l, Change, sysctls.netns)
	l.addLinks(n.Links)
	l.addItems(n, &Netns{})
	l.linkSysctls(sysctls.link)
	l.occupants(Add, n)
	addList(l, Change, SetCommands(ipset.Create(nil, n.Sets)))
	addList(l, Add, NFTEdits(nft.Create(n.NFT))) // first: at the same priority what comes last sees packets first
	addList(l, Add, TableEdits(iptables.Create(n.Tables)))
	addList(l, Change, VirtualCommands(ipvs.Create(nil, n.Virtual)))
	addList(l, Change, sysctls.ipvs)
	l.conntrack(n.UDP, n.Cut)
}

// edit adds and changes items of a namespace that stays.
func (l *stepList) edit(e *Edit) {
	l.netns = e.Netns
	sysctls := placesOf(e.Add.Sysctls, e.Change.Sysctls)
	addList(l, Change, sysctls.netns)
	l.addLinks(e.Add.Links)
	for i := range e.Change.Links {
		x := &e.Change.Links[i]
		// Only these namespaces have bridges that a link could be attached to.
		release := x.Master == "" && x.Type != Bridge && (e.Kind == Underlay || e.Kind == Node)
		l.add(Change, &LinkChange{Link: x, Release: release})
	}
	l.addItems(&e.Add, &e.Change)
	l.linkSysctls(sysctls.link)
	l.occupants(Delete, &e.Delete)
	l.occupants(Change, &e.Change)
	l.occupants(Add, &e.Add)
	if len(e.Idle) > 0 {
		l.add(Change, TableEdits(e.Idle))
		l.add(Change, RulesInForce{})
	}
	tables := e.NFT
	if gone := reject(tables, func(x nft.Edit) bool { return !x.Remove || x.Create }); len(e.Change.Sets)*len(gone) > 0 { // they may refer to the sets
		l.add(Change, NFTEdits(gone))
		l.add(Change, RulesInForce{})
		tables = reject(tables, func(x nft.Edit) bool { return x.Remove && !x.Create })
	}
	sets := ipset.Create(ipset.Destroy(ipset.Release(nil, e.Delete.Sets), e.Change.Sets), e.Change.Sets)
	sets = ipset.Create(sets, e.Add.Sets)
	for i := range e.Sets {
		sets = e.Sets[i].Commands(sets, "add", e.Sets[i].Add)
	}
	addList(l, Change, SetCommands(sets))
	addList(l, Change, NFTEdits(tables))
	addList(l, Change, TableEdits(e.Tables))
}

// finish does what has to wait for the rules of the edit to be in force.
func (l *stepList) finish(e *Edit) {
	l.netns = e.Netns
	var sets []ipset.Command
	for i := range e.Sets {
		sets = e.Sets[i].Commands(sets, "del", e.Sets[i].Delete)
	}
	addList(l, Change, SetCommands(ipset.Destroy(sets, e.Delete.Sets)))
	virtual := ipvs.Create(nil, e.Add.Virtual)
	for i := range e.Virtual {
		virtual = e.Virtual[i].Commands(virtual)
	}
	for i := range e.Delete.Virtual {
		virtual = append(virtual, ipvs.Command{Verb: "-D", Server: &e.Delete.Virtual[i], Real: nil})
	}
	addList(l, Change, VirtualCommands(virtual))
	addList(l, Change, placesOf(e.Add.Sysctls, e.Change.Sysctls).ipvs)
	l.conntrack(e.UDP, e.Cut)
}

// remove removes what an edit deletes, in reverse order of creation. Deleting a link
// also removes what depends on it.
func (l *stepList) remove(e *Edit) {
	l.netns = e.Netns
	d := &e.Delete
	gone := make(map[string]bool, len(d.Links))
	for i := range d.Links {
		gone[d.Links[i].Name] = d.Links[i].Type != IPIP // which the kernel may keep, with its addresses
	}
	addEach(l, Delete, d.XfrmPolicies)
	addEach(l, Delete, d.XfrmStates)
	addEach(l, Delete, reject(d.Routes, func(x Route) bool { return gone[x.Dev] }))
	addEach(l, Delete, reject(d.Qdiscs, func(x Qdisc) bool { return gone[x.Link] }))
	addEach(l, Delete, reject(d.FDB, func(x FDB) bool { return gone[x.Link] }))
	addEach(l, Delete, reject(d.Neighs, func(x Neigh) bool { return gone[x.Link] }))
	addEach(l, Delete, reject(d.Addrs, func(x Addr) bool { return gone[x.Link] || e.viaItself(x) }))
	replaced := map[string]bool{}
	for _, x := range e.replaced() {
		replaced[x.Name] = true
	}
	for i := len(d.Links) - 1; i >= 0; i-- {
		x := &d.Links[i]
		if replaced[x.Name] {
			continue
		}
		// Veth ends are removed in bulk with the namespace of the other end; deleting
		// them one by one takes an RCU grace period each.
		if _, follows := l.follow[x.Peer.Netns]; follows && x.Type == Veth {
			l.follow[x.Peer.Netns] = append(l.follow[x.Peer.Netns], Peer{e.Netns, x.Name})
			continue
		}
		if !l.goesAlong(x) {
			l.last = append(l.last, Step{Netns: l.netns, Verb: Delete, Item: x})
		}
	}
}

// goesAlong reports whether a link is removed with the other end of its pair, which was
// deleted before it; if not, its own other end will be.
func (l *stepList) goesAlong(x *Link) bool {
	if l.gone[Peer{l.netns, x.Name}] {
		return true
	}
	if x.Type == Veth {
		l.gone[x.Peer] = true
	}
	return false
}

func (l *stepList) addLinks(links []Link) {
	for i := range links {
		x := &links[i]
		if x.Type != Veth {
			l.add(Add, x)
			continue
		}
		here := l.ends[Peer{l.netns, x.Name}]
		there := l.ends[x.Peer]
		switch {
		case here.reached:
		case there == nil:
			l.add(Add, &Pair{Link: x})
		case there.reached:
			l.add(Add, &Pair{Link: x, Peer: there.link})
		}
		here.reached = true
	}
}

// addItems adds what depends on links, each kind before what needs it.
func (l *stepList) addItems(add, change *Netns) {
	ofAddr, ofNeigh := func(x *Addr) string { return x.Link }, func(x *Neigh) string { return x.Link }
	ofRoute, ofQdisc := func(x *Route) string { return x.Dev }, func(x *Qdisc) string { return x.Link }
	addOnEach(l, Add, add.Addrs, ofAddr)
	addOnEach(l, Add, add.Neighs, ofNeigh)
	addOnEach(l, Change, change.Neighs, ofNeigh)
	addEach(l, Add, add.FDB)
	addOnEach(l, Add, add.Routes, ofRoute)
	addOnEach(l, Change, change.Routes, ofRoute)
	addOnEach(l, Add, add.Qdiscs, ofQdisc)
	addOnEach(l, Change, change.Qdiscs, ofQdisc)
	addEach(l, Add, add.XfrmStates)
	addEach(l, Change, change.XfrmStates)
	addEach(l, Add, add.XfrmPolicies)
	addEach(l, Change, change.XfrmPolicies)
}

// addOnEach adds what depends on links.
func addOnEach[T any, P interface {
	*T
	Item
}](l *stepList, v Verb, list []T, link func(*T) string) {
	for i := range list {
		l.addOn(link(&list[i]), v, P(&list[i]))
	}
}

func addEach[T any, P interface {
	*T
	Item
}](l *stepList, v Verb, list []T) {
	for i := range list {
		l.add(v, P(&list[i]))
	}
}

func addList[L interface {
	~[]E
	Item
}, E any](l *stepList, v Verb, list L) {
	if len(list) > 0 {
		l.add(v, list)
	}
}

// The sysctls of a namespace are written at three points: before its links, since some
// are defaults for new links; after the links that they belong to; and, for those of
// IPVS, once there is a virtual server.
type places struct{ netns, link, ipvs Sysctls }

func placesOf(lists ...[]Sysctl) (p places) {
	for _, list := range lists {
		for _, s := range list {
			switch {
			case s.OfIPVS():
				p.ipvs = append(p.ipvs, s)
			case s.linkOf() != "":
				p.link = append(p.link, s)
			default:
				p.netns = append(p.netns, s)
			}
		}
	}
	return p
}

func (l *stepList) occupants(v Verb, n *Netns) {
	if len(n.Agents)+len(n.Execs)+len(n.Tunnels)+len(n.Speakers)+len(n.ProxyPorts)+len(n.Records)+len(n.Resolvers)+len(n.Files)+len(n.Routing) > 0 {
		l.add(v, &Occupants{IPv6: n.IPv6, Agents: n.Agents, Execs: n.Execs, Tunnels: n.Tunnels, Speakers: n.Speakers, ProxyPorts: n.ProxyPorts, Records: n.Records, Resolvers: n.Resolvers, Files: n.Files, Routing: n.Routing})
	}
}

func (l *stepList) conntrack(udp []conntrack.UDPService, cut []conntrack.Cut) {
	if len(udp)+len(cut) > 0 {
		l.add(Delete, &Conntrack{UDP: udp, Cut: cut})
	}
}
