package walk

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/netlab/netlab/datapath/flow"
	"github.com/netlab/netlab/datapath/walk/network"
	"github.com/netlab/netlab/datapath/walk/trace"
)

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
