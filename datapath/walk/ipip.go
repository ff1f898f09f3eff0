package walk

import (
	"fmt"
	"net/netip"

	"github.com/netlab/netlab/datapath/flow"
	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/datapath/walk/network"
	"github.com/netlab/netlab/datapath/walk/trace"
)

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
