package walk

import (
	"net/netip"
	"slices"

	"github.com/netlab/netlab/datapath/plan"
)

// path finds the path of a frame inside a segment, that is over veths and bridges: it
// maps each link on the path to the next. Nil: there is none.
func (w *World) path(from, to *link) map[*link]*link {
	w.mu.Lock()
	defer w.mu.Unlock()
	key := [2]*link{from, to}
	next, known := w.paths[key]
	if !known {
		next = w.findPath(from, to)
		w.paths[key] = next
	}
	return next
}

// findPath searches backwards from the target: most hosts have one link on one bridge,
// so the path is found before the bridge's other ports are searched.
func (w *World) findPath(from, to *link) map[*link]*link {
	next := map[*link]*link{to: to}
	queue := []*link{to}
	for len(queue) > 0 && next[from] == nil {
		l := queue[0]
		queue = queue[1:]
		for _, n := range w.neighbours(l) {
			if next[n] == nil {
				next[n] = l
				queue = append(queue, n)
			}
		}
	}
	if next[from] == nil {
		return nil
	}
	return next
}

// neighbours are the links that a frame can come from or go to directly.
func (w *World) neighbours(l *link) []*link {
	var list []*link
	if p := w.peer(l); p != nil {
		list = append(list, p)
	}
	if m := l.master(); m != nil {
		list = append(list, m)
	}
	if l.Type == plan.Bridge {
		for _, port := range l.host.order {
			if port.Master == l.Name && port.Type != plan.VXLAN {
				list = append(list, port)
			}
		}
	}
	return list
}

// master is the bridge that the link is a port of, or nil.
func (l *link) master() *link {
	if l.Master == "" {
		return nil
	}
	if m := l.host.links[l.Master]; m != nil && m.Type == plan.Bridge && m != l {
		return m
	}
	return nil
}

// neighbour finds the device that takes frames for an address on a link: by a
// permanent entry, or by asking (ARP, neighbour discovery). It returns nil if no
// host answers.
func (w *World) neighbour(dev *link, next netip.Addr) *link {
	if mac, ok := dev.host.permanent(dev, next); ok {
		return w.deviceWith(dev, mac)
	}
	for _, h := range w.owners[next] {
		if l := w.answers(w.host(h.Name), dev, next); l != nil {
			return l
		}
	}
	if next.Is4() {
		return w.proxyARP(dev, next)
	}
	return nil
}

// permanent returns the plan's neighbour entry.
func (h *host) permanent(dev *link, next netip.Addr) ([6]byte, bool) {
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
func (w *World) answers(h *host, dev *link, next netip.Addr) *link {
	for _, l := range h.order {
		if l == dev || l.master() != nil || l == h.lo {
			continue
		}
		onIt := slices.ContainsFunc(h.addrs, func(a address) bool { return a.link == l && a.prefix.Addr() == next })
		if (next.Is4() && !h.onlyOwn(l) || onIt) && w.path(dev, l) != nil {
			return l
		}
	}
	return nil
}

// onlyOwn reports whether a link answers only for its own addresses (arp_ignore of 1 or
// more; the larger of the two settings counts).
func (h *host) onlyOwn(l *link) bool {
	return h.sysctl("net.ipv4.conf.all.arp_ignore") || h.sysctl("net.ipv4.conf."+l.Name+".arp_ignore")
}

// proxyARP returns the other end of the link when that answers for addresses that it
// can route to by another link (proxy_arp).
func (w *World) proxyARP(dev *link, next netip.Addr) *link {
	p := w.peer(dev)
	if p == nil {
		return nil
	}
	if m := p.master(); m != nil {
		p = m
	}
	h := p.host
	if !h.either(p, "proxy_arp") || !h.forwards(p, false) {
		return nil
	}
	if to, ok := h.lookup(next); !ok || to.local || to.dev == p {
		return nil
	}
	return p
}

// deviceWith returns the device with a MAC on the segment of dev, or nil.
func (w *World) deviceWith(dev *link, mac [6]byte) *link {
	seen := map[*link]bool{dev: true}
	for queue := []*link{dev}; len(queue) > 0; queue = queue[1:] {
		for _, l := range w.neighbours(queue[0]) {
			if seen[l] {
				continue
			}
			seen[l] = true
			if l.MAC == mac && l.master() == nil {
				return l
			}
			queue = append(queue, l)
		}
	}
	return nil
}
