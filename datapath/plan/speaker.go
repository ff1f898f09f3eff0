package plan

import (
	"slices"

	"github.com/netlab/netlab/datapath/plan/bgp"
)

// Learn replaces the routes of protocol BGP by those that the speakers of the plan learn from
// each other once all that can be established is.
func (p *Plan) Learn() {
	var speakers []*bgp.Speaker
	var of []*Netns
	for i := range p.Netns {
		n := &p.Netns[i]
		if len(n.Speakers) == 0 {
			continue
		}
		speakers, of = append(speakers, &n.Speakers[0]), append(of, n)
		n.Routes = reject(n.Routes, func(r Route) bool { return r.Protocol == BGP })
	}
	for i, t := range bgp.Converge(speakers) {
		for _, to := range t.Prefixes() {
			if hop, from, ok := t.Best(to); ok {
				of[i].Routes = append(of[i].Routes, Route{To: to, Via: hop.Via, More: hop.More, Dev: hop.Dev, OnLink: hop.OnLink, Protocol: BGP, Origin: from.Origin})
			}
		}
	}
}

// Learned are the routes that the speaker of a namespace learns.
func (n *Netns) Learned() []Route {
	return reject(n.Routes, func(r Route) bool { return r.Protocol != BGP })
}

// Written returns the changes without what speakers do by themselves: they set the routes
// that they learn, and establish sessions.
func (c Changes) Written() Changes {
	learned := func(r Route) bool { return r.Protocol == BGP }
	edits := c.Edit
	c.Edit = nil
	for _, e := range edits {
		e.Add.Routes, e.Change.Routes = reject(e.Add.Routes, learned), reject(e.Change.Routes, learned)
		e.Change.Speakers = nil
		if !e.empty() {
			c.Edit = append(c.Edit, e)
		}
	}
	return c
}

func sameSpeaker(a, b bgp.Speaker) bool { return a.Same(&b) && a.SameSessions(&b) }

// sortSpeakers puts peers and hops into canonical order.
func sortSpeakers(n *Netns) {
	for i := range n.Speakers {
		s := &n.Speakers[i]
		slices.SortStableFunc(s.Peers, func(a, b bgp.Peer) int { return a.Addr.Compare(b.Addr) })
		slices.SortStableFunc(s.Hops, func(a, b bgp.Hop) int { return a.To.Compare(b.To) })
	}
}
