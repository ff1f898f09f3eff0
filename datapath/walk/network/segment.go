package network

import (
	"net/netip"
	"slices"

	"github.com/netlab/netlab/datapath/plan"
)

// Path finds the path of a frame inside a segment, that is over veths and bridges: it
// maps each link on the path to the next. Nil: there is none.
func (w *World) Path(from, to *Link) map[*Link]*Link {
	w.mu.Lock()
	defer w.mu.Unlock()
	key := [2]*Link{from, to}
	next, known := w.paths[key]
	if !known {
		next = w.findPath(from, to)
		w.paths[key] = next
	}
	return next
}

// findPath searches backwards from the target: most hosts have one link on one bridge,
// so the path is found before the bridge's other ports are searched.
func (w *World) findPath(from, to *Link) map[*Link]*Link {
	next, found := w.search(to, func(l *Link) bool { return l == from })
	if found == nil {
		return nil
	}
	return next
}

// search goes through the segment of a link, nearest first, until it finds one. It also
// maps each link on the way to the one that it was reached from.
func (w *World) search(start *Link, wanted func(*Link) bool) (from map[*Link]*Link, found *Link) {
	from = map[*Link]*Link{start: start}
	if wanted(start) {
		return from, start
	}
	for queue := []*Link{start}; len(queue) > 0; queue = queue[1:] {
		for _, n := range w.neighbours(queue[0]) {
			if from[n] != nil {
				continue
			}
			if from[n] = queue[0]; wanted(n) {
				return from, n
			}
			queue = append(queue, n)
		}
	}
	return from, nil
}

// neighbours are the links that a frame can come from or go to directly.
func (w *World) neighbours(l *Link) []*Link {
	var list []*Link
	if p := w.Peer(l); p != nil {
		list = append(list, p)
	}
	if m := l.Bridge(); m != nil {
		list = append(list, m)
	}
	if l.Type == plan.Bridge {
		for _, port := range l.Host.order {
			if port.Master == l.Name && port.Type != plan.VXLAN {
				list = append(list, port)
			}
		}
	}
	return list
}

// Bridge is the bridge that the link is a port of, or nil.
func (l *Link) Bridge() *Link {
	if l.Master == "" {
		return nil
	}
	if m := l.Host.links[l.Master]; m != nil && m.Type == plan.Bridge && m != l {
		return m
	}
	return nil
}

// Neighbour finds the device that takes frames for an address on a link: by a
// permanent entry, or by asking (ARP, neighbour discovery). It returns nil if no
// host answers.
func (w *World) Neighbour(dev *Link, next netip.Addr) *Link {
	if mac, ok := dev.Host.permanent(dev, next); ok {
		return w.deviceWith(dev, mac)
	}
	for _, h := range w.owners[next] {
		if l := w.answers(w.Host(h.Name), dev, next); l != nil {
			return l
		}
	}
	if next.Is4() {
		return w.proxyARP(dev, next)
	}
	return nil
}

// permanent returns the plan's neighbour entry.
func (h *Host) permanent(dev *Link, next netip.Addr) ([6]byte, bool) {
	for _, n := range h.Neighs {
		if n.Link == dev.Name && n.Addr == next {
			return n.MAC, true
		}
	}
	return [6]byte{}, false
}

// answers returns the device by which a host that has the address answers on the
// segment of dev. IPv4 answers for any of its addresses on any link unless told
// otherwise, IPv6 only for those of the link itself.
func (w *World) answers(h *Host, dev *Link, next netip.Addr) *Link {
	for _, l := range h.order {
		if l == dev || l.Bridge() != nil || l == h.Lo {
			continue
		}
		onIt := slices.ContainsFunc(h.addrs, func(a address) bool { return a.link == l && a.prefix.Addr() == next })
		if (next.Is4() && !h.onlyOwn(l) || onIt) && w.Path(dev, l) != nil {
			return l
		}
	}
	return nil
}

// onlyOwn reports whether a link answers only for its own addresses (arp_ignore of 1 or
// more; the larger of the two settings counts).
func (h *Host) onlyOwn(l *Link) bool {
	return h.Sysctl("net.ipv4.conf.all.arp_ignore") || h.Sysctl("net.ipv4.conf."+l.Name+".arp_ignore")
}

// proxyARP returns the other end of the link when that answers for addresses that it
// can route to by another link (proxy_arp).
func (w *World) proxyARP(dev *Link, next netip.Addr) *Link {
	p := w.Peer(dev)
	if p == nil {
		return nil
	}
	if m := p.Bridge(); m != nil {
		p = m
	}
	h := p.Host
	if !h.Either(p, "proxy_arp") || !h.Forwards(p, false) {
		return nil
	}
	if to, ok := h.Lookup(next); !ok || to.Local || to.Dev == p {
		return nil
	}
	return p
}

func (w *World) deviceWith(dev *Link, mac [6]byte) *Link {
	_, found := w.search(dev, func(l *Link) bool { return l != dev && l.MAC == mac && l.Bridge() == nil })
	return found
}
