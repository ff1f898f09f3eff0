package fault

import (
	"net/netip"
	"slices"

	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/datapath/plan/bgp"
)

// cutSessions ends BGP sessions, at both ends, and withdraws what was learned through them.
func (d *damage) cutSessions(cut func(n *plan.Netns, p *bgp.Peer) bool) {
	down := map[[2]netip.Addr]bool{}
	for i := range d.plan.Netns {
		n := &d.plan.Netns[i]
		n.Speakers = slices.Clone(n.Speakers)
		for k := range n.Speakers {
			s := &n.Speakers[k]
			s.Peers = slices.Clone(s.Peers)
			for j := range s.Peers {
				if p := &s.Peers[j]; cut(n, p) {
					down[[2]netip.Addr{p.Local, p.Addr}], down[[2]netip.Addr{p.Addr, p.Local}] = true, true
				}
			}
		}
	}
	for i := range d.plan.Netns {
		for k := range d.plan.Netns[i].Speakers {
			for j := range d.plan.Netns[i].Speakers[k].Peers {
				p := &d.plan.Netns[i].Speakers[k].Peers[j]
				p.Down = p.Down || down[[2]netip.Addr{p.Local, p.Addr}]
			}
		}
	}
	d.plan.Learn()
}
