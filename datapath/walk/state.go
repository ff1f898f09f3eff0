package walk

import (
	"maps"
	"net/netip"
	"time"
)

// State is what rules remember from one connection to the next: the lists of
// recent, by which services keep a client with its endpoint. The zero State
// remembers nothing. A State does not change; walks return new ones.
type State struct {
	now   time.Duration
	lists map[recentKey]recentList
}

// recentKey names a list: each namespace has its own.
type recentKey struct{ netns, list string }

// recentList is when each address was seen last.
type recentList map[netip.Addr]time.Duration

// After is the state some time later.
func (s *State) After(d time.Duration) *State {
	later := s.clone()
	later.now += d
	return later
}

// clone copies what a walk may change.
func (s *State) clone() *State {
	if s == nil {
		return &State{}
	}
	c := &State{now: s.now, lists: maps.Clone(s.lists)}
	for k, l := range c.lists {
		c.lists[k] = maps.Clone(l)
	}
	return c
}

// remember notes an address in a list, as recent's --set does.
func (s *State) remember(netns, list string, a netip.Addr) {
	if s.lists == nil {
		s.lists = map[recentKey]recentList{}
	}
	k := recentKey{netns, list}
	if s.lists[k] == nil {
		s.lists[k] = recentList{}
	}
	s.lists[k][a] = s.now
}

// seen reports whether an address was noted within the last so many seconds (0:
// ever), as --rcheck does. With reap, older notes are forgotten.
func (s *State) seen(netns, list string, a netip.Addr, seconds int, reap bool) bool {
	l := s.lists[recentKey{netns, list}]
	within := time.Duration(seconds) * time.Second
	if reap && seconds > 0 {
		maps.DeleteFunc(l, func(_ netip.Addr, at time.Duration) bool { return s.now-at > within })
	}
	at, ok := l[a]
	return ok && (seconds == 0 || s.now-at <= within)
}
