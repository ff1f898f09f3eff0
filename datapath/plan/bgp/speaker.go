package bgp

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/netlab/netlab/datapath/plan/origin"
)

// Port is the TCP port on which speakers listen.
const Port = 179

// Speaker is the BGP daemon of a host.
type Speaker struct {
	AS uint32     `json:"as"`
	ID netip.Addr `json:"routerID"` // an IPv4 address, or four bytes that look like one
	// Announces are the prefixes of the host itself. Their next hop is the host.
	Announces []netip.Prefix `json:"announces,omitempty"`
	// Transit says that peers of other autonomous systems also hear what the speaker has
	// learned, as from a router. A node tells them of its own pods only.
	Transit bool   `json:"transit,omitempty"`
	Peers   []Peer `json:"peers"`
	// Hops say how the host reaches the next hops of what it learns. A path whose next hop
	// is not among them is not used.
	Hops []Hop `json:"hops,omitempty"`
	// Written are prefixes to which the host has routes of another origin, which it prefers.
	Written []netip.Prefix `json:"written,omitempty"`
	Origin  origin.Ref     `json:"origin,omitzero"`
}

// Peer is one session of a speaker, by TCP between two addresses.
type Peer struct {
	Name  string     `json:"name"` // of the host
	Addr  netip.Addr `json:"address"`
	Local netip.Addr `json:"local"`
	AS    uint32     `json:"as"`
	// NextHops are the speaker's own addresses on the link, one per IP family: where the
	// peer should send what is for the prefixes that it hears of.
	NextHops []netip.Addr `json:"nextHops"`
	// Client says that the speaker is a route reflector, and the peer its client.
	Client bool `json:"client,omitempty"`
	// Down says that the session cannot be established: in a plan, because of a fault that
	// is staged; of a running speaker, that it is not.
	Down   bool       `json:"down,omitempty"`
	Origin origin.Ref `json:"origin,omitzero"`
}

// Hop is how a host reaches a next hop.
type Hop struct {
	To     netip.Addr   `json:"to"`
	Via    netip.Addr   `json:"via"` // To itself where it is on the link, else a gateway
	More   []netip.Addr `json:"more,omitempty"`
	Dev    string       `json:"dev"`
	OnLink bool         `json:"onlink,omitempty"`
}

// Internal reports whether a peer is in the speaker's own autonomous system.
func (s *Speaker) Internal(p *Peer) bool { return p.AS == s.AS }

// Listens reports whether the peer is the one that connects. That one of two is enough, and
// the same one each time, so that no two connections collide: the one with the higher address.
func (p *Peer) Listens() bool { return p.Local.Less(p.Addr) }

// HopTo finds how the host reaches a next hop.
func (s *Speaker) HopTo(a netip.Addr) (Hop, bool) {
	i := slices.IndexFunc(s.Hops, func(h Hop) bool { return h.To == a })
	if i < 0 {
		return Hop{}, false
	}
	return s.Hops[i], true
}

// Same reports whether two speakers are told the same, whatever sessions they have.
func (s *Speaker) Same(t *Speaker) bool {
	return s.AS == t.AS && s.ID == t.ID && s.Transit == t.Transit && slices.Equal(s.Announces, t.Announces) && slices.Equal(s.Written, t.Written) &&
		slices.EqualFunc(s.Peers, t.Peers, func(a, b Peer) bool { return a.Same(&b) }) && slices.EqualFunc(s.Hops, t.Hops, func(a, b Hop) bool { return a.Same(&b) })
}

// SameSessions reports whether the same sessions of two equal speakers are down.
func (s *Speaker) SameSessions(t *Speaker) bool {
	return slices.EqualFunc(s.Peers, t.Peers, func(a, b Peer) bool { return a.Down == b.Down })
}

// Same reports whether two sessions are the same, up or down.
func (p *Peer) Same(q *Peer) bool {
	return p.Name == q.Name && p.Addr == q.Addr && p.Local == q.Local && p.AS == q.AS && p.Client == q.Client && slices.Equal(p.NextHops, q.NextHops)
}

// Same reports whether two hops are the same.
func (h *Hop) Same(g *Hop) bool {
	return h.To == g.To && h.Via == g.Via && h.Dev == g.Dev && h.OnLink == g.OnLink && slices.Equal(h.More, g.More)
}

// Words describes the speaker.
func (s *Speaker) Words() string { return fmt.Sprintf("AS %d, router ID %s", s.AS, s.ID) }

// Words describes the session.
func (p *Peer) Words() string {
	s := fmt.Sprintf("%s (%s, AS %d)", p.Name, p.Addr, p.AS)
	if p.Client {
		s += ", route reflector client"
	}
	return s
}
