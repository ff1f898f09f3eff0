package walk

import (
	"fmt"
	"net/netip"

	"github.com/netlab/netlab/datapath/flow"
	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/datapath/walk/network"
	"github.com/netlab/netlab/datapath/walk/trace"
)

// esp is the protocol of a packet with an encrypted one in it.
const esp = flow.Protocol("esp")

// encrypt puts a packet into one of ESP, if a policy of the host says so, and takes it out at
// the other end; nil: no policy is for it (xfrm_lookup in net/xfrm/xfrm_policy.c).
func (r *run) encrypt(h *network.Host, p *packet) *fate {
	policy := h.XfrmPolicy(plan.XfrmOut, p.src.Addr(), p.dst.Addr())
	if policy == nil {
		return nil
	}
	if p.depth >= maxTunnels {
		return r.lose(h, p, "IPsec in %s: endlessly nested tunnels", h.Name)
	}
	state := h.XfrmState(func(s *plan.XfrmState) bool { return s.Src == policy.Src && s.Dst == policy.Dst })
	if state == nil {
		return r.lose(h, p, "a policy of %s wants ESP from %s to %s, but there is no state (key) for that", h.Name, policy.Src, policy.Dst)
	}
	outer := &packet{proto: esp, tunnel: flow.InESP, hides: true, ttl: 64, mark: p.mark, depth: p.depth + 1,
		src: netip.AddrPortFrom(state.Src, 0), dst: netip.AddrPortFrom(state.Dst, 0)}
	r.step(p, trace.Step{Kind: trace.Encap, Netns: h.Name, Text: fmt.Sprintf("ESP to %s, SPI %#08x, for %s to %s", state.Dst, state.SPI, policy.From, policy.To)})
	arrived := r.carry(h, outer, p)
	if arrived.kind != delivered {
		return arrived
	}
	return r.decrypt(arrived.h, state, p)
}

// decrypt is the other end: the packet arrives once more, on the same device, if the keys are
// equal (xfrm_input).
func (r *run) decrypt(h *network.Host, sent *plan.XfrmState, p *packet) *fate {
	state := h.XfrmState(func(s *plan.XfrmState) bool { return s.Dst == sent.Dst && s.SPI == sent.SPI })
	switch {
	case state == nil:
		return r.lose(h, p, "%s has no state for ESP to %s with SPI %#08x", h.Name, sent.Dst, sent.SPI)
	case state.Key != sent.Key:
		return r.lose(h, p, "the state of %s for SPI %#08x has another key", h.Name, sent.SPI)
	}
	to, ok := h.Lookup(sent.Src)
	if !ok {
		return r.lose(h, p, "%s", to.Why(h, sent.Src))
	}
	p.leaveNetns()
	p.via = state
	r.step(p, trace.Step{Kind: trace.Decap, Netns: h.Name, In: to.Dev.Name, Text: fmt.Sprintf("ESP from %s, SPI %#08x", sent.Src, sent.SPI)})
	if to.Dev.Type == plan.Veth {
		r.pass(to.Dev, false, p) // decrypted, it comes in once more
	}
	return r.receive(h, to.Dev, p, false)
}

// unexpected says why a host drops a packet that it would forward, or that passed INPUT: it has
// to come by ESP and did not, or it did, and no policy wants that (__xfrm_policy_check in
// net/xfrm/xfrm_policy.c).
func unexpected(h *network.Host, dir plan.XfrmDir, p *packet) string {
	src, dst := p.tracked()
	policy := h.XfrmPolicy(dir, src, dst)
	switch {
	case policy == nil && p.via == nil:
	case policy == nil:
		return fmt.Sprintf("no policy is for packets from %s to %s that come by ESP from %s", src, dst, p.via.Src)
	case p.via == nil:
		return fmt.Sprintf("a policy says that packets from %s to %s come by ESP from %s, and this one is not encrypted", policy.From, policy.To, policy.Src)
	case policy.Src != p.via.Src || policy.Dst != p.via.Dst:
		return fmt.Sprintf("a policy says that packets from %s to %s come by ESP from %s, and this one came from %s", policy.From, policy.To, policy.Src, p.via.Src)
	}
	return ""
}

// tracked are the addresses by which policies know a packet that arrived: those before
// connection tracking translated it. They have no others for an ICMP error, whose sender may be
// a router, nor for what IPVS translated (nf_nat_decode_session in net/netfilter/nf_nat_core.c).
func (p *packet) tracked() (src, dst netip.Addr) {
	src, dst = p.src.Addr(), p.dst.Addr()
	c := p.conn
	if c == nil {
		return src, dst
	}
	sent := c.orig
	source, destination := c.snat, c.dnat // translated in this direction
	if p.back {
		sent, source, destination = c.reply, c.dnat, c.snat
	}
	if source {
		src = sent.src.Addr()
	}
	if destination {
		dst = sent.dst.Addr()
	}
	return src, dst
}

// espRoom is what ESP in tunnel mode leaves of an MTU: without the outer IP header, the ESP
// header, counter and tag, and in multiples of four bytes, the trailer (__xfrm_state_mtu in
// net/xfrm/xfrm_state.c).
func espRoom(mtu int, ipv6 bool) int {
	outer := 20
	if ipv6 {
		outer = 40
	}
	return (mtu-outer-8-8-16)&^3 - 2
}
