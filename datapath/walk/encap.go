package walk

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/netlab/netlab/datapath/flow"
	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/datapath/walk/network"
	"github.com/netlab/netlab/datapath/walk/trace"
)

// maxTunnels is how deep packets may be encapsulated; the kernel's own limit
// (IP_TUNNEL_RECURSION_LIMIT) is about the same.
const maxTunnels = 4

// tunnel encapsulates a packet in a datagram for the VTEP behind which the next hop is,
// and decapsulates it there.
func (r *run) tunnel(dev *network.Link, next netip.Addr, p *packet) *fate {
	h := dev.Host
	if p.depth >= maxTunnels {
		return r.lose(h, p, "%s in %s: endlessly nested tunnels", dev.Name, h.Name)
	}
	mac, ok := r.w.TunnelNeighbour(dev, next)
	if !ok {
		return r.lose(h, p, "%s in %s has no neighbour entry for %s", dev.Name, h.Name, next).as(noAnswer)
	}
	to, ok := h.Forwarding(dev, mac)
	if !ok {
		return r.lose(h, p, "%s in %s has no forwarding entry for %s", dev.Name, h.Name, macText(mac))
	}
	outer := &packet{proto: flow.UDP, tunnel: flow.InVXLAN, ttl: 64, mark: p.mark, depth: p.depth + 1,
		src: netip.AddrPortFrom(h.TunnelSource(dev, to), 0), dst: netip.AddrPortFrom(to, uint16(dev.VXLAN.Port))}
	r.step(p, trace.Step{Kind: trace.Encap, Netns: h.Name, Out: dev.Name,
		Text: fmt.Sprintf("VXLAN %d to %s, for %s", dev.VXLAN.ID, to, macText(mac))})
	arrived := r.carry(h, outer, p)
	if arrived.kind != delivered {
		return arrived
	}
	return r.untunnel(arrived.h, dev, mac, outer, p)
}

// carry sends the packet around another. The sender of the inner one does not learn what
// becomes of it.
func (r *run) carry(h *network.Host, outer, inner *packet) *fate {
	outer.inner = inner
	arrived := r.originate(h, outer)
	if arrived.kind != delivered {
		arrived.p, arrived.told = inner, false
		if arrived.kind != broken {
			arrived.kind, arrived.why = dropped, "the encapsulated packet is lost: "+arrived.why
		}
	}
	return arrived
}

// untunnel decapsulates a packet from the datagram that arrived at a host.
func (r *run) untunnel(h *network.Host, from *network.Link, mac [6]byte, outer, p *packet) *fate {
	dev := h.VTEP(from.VXLAN.ID, outer.dst)
	if dev == nil {
		return r.lose(h, p, "%s has no VXLAN device %d on port %d", h.Name, from.VXLAN.ID, outer.dst.Port())
	}
	p.leaveNetns()
	p.mark = outer.mark // kept by skb_scrub_packet inside one namespace
	r.step(p, trace.Step{Kind: trace.Decap, Netns: h.Name, In: dev.Name, Text: fmt.Sprintf("VXLAN %d", dev.VXLAN.ID)})
	if dev.MAC != mac {
		return r.lose(h, p, "%s in %s is not %s: the frame is for another host", dev.Name, h.Name, macText(mac))
	}
	return r.receive(h, dev, p, false)
}

func macText(m [6]byte) string {
	return fmt.Sprintf("%02x:%02x:%02x:%02x:%02x:%02x", m[0], m[1], m[2], m[3], m[4], m[5])
}

// ipInIP is the protocol of a packet with an IPv4 packet in it.
const ipInIP = flow.Protocol(plan.IPIP)

// ipip puts a packet into another, for the gateway of its route, and takes it out there
// (ip_tunnel_xmit in net/ipv4/ip_tunnel.c).
func (r *run) ipip(dev *network.Link, next netip.Addr, p *packet) *fate {
	h := dev.Host
	if p.depth >= maxTunnels {
		return r.lose(h, p, "%s in %s: endlessly nested tunnels", dev.Name, h.Name)
	}
	if p.ipv6() || !next.Is4() {
		return r.lose(h, p, "%s in %s carries IPv4 only", dev.Name, h.Name)
	}
	to, ok := h.Lookup(next)
	if !ok {
		return r.lose(h, p, "%s", to.Why(h, next))
	}
	outer := &packet{proto: ipInIP, tunnel: flow.InIPIP, ttl: p.ttl, mark: p.mark, depth: p.depth + 1,
		src: netip.AddrPortFrom(h.Source(next, to), 0), dst: netip.AddrPortFrom(next, 0)}
	r.step(p, trace.Step{Kind: trace.Encap, Netns: h.Name, Out: dev.Name, Text: fmt.Sprintf("IPIP to %s", next)})
	arrived := r.carry(h, outer, p)
	if arrived.kind != delivered {
		return arrived
	}
	there := arrived.h
	in := there.IPIP()
	if in == nil {
		return r.lose(there, p, "%s has no IPIP device", there.Name)
	}
	p.leaveNetns()
	p.mark = outer.mark
	r.step(p, trace.Step{Kind: trace.Decap, Netns: there.Name, In: in.Name, Text: "IPIP"})
	return r.receive(there, in, p, false)
}

// hand gives a packet to the program behind a TUN device. The program looks at nothing but
// the destination: it sends the packet to the node that has it, in a datagram.
func (r *run) hand(dev *network.Link, p *packet) *fate {
	h, dst := dev.Host, p.dst.Addr()
	t := h.Tunnel(dev.Name)
	switch {
	case p.depth >= maxTunnels:
		return r.lose(h, p, "%s in %s: endlessly nested tunnels", dev.Name, h.Name)
	case t == nil:
		return r.lose(h, p, "no program reads from %s in %s", dev.Name, h.Name)
	case slices.ContainsFunc(t.Pods, func(c netip.Prefix) bool { return c.Contains(dst) }):
		return r.lose(h, p, "the tunnel of %s in %s does not send packets for its own pods", dev.Name, h.Name)
	}
	to, ok := network.Behind(t, dst)
	if !ok {
		f := r.refuse(h, p, NetUnreachable, "the tunnel of %s in %s knows no node for %s", dev.Name, h.Name, dst)
		f.from = dev
		return f
	}
	outer := &packet{proto: flow.UDP, tunnel: flow.InUDP, hides: t.Secret != "", ttl: 64, depth: p.depth + 1, src: t.At, dst: to.Node}
	what := "UDP to " + to.Node.String()
	if t.Secret != "" {
		what += ", encrypted"
	}
	r.step(p, trace.Step{Kind: trace.Encap, Netns: h.Name, Out: dev.Name, Text: what})
	arrived := r.carry(h, outer, p)
	if arrived.kind != delivered {
		return arrived
	}
	return r.take(arrived.h, t.Secret, outer, p)
}

// take is the other end: the program checks who sent the datagram, and writes the packet
// in it to its own device.
func (r *run) take(h *network.Host, secret string, outer, p *packet) *fate {
	t := h.TunnelAt(outer.dst)
	switch {
	case t == nil:
		return r.lose(h, p, "no tunnel in %s receives on udp %s", h.Name, outer.dst)
	case !network.Knows(t, outer.src):
		return r.lose(h, p, "the tunnel of %s in %s does not know the sender %s", t.Link, h.Name, outer.src)
	case t.Secret != secret:
		return r.lose(h, p, "the tunnel of %s in %s has another key", t.Link, h.Name)
	}
	dev := h.Device(t.Link)
	if dev == nil {
		return r.lose(h, p, "%s has no device %s", h.Name, t.Link)
	}
	p.leaveNetns()
	r.step(p, trace.Step{Kind: trace.Decap, Netns: h.Name, In: dev.Name, Text: fmt.Sprintf("UDP from %s", outer.src)})
	return r.receive(h, dev, p, false)
}
