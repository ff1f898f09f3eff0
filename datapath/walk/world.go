package walk

import (
	"net/netip"
	"sync"

	"github.com/netlab/netlab/datapath/plan"
)

// World is a plan that is ready to be walked. Network namespaces are indexed when the
// first packet visits them, so that the cost of a walk depends on what it touches, not
// on the size of the lab. A World may be used by several goroutines; the plan must not
// change any more.
type World struct {
	hosts  map[string]*host
	owners map[netip.Addr][]*host // who has an address, in the order of the plan

	mu    sync.Mutex
	paths map[[2]*link]map[*link]*link // see path
}

// New returns the world of a plan.
func New(p *plan.Plan) *World {
	w := &World{hosts: map[string]*host{}, owners: map[netip.Addr][]*host{}, paths: map[[2]*link]map[*link]*link{}}
	if p == nil {
		return w
	}
	for i := range p.Netns {
		n := &p.Netns[i]
		if w.hosts[n.Name] != nil {
			continue
		}
		h := &host{Netns: n}
		w.hosts[n.Name] = h
		for _, a := range n.Addrs {
			if ip := a.Prefix.Addr(); h.speaks(ip) {
				w.owners[ip] = append(w.owners[ip], h)
			}
		}
		for _, r := range n.Routes {
			if ip := r.To.Addr(); r.Local && r.To.IsSingleIP() && h.speaks(ip) {
				w.owners[ip] = append(w.owners[ip], h)
			}
		}
	}
	return w
}

// host returns a namespace with its index, or nil.
func (w *World) host(name string) *host {
	h := w.hosts[name]
	if h != nil {
		h.once.Do(h.index)
	}
	return h
}

// peer is the other end of a veth, or nil: an incomplete pair is down.
func (w *World) peer(l *link) *link {
	if l.Type != plan.Veth {
		return nil
	}
	h := w.host(l.Peer.Netns)
	if h == nil {
		return nil
	}
	other := h.links[l.Peer.Link]
	if other == nil || other.Type != plan.Veth || other.Peer != (plan.Peer{Netns: l.host.Name, Link: l.Name}) {
		return nil
	}
	return other
}
