package walk

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/netlab/netlab/datapath/flow"
	"github.com/netlab/netlab/datapath/plan/iptables"
	"github.com/netlab/netlab/datapath/plan/ipvs"
	"github.com/netlab/netlab/datapath/walk/network"
	"github.com/netlab/netlab/datapath/walk/trace"
)

// IPVS sits in the hooks of a host beside the tables (net/netfilter/ipvs/ip_vs_core.c,
// ip_vs_ops4 and ip_vs_ops6): it handles packets to virtual servers at INPUT after
// filter and before nat, and at OUTPUT after nat and before filter, and rewrites the
// replies of real servers there and at FORWARD after filter. What it sends to a real
// server goes through OUTPUT, whatever its origin, and never through FORWARD.

// served is an IPVS connection: a client's with a virtual server, and the chosen real
// server.
type served struct {
	server *ipvs.Server
	proto  flow.Protocol
	client netip.AddrPort
	real   netip.AddrPort
}

// balance takes a packet to the real server of its connection, and schedules new
// connections. It returns the fate of the packet, or nil if the packet continues in the
// current hook: it is not for a virtual server, or the real server is this host.
func (r *run) balance(v *visit) *fate {
	p := v.p
	if p.served != nil || p.kind == failure || len(v.h.Virtual) == 0 {
		return nil
	}
	c := r.connection(v.h, p)
	if c == nil {
		server := v.h.Server(string(p.proto), p.dst)
		if server == nil || p.proto == flow.TCP && p.kind != opening {
			return nil
		}
		real := r.schedule(v, server)
		if real == nil {
			return r.refuse(v.h, p, PortUnreachable, "virtual server %s in %s has no available real server", p.dst, v.h.Name)
		}
		c = &served{server, p.proto, p.src, real.Addr}
		if r.served == nil {
			r.served = map[*network.Host][]*served{}
		}
		r.served[v.h] = append(r.served[v.h], c)
	}
	return r.serveVirtual(v, c)
}

func (r *run) connection(h *network.Host, p *packet) *served {
	i := slices.IndexFunc(r.served[h], func(c *served) bool {
		return c.proto == p.proto && c.client == p.src && c.server.Addr == p.dst
	})
	if i < 0 {
		return nil
	}
	return r.served[h][i]
}

// serveVirtual sends a packet to a real server (ip_vs_nat_xmit).
func (r *run) serveVirtual(v *visit, c *served) *fate {
	h, p := v.h, v.p
	before := p.dst
	p.served, p.dst = c, c.real
	i := slices.IndexFunc(c.server.Real, func(s ipvs.Real) bool { return s.Addr == c.real })
	r.step(p, trace.Step{Kind: trace.Balance, Netns: h.Name, Hook: v.hook, In: name(v.in), Out: name(v.out),
		Origin: trace.Origin(c.server.Origin), Rewrite: &trace.Rewrite{Field: "dst", From: before, To: p.dst},
		Text: fmt.Sprintf("virtual server %s %s → %s (%d of %d)", c.server.Addr, c.server.Scheduler, c.real, i+1, len(c.server.Real))})
	alter(h, p)
	to, ok := h.Lookup(p.dst.Addr())
	if !ok {
		return r.lose(h, p, "%s has no route to %s", h.Name, p.dst.Addr())
	}
	if to.Local {
		return nil
	}
	return r.sendReal(h, to, p)
}

// alter makes connection tracking expect the reply of the real server, without
// translating anything (ip_vs_update_conntrack); if that is off, it untracks the
// packet, which no rule can then masquerade (ip_vs_notrack).
func alter(h *network.Host, p *packet) {
	if !h.Sysctl("net.ipv4.vs.conntrack") {
		p.untrack()
		return
	}
	if c := p.conn; c != nil && !c.confirmed && !p.back {
		c.reply.src = p.dst
	}
}

// sendReal takes a packet through OUTPUT, as if the host had sent it. If it is lost
// there, no error is sent.
func (r *run) sendReal(h *network.Host, to network.Hop, p *packet) *fate {
	p.ttl--
	r.step(p, trace.Step{Kind: trace.Route, Netns: h.Name, Out: to.Dev.Name, Text: to.Text})
	v := &visit{r: r, h: h, hook: "OUTPUT", out: to.Dev, p: p}
	if f := r.tables(v, "raw", "mangle", "nat", "filter"); f != nil {
		return f
	}
	return r.postrouting(h, to, p)
}

// unbalance gives the reply of a real server the address of the virtual one, and
// likewise the quote in an ICMP error.
func (r *run) unbalance(v *visit) {
	p := v.p
	if p.served != nil {
		return
	}
	for _, c := range r.served[v.h] {
		switch {
		case p.kind == failure:
			if q := *p.quoted; q == (tuple{c.proto, c.client, c.real}) {
				q.dst = c.server.Addr
				r.answerVirtual(v, c, netip.AddrPortFrom(c.server.Addr.Addr(), 0))
				p.quoted = &q
				return
			}
		case p.tuple() == tuple{c.proto, c.real, c.client}:
			r.answerVirtual(v, c, c.server.Addr)
			return
		}
	}
}

func (r *run) answerVirtual(v *visit, c *served, src netip.AddrPort) {
	p := v.p
	from := p.src
	p.served, p.src = c, src
	r.step(p, trace.Step{Kind: trace.Balance, Netns: v.h.Name, Hook: v.hook, In: name(v.in), Out: name(v.out),
		Rewrite: &trace.Rewrite{Field: "src", From: from, To: p.src},
		Text:    fmt.Sprintf("virtual server %s answers for %s", c.server.Addr, trace.Endpoint(from))})
}

// byVirtual reports whether a packet is on its way to a real server of a virtual one.
func (v *visit) byVirtual(m iptables.IPVS) bool {
	c := v.p.served
	return c != nil && v.p.dst == c.real && v.p.src == c.client &&
		string(c.proto) == m.Proto && c.server.Addr == netip.AddrPortFrom(m.Addr, m.Port)
}
