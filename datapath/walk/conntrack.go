package walk

import (
	"net/netip"

	"github.com/netlab/netlab/datapath/flow"
	"github.com/netlab/netlab/datapath/walk/network"
	"github.com/netlab/netlab/datapath/walk/trace"
)

// tuple is what connection tracking identifies a packet by.
type tuple struct {
	proto    flow.Protocol
	src, dst netip.AddrPort
}

func (t tuple) inverse() tuple { return tuple{t.proto, t.dst, t.src} }

// conn is an entry of one namespace's connection table: the tuple of its first packet,
// and that of the expected replies. Without NAT they are the inverse of each other.
type conn struct {
	orig, reply tuple
	dnat, snat  bool
	mark        uint32 // ct mark
	// Whether the nat table was consulted for a destination and a source. It is
	// consulted once per connection and kind, with the first packet.
	dstDone, srcDone bool
	confirmed        bool // the first packet passed all hooks
	replied          bool
	tunnel           bool // its packets are around others
}

// manip is what a hook may rewrite: PREROUTING and OUTPUT the destination, INPUT
// and POSTROUTING the source.
type manip bool

const (
	dstManip manip = true
	srcManip manip = false
)

// track finds or creates the connection of a packet and sets its state, as at
// PREROUTING and OUTPUT.
func (r *run) track(h *network.Host, p *packet) {
	if p.conn != nil || p.state != "" || !h.Tracks(p.ipv6()) {
		return // it came over lo, or is a kernel's reply that knows its connection
	}
	if p.kind == failure {
		r.trackFailure(h, p)
		return
	}
	t := p.tuple()
	for _, c := range r.conns[h] {
		switch {
		case !c.confirmed:
		case t == c.reply:
			c.replied = true
			p.conn, p.back, p.state = c, true, "ESTABLISHED"
			return
		case t == c.orig:
			p.conn = c
			switch {
			case c.replied:
				p.state = "ESTABLISHED"
			case p.proto == flow.TCP && p.kind == data:
				// An ACK before any reply: nf_conntrack_proto_tcp.c.
				p.conn, p.state = nil, "INVALID"
			default:
				p.state = "NEW"
			}
			return
		}
	}
	if p.proto != flow.UDP && (p.kind == reply || p.kind == reset) {
		// A reply to a connection whose first packet was not seen.
		p.state = "INVALID"
		return
	}
	p.conn, p.state = &conn{orig: t, reply: t.inverse(), tunnel: p.depth > 0}, "NEW"
	r.conns[h] = append(r.conns[h], p.conn)
}

// trackFailure finds the connection that an ICMP error is about.
func (r *run) trackFailure(h *network.Host, p *packet) {
	for _, c := range r.conns[h] {
		switch {
		case !c.confirmed:
			continue
		case p.quoted.inverse() == c.reply: // about a packet in the original direction
			p.back = true
		case p.quoted.inverse() != c.orig:
			continue
		}
		p.conn, p.state = c, "RELATED"
		return
	}
	p.state = "INVALID"
}

// untrack takes the packet out of connection tracking.
func (p *packet) untrack() { p.conn, p.back, p.state = nil, false, "UNTRACKED" }

// confirm enters the connection of a packet that passed all hooks.
func (p *packet) confirm() {
	if p.conn != nil {
		p.conn.confirmed = true
	}
}

// setDst gives the connection a rewritten destination, setSrc a rewritten source.
func (c *conn) setDst(to netip.AddrPort) {
	if to != c.reply.src {
		c.reply.src, c.dnat = to, true
	}
}

func (c *conn) setSrc(to netip.AddrPort) {
	if to != c.reply.dst {
		c.reply.dst, c.snat = to, true
	}
}

// translate rewrites a packet as its connection requires, in the direction of the
// packet, and reports what changed.
func (p *packet) translate(m manip) *trace.Rewrite {
	c := p.conn
	if c == nil {
		return nil
	}
	before := *p
	switch {
	case p.kind == failure:
		p.translateFailure(m)
	case m == dstManip && !p.back && c.dnat:
		p.dst = c.reply.src
	case m == srcManip && !p.back && c.snat:
		p.src = c.reply.dst
	case m == dstManip && p.back && c.snat:
		p.dst = c.orig.src
	case m == srcManip && p.back && c.dnat:
		p.src = c.orig.dst
	}
	switch {
	case p.src != before.src:
		return &trace.Rewrite{Field: "src", From: before.src, To: p.src}
	case p.dst != before.dst:
		return &trace.Rewrite{Field: "dst", From: before.dst, To: p.dst}
	}
	return nil
}

// translateFailure rewrites an ICMP error and the packet that it quotes
// (nf_nat_icmp_reply_translation in net/netfilter/nf_nat_proto.c).
func (p *packet) translateFailure(m manip) {
	c, q := p.conn, *p.quoted
	port := func(a netip.AddrPort) netip.AddrPort { return netip.AddrPortFrom(a.Addr(), 0) }
	switch {
	case p.back && m == dstManip && c.snat:
		p.dst, q.src = port(c.orig.src), c.orig.src
	case p.back && m == srcManip && c.dnat:
		p.src, q.dst = port(c.orig.dst), c.orig.dst
	case !p.back && m == dstManip && c.dnat:
		p.dst, q.src = port(c.reply.src), c.reply.src
	case !p.back && m == srcManip && c.snat:
		p.src, q.dst = port(c.reply.dst), c.reply.dst
	}
	p.quoted = &q
}
