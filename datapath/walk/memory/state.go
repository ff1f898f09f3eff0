package memory

import (
	"maps"
	"net/netip"
	"time"
)

// State is what rules remember from one connection to the next: the lists of recent and
// the bindings of IPVS, with which services keep a client on its endpoint. The zero
// State is empty. Only a walk changes a State, its own clone; those that it was given and
// those that it has returned stay as they are.
type State struct {
	now   time.Duration
	notes int // so far
	lists map[recentKey]recentList
	// elements are those of dynamic sets: when each was last updated.
	elements map[elementKey]time.Duration
	// bindings are what IPVS remembers: see affinity.go.
	bindings map[Affinity]binding
}

// recentKey names a list: each namespace has its own.
type recentKey struct{ netns, list string }

// elementKey is an element of a set in one namespace.
type elementKey struct{ netns, set, key string }

// recentList is when each address was last recorded.
type recentList map[netip.Addr]note

type note struct {
	at    time.Duration
	order int // among the records of all lists
}

// recentLength is how many addresses a list holds; the oldest one is evicted
// (ip_list_tot of xt_recent).
const recentLength = 100

// Remembers reports whether the state holds anything: a client's next result then
// depends on earlier ones.
func (s *State) Remembers() bool { return s != nil && len(s.lists)+len(s.bindings)+len(s.elements) > 0 }

// After is the state some time later.
func (s *State) After(d time.Duration) *State {
	later := s.Clone()
	later.now += d
	return later
}

// Clone copies what a walk may change.
func (s *State) Clone() *State {
	if s == nil {
		return &State{}
	}
	c := &State{now: s.now, notes: s.notes, lists: maps.Clone(s.lists), bindings: maps.Clone(s.bindings), elements: maps.Clone(s.elements)}
	for k, l := range c.lists {
		c.lists[k] = maps.Clone(l)
	}
	return c
}

// Record notes an address in a list, as recent's --set does.
func (s *State) Record(netns, list string, a netip.Addr) {
	if s.lists == nil {
		s.lists = map[recentKey]recentList{}
	}
	k := recentKey{netns, list}
	if s.lists[k] == nil {
		s.lists[k] = recentList{}
	}
	l := s.lists[k]
	if _, known := l[a]; !known && len(l) >= recentLength {
		oldest := a
		for other, n := range l {
			if oldest == a || n.order < l[oldest].order {
				oldest = other
			}
		}
		delete(l, oldest)
	}
	s.notes++
	l[a] = note{s.now, s.notes}
}

// Keep adds an element to a dynamic set, or begins its time again.
func (s *State) Keep(netns, set, key string) {
	if s.elements == nil {
		s.elements = map[elementKey]time.Duration{}
	}
	s.elements[elementKey{netns, set, key}] = s.now
}

// Kept reports whether an element was updated within the last seconds.
func (s *State) Kept(netns, set, key string, seconds uint32) bool {
	at, ok := s.elements[elementKey{netns, set, key}]
	return ok && s.now-at < time.Duration(seconds)*time.Second
}

// Seen reports whether an address was recorded within the last seconds (0: at any
// time), as --rcheck does. With reap, older records are removed.
func (s *State) Seen(netns, list string, a netip.Addr, seconds int, reap bool) bool {
	l := s.lists[recentKey{netns, list}]
	within := time.Duration(seconds) * time.Second
	if reap && seconds > 0 {
		maps.DeleteFunc(l, func(_ netip.Addr, n note) bool { return s.now-n.at > within })
	}
	n, ok := l[a]
	return ok && (seconds == 0 || s.now-n.at <= within)
}
