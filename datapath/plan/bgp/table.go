package bgp

import (
	"cmp"
	"maps"
	"net/netip"
	"slices"
)

// Path is a way to a prefix, as one speaker tells another.
type Path struct {
	Prefix  netip.Prefix
	NextHop netip.Addr
	AS      []uint32 // autonomous systems on the way, the nearest first
	// Originator and Clusters are what route reflectors add.
	Originator netip.Addr
	Clusters   []netip.Addr
}

func (p *Path) equal(q *Path) bool {
	return p.Prefix == q.Prefix && p.NextHop == q.NextHop && p.Originator == q.Originator && slices.Equal(p.AS, q.AS) && slices.Equal(p.Clusters, q.Clusters)
}

// heard is a path and the peer that told it; own paths have none.
type heard struct {
	Path
	peer *Peer
	id   netip.Addr // router ID of the peer
}

// Table is what a speaker knows.
type Table struct {
	speaker *Speaker
	paths   map[netip.Prefix][]heard // the best first
	told    map[*Peer]map[netip.Prefix]Path
	ids     map[*Peer]netip.Addr // of peers with a session
}

// NewTable returns the table of a speaker without sessions.
func NewTable(s *Speaker) *Table {
	t := &Table{speaker: s, paths: map[netip.Prefix][]heard{}, told: map[*Peer]map[netip.Prefix]Path{}, ids: map[*Peer]netip.Addr{}}
	for _, p := range s.Announces {
		t.paths[p] = []heard{{Path: Path{Prefix: p}}}
	}
	return t
}

// Reconfigure gives the table's speaker another configuration. What was heard from peers that
// stay is kept; it returns the prefixes of which anything may have changed.
func (t *Table) Reconfigure(s *Speaker) []netip.Prefix {
	stays := map[*Peer]*Peer{}
	for i := range t.speaker.Peers {
		old := &t.speaker.Peers[i]
		if k := slices.IndexFunc(s.Peers, func(p Peer) bool { return p.Same(old) }); k >= 0 {
			stays[old] = &s.Peers[k]
		}
	}
	changed := t.Prefixes()
	told, ids := map[*Peer]map[netip.Prefix]Path{}, map[*Peer]netip.Addr{}
	for p, id := range t.ids {
		if now := stays[p]; now != nil {
			told[now], ids[now] = t.told[p], id
		}
	}
	t.speaker, t.told, t.ids = s, told, ids
	for prefix, list := range t.paths {
		var kept []heard
		for _, h := range list {
			if now := stays[h.peer]; now != nil {
				kept = append(kept, heard{h.Path, now, h.id})
			}
		}
		if t.paths[prefix] = kept; kept == nil {
			delete(t.paths, prefix)
		}
	}
	for _, prefix := range s.Announces {
		t.paths[prefix] = append(t.paths[prefix], heard{Path: Path{Prefix: prefix}})
	}
	for _, list := range t.paths {
		slices.SortStableFunc(list, t.prefer)
	}
	return append(changed, s.Announces...)
}

// Up begins a session. It returns all prefixes of the table: what the peer has to hear of.
func (t *Table) Up(p *Peer, id netip.Addr) []netip.Prefix {
	t.ids[p], t.told[p] = id, map[netip.Prefix]Path{}
	return t.Prefixes()
}

// Down ends a session, and returns the prefixes to which the best path has changed.
func (t *Table) Down(p *Peer) (changed []netip.Prefix) {
	delete(t.ids, p)
	delete(t.told, p)
	for _, prefix := range t.Prefixes() {
		if t.Withdraw(p, prefix) {
			changed = append(changed, prefix)
		}
	}
	return changed
}

// Prefixes are all prefixes to which there is a path.
func (t *Table) Prefixes() []netip.Prefix {
	return slices.SortedFunc(maps.Keys(t.paths), netip.Prefix.Compare)
}

// Learn takes a path from a peer, and reports whether the best one has changed. A path that
// has been here before is refused: it is in a circle.
func (t *Table) Learn(p *Peer, path Path) bool {
	s := t.speaker
	if slices.Contains(path.AS, s.AS) || path.Originator == s.ID || slices.Contains(path.Clusters, s.ID) {
		return t.Withdraw(p, path.Prefix)
	}
	list := slices.DeleteFunc(slices.Clone(t.paths[path.Prefix]), func(h heard) bool { return h.peer == p })
	list = append(list, heard{path, p, t.ids[p]})
	slices.SortStableFunc(list, t.prefer)
	return t.set(path.Prefix, list)
}

// Withdraw forgets what a peer has told of a prefix, and reports whether the best path has
// changed.
func (t *Table) Withdraw(p *Peer, prefix netip.Prefix) bool {
	return t.set(prefix, slices.DeleteFunc(slices.Clone(t.paths[prefix]), func(h heard) bool { return h.peer == p }))
}

func (t *Table) set(prefix netip.Prefix, list []heard) bool {
	old := t.paths[prefix]
	if t.paths[prefix] = list; len(list) == 0 {
		delete(t.paths, prefix)
	}
	if len(old) == 0 || len(list) == 0 {
		return len(old) != len(list)
	}
	return old[0].peer != list[0].peer || !old[0].equal(&list[0].Path)
}

// prefer orders paths to one prefix, the best first.
func (t *Table) prefer(a, b heard) int {
	rank := func(h heard) int {
		switch {
		case h.peer == nil:
			return 0
		case !t.speaker.Internal(h.peer):
			return 1
		}
		return 2
	}
	from := func(h heard) netip.Addr { return cmp.Or(h.Originator, h.id) }
	usable := func(h heard) int {
		if _, ok := t.speaker.HopTo(h.NextHop); h.peer == nil || ok {
			return 0
		}
		return 1
	}
	if a.peer == nil || b.peer == nil {
		return cmp.Compare(rank(a), rank(b))
	}
	return cmp.Or(cmp.Compare(usable(a), usable(b)), cmp.Compare(len(a.AS), len(b.AS)), cmp.Compare(rank(a), rank(b)), from(a).Compare(from(b)),
		cmp.Compare(len(a.Clusters), len(b.Clusters)), a.peer.Addr.Compare(b.peer.Addr))
}

// Best is the path that the host uses to a prefix, how it gets to the next hop, and the peer
// that told it. It has none to its own prefixes, and to those that it has written routes to.
func (t *Table) Best(prefix netip.Prefix) (Hop, *Peer, bool) {
	list := t.paths[prefix]
	if len(list) == 0 || list[0].peer == nil || slices.Contains(t.speaker.Written, prefix) {
		return Hop{}, nil, false
	}
	h, ok := t.speaker.HopTo(list[0].NextHop)
	return h, list[0].peer, ok
}

// Received are the numbers of prefixes that peers have told.
func (t *Table) Received() map[*Peer]int {
	n := map[*Peer]int{}
	for _, list := range t.paths {
		for _, h := range list {
			n[h.peer]++
		}
	}
	return n
}

// Tell returns what a peer has to hear about a prefix: a new path, that there is none any
// more, or nothing.
func (t *Table) Tell(p *Peer, prefix netip.Prefix) (path Path, withdraw, changed bool) {
	told, up := t.told[p]
	if !up {
		return path, false, false
	}
	path, ok := t.export(p, prefix)
	before, was := told[prefix]
	switch {
	case ok && was && before.equal(&path), !ok && !was:
		return path, false, false
	case ok:
		told[prefix] = path
		return path, false, true
	}
	delete(told, prefix)
	return Path{Prefix: prefix}, true, true
}

// export is the path to a prefix as a peer hears it; not ok: the peer does not.
func (t *Table) export(p *Peer, prefix netip.Prefix) (out Path, ok bool) {
	list := t.paths[prefix]
	if len(list) == 0 {
		return out, false
	}
	best, s := &list[0], t.speaker
	internal, own := s.Internal(p), best.peer == nil
	out = best.Path
	switch {
	case best.peer == p:
		return out, false
	case !internal && !own && !s.Transit:
		return out, false
	case internal && !own && s.Internal(best.peer):
		if !p.Client && !best.peer.Client {
			return out, false // whoever is in the same system has heard it itself
		}
		out.Originator = cmp.Or(out.Originator, best.id)
		out.Clusters = append([]netip.Addr{s.ID}, out.Clusters...)
		return out, out.NextHop.IsValid()
	}
	if !internal {
		out.AS = append([]uint32{s.AS}, out.AS...)
		out.Originator, out.Clusters = netip.Addr{}, nil
	}
	if own || !internal {
		out.NextHop = netip.Addr{}
		for _, a := range p.NextHops {
			if a.Is6() == prefix.Addr().Is6() {
				out.NextHop = a
			}
		}
	}
	return out, out.NextHop.IsValid()
}
