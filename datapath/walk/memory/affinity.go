package memory

import (
	"net/netip"
	"time"
)

// Affinity is what stays with one real server: one client, or all clients, of a virtual
// server.
type Affinity struct {
	Netns  string
	Proto  string
	Server netip.AddrPort
	Client netip.Addr
}

// binding is the real server, and when it was last chosen.
type binding struct {
	real netip.AddrPort
	at   time.Duration
}

// Bind records the choice, or that it was made again.
func (s *State) Bind(k Affinity, real netip.AddrPort) {
	if s.bindings == nil {
		s.bindings = map[Affinity]binding{}
	}
	s.bindings[k] = binding{real, s.now}
}

// Bound returns the recorded choice, unless it has expired (0: never expires).
func (s *State) Bound(k Affinity, lasts time.Duration) (netip.AddrPort, bool) {
	b, ok := s.bindings[k]
	return b.real, ok && (lasts == 0 || s.now-b.at <= lasts)
}
