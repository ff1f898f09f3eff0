package network

import (
	"net/netip"
	"sync"

	"github.com/netlab/netlab/datapath/plan"
)

// World is the network namespaces of a plan. Each is indexed when the first packet visits
// it, so that the cost of a walk depends on what it touches, not on the size of the lab.
type World struct {
	hosts  map[string]*Host
	served map[string]bool        // agents that answer DNS queries, by name
	owners map[netip.Addr][]*Host // who has an address, in the order of the plan

	mu    sync.Mutex
	paths map[[2]*Link]map[*Link]*Link // see path
}

// New returns the namespaces of a plan.
func New(p *plan.Plan) *World {
	w := &World{hosts: map[string]*Host{}, served: map[string]bool{}, owners: map[netip.Addr][]*Host{}, paths: map[[2]*Link]map[*Link]*Link{}}
	if p == nil {
		return w
	}
	for i := range p.Netns {
		n := &p.Netns[i]
		if w.hosts[n.Name] != nil {
			continue
		}
		h := &Host{Netns: n}
		w.hosts[n.Name] = h
		for _, a := range n.Addrs {
			if ip := a.Prefix.Addr(); h.Speaks(ip) {
				w.owners[ip] = append(w.owners[ip], h)
			}
		}
		for k := range n.Agents {
			if n.Agents[k].DNS {
				w.served[n.Agents[k].Name] = true
			}
		}
		for _, r := range n.Routes {
			if ip := r.To.Addr(); r.Local && r.To.IsSingleIP() && h.Speaks(ip) {
				w.owners[ip] = append(w.owners[ip], h)
			}
		}
	}
	return w
}

// NameServer reports whether an agent answers DNS queries.
func (w *World) NameServer(name string) bool { return w.served[name] }

// Host returns a namespace with its index, or nil.
func (w *World) Host(name string) *Host {
	h := w.hosts[name]
	if h != nil {
		h.once.Do(h.index)
	}
	return h
}

// Peer is the other end of a veth, or nil: an incomplete pair is down.
func (w *World) Peer(l *Link) *Link {
	if l.Type != plan.Veth {
		return nil
	}
	h := w.Host(l.Peer.Netns)
	if h == nil {
		return nil
	}
	other := h.links[l.Peer.Link]
	if other == nil || other.Type != plan.Veth || other.Peer != (plan.Peer{Netns: l.Host.Name, Link: l.Name}) {
		return nil
	}
	return other
}
