package walk

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/netlab/netlab/datapath/flow"
	"github.com/netlab/netlab/datapath/plan"
)

// maxTunnels is how deep packets may be encapsulated; the kernel's own limit
// (IP_TUNNEL_RECURSION_LIMIT) is about the same.
const maxTunnels = 4

// tunnel encapsulates a packet in a datagram for the VTEP behind which the next hop is,
// and decapsulates it there.
func (r *run) tunnel(dev *link, next netip.Addr, p *packet) fate {
	h := dev.host
	if p.depth >= maxTunnels {
		return r.lose(h, p, "%s in %s: endlessly nested tunnels", dev.Name, h.Name)
	}
	mac, ok := r.w.tunnelNeighbour(dev, next)
	if !ok {
		f := r.lose(h, p, "%s in %s has no neighbour entry for %s", dev.Name, h.Name, next)
		f.kind = noAnswer
		return f
	}
	to, ok := h.forwarding(dev, mac)
	if !ok {
		return r.lose(h, p, "%s in %s has no forwarding entry for %s", dev.Name, h.Name, macText(mac))
	}
	outer := &packet{proto: flow.UDP, ttl: 64, mark: p.mark, depth: p.depth + 1,
		src: netip.AddrPortFrom(h.tunnelSource(dev, to), 0), dst: netip.AddrPortFrom(to, uint16(dev.VXLAN.Port))}
	r.step(p, Step{Kind: Encap, Netns: h.Name, Out: dev.Name,
		Text: fmt.Sprintf("VXLAN %d to %s, for %s", dev.VXLAN.ID, to, macText(mac))})
	arrived := r.originate(h, outer)
	if arrived.kind != delivered {
		arrived.p, arrived.told = p, false
		if arrived.kind != broken {
			// The sender of the inner packet does not learn the fate of the outer one.
			arrived.kind, arrived.why = dropped, "the encapsulated packet is lost: "+arrived.why
		}
		return arrived
	}
	return r.untunnel(arrived.h, dev, mac, outer, p)
}

// untunnel decapsulates a packet from the datagram that arrived at a host.
func (r *run) untunnel(h *host, from *link, mac [6]byte, outer, p *packet) fate {
	i := slices.IndexFunc(h.order, func(l *link) bool {
		return l.Type == plan.VXLAN && l.VXLAN.ID == from.VXLAN.ID && l.VXLAN.Port == int(outer.dst.Port())
	})
	if i < 0 {
		return r.lose(h, p, "%s has no VXLAN device %d on port %d", h.Name, from.VXLAN.ID, outer.dst.Port())
	}
	dev := h.order[i]
	p.leaveNetns()
	p.mark = outer.mark // kept by skb_scrub_packet inside one namespace
	r.step(p, Step{Kind: Decap, Netns: h.Name, In: dev.Name, Text: fmt.Sprintf("VXLAN %d", dev.VXLAN.ID)})
	if dev.MAC != mac {
		return r.lose(h, p, "%s in %s is not %s: the frame is for another host", dev.Name, h.Name, macText(mac))
	}
	return r.receive(h, dev, p, false)
}

// tunnelNeighbour returns the MAC of a neighbour behind a tunnel: that of its permanent
// entry, or what resolution by broadcast to the VTEPs would return.
func (w *World) tunnelNeighbour(dev *link, next netip.Addr) ([6]byte, bool) {
	if mac, ok := dev.host.permanent(dev, next); ok {
		return mac, true
	}
	for _, e := range dev.host.FDB {
		if e.Link != dev.Name || e.MAC != ([6]byte{}) {
			continue
		}
		for _, owner := range w.owners[e.Dst] {
			h := w.host(owner.Name)
			for _, l := range h.order {
				if l.Type == plan.VXLAN && l.VXLAN.ID == dev.VXLAN.ID && h.local[next] {
					return l.MAC, true
				}
			}
		}
	}
	return [6]byte{}, false
}

// forwarding returns the VTEP to which frames for a MAC go.
func (h *host) forwarding(dev *link, mac [6]byte) (netip.Addr, bool) {
	for _, want := range [][6]byte{mac, {}} {
		for _, e := range h.FDB {
			if e.Link == dev.Name && e.MAC == want {
				return e.Dst, true
			}
		}
	}
	return netip.Addr{}, false
}

func (h *host) tunnelSource(dev *link, to netip.Addr) netip.Addr {
	if dev.VXLAN.Local.IsValid() {
		return dev.VXLAN.Local
	}
	if via, ok := h.lookup(to); ok {
		return h.source(to, via)
	}
	return netip.Addr{}
}

func macText(m [6]byte) string {
	return fmt.Sprintf("%02x:%02x:%02x:%02x:%02x:%02x", m[0], m[1], m[2], m[3], m[4], m[5])
}

// tunnelSocket returns the VXLAN device whose socket takes a packet; nil: none does. The
// socket is of the family of the device's own address (vxlan_sock_add in
// drivers/net/vxlan/vxlan_core.c).
func (h *host) tunnelSocket(p *packet) *link {
	for _, l := range h.order {
		if l.Type == plan.VXLAN && p.proto == flow.UDP && l.VXLAN.Port == int(p.dst.Port()) && l.VXLAN.Local.Is6() == p.ipv6() {
			return l
		}
	}
	return nil
}
