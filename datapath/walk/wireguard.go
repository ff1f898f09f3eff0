package walk

import (
	"fmt"
	"net/netip"

	"github.com/netlab/netlab/datapath/flow"
	"github.com/netlab/netlab/datapath/plan/occupant"
	"github.com/netlab/netlab/datapath/walk/network"
	"github.com/netlab/netlab/datapath/walk/trace"
)

// wireGuard gives a packet to a WireGuard device, which sends it to the peer that may have
// its destination (wg_xmit in drivers/net/wireguard/device.c).
func (r *run) wireGuard(dev *network.Link, p *packet) *fate {
	h, dst := dev.Host, p.dst.Addr()
	t := h.Tunnel(dev.Name)
	if p.depth >= maxTunnels {
		return r.lose(h, p, "%s in %s: endlessly nested tunnels", dev.Name, h.Name)
	}
	if t == nil {
		return r.lose(h, p, "%s in %s has no key", dev.Name, h.Name)
	}
	to, ok := network.Behind(t, dst)
	if !ok {
		return r.lose(h, p, "no peer of %s in %s has %s among its allowed IPs", dev.Name, h.Name, dst)
	}
	via, ok := h.Lookup(to.Node.Addr())
	if !ok {
		return r.lose(h, p, "%s", via.Why(h, to.Node.Addr()))
	}
	outer := &packet{proto: flow.UDP, tunnel: flow.InWireGuard, hides: true, ttl: 64, depth: p.depth + 1, dst: to.Node,
		src: netip.AddrPortFrom(h.Source(to.Node.Addr(), via), t.At.Port())}
	r.step(p, trace.Step{Kind: trace.Encap, Netns: h.Name, Out: dev.Name, Text: fmt.Sprintf("WireGuard to %s, which has %s among its allowed IPs", to.Node, to.Pods)})
	arrived := r.carry(h, outer, p)
	if arrived.kind != delivered {
		return arrived
	}
	return r.unwrap(arrived.h, h, t, to.Key, outer, p)
}

// unwrap is the other end: with a session, the device decrypts the packet, and takes it only
// from the peer that may have its source (wg_packet_consume_data_done in receive.c).
func (r *run) unwrap(h, from *network.Host, sender *occupant.Tunnel, key occupant.Key, outer, p *packet) *fate {
	t := h.TunnelAt(outer.dst)
	if t == nil || !t.WireGuard() {
		return r.lose(h, p, "no WireGuard device in %s receives on udp port %d", h.Name, outer.dst.Port())
	}
	known := sender.Key.Public()
	if t.Key.Public() != key {
		return r.lose(h, p, "no session: %s in %s has another key than %s in %s expects", t.Link, h.Name, sender.Link, from.Name)
	}
	if !network.KnowsKey(t, known) {
		return r.lose(h, p, "no session: %s in %s does not know the key of %s in %s", t.Link, h.Name, sender.Link, from.Name)
	}
	if why := r.handshake(h, from, outer); why != "" {
		return r.lose(h, p, "no session: the answer to the handshake is lost: %s", why)
	}
	if peer, ok := network.Behind(t, p.src.Addr()); !ok || peer.Key != known {
		return r.lose(h, p, "%s in %s drops it: %s is not among the allowed IPs of the sender", t.Link, h.Name, p.src.Addr())
	}
	dev := h.Device(t.Link)
	if dev == nil {
		return r.lose(h, p, "%s has no device %s", h.Name, t.Link)
	}
	p.leaveNetns()
	r.step(p, trace.Step{Kind: trace.Decap, Netns: h.Name, In: dev.Name, Text: fmt.Sprintf("WireGuard from %s, which has %s among its allowed IPs", outer.src, p.src.Addr())})
	return r.receive(h, dev, p, false)
}

// handshake follows the answer to the first datagram of a session, and says why it is lost.
func (r *run) handshake(h, to *network.Host, outer *packet) string {
	mark, passed := len(r.steps), len(r.passed)
	answer := &packet{kind: reply, proto: flow.UDP, ttl: 64, depth: outer.depth, src: outer.dst, dst: outer.src}
	f := r.originate(h, answer)
	r.steps, r.passed = r.steps[:mark], r.passed[:passed] // the way of the packet itself is what matters
	switch {
	case f.kind != delivered:
		return f.why
	case f.h != to:
		return fmt.Sprintf("it reaches %s", f.h.Name)
	}
	return ""
}
