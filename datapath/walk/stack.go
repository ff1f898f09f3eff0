package walk

import (
	"fmt"

	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/datapath/walk/network"
	"github.com/netlab/netlab/datapath/walk/trace"
)

// fate is the end of one packet.
type fate struct {
	kind fateKind
	h    *network.Host // where
	p    *packet
	why  string
	code Code // of refused: the error sent to the sender
	mtu  int  // of TooBig: what would fit
	// told: the host that sent the packet found no route for it after DNAT. send(2) of a
	// datagram reports that; connect(2) of a stream keeps trying.
	told bool
	// from is the device that the error of refused comes in by: a program wrote it there.
	from *network.Link
}

type fateKind uint8

const (
	delivered fateKind = iota // to the sockets of a host
	dropped
	refused  // discarded, with an error to the sender
	noRoute  // the sending host has no route
	noAnswer // no host has the next hop's address
	broken   // the walker cannot tell
)

func (f *fate) as(k fateKind) *fate {
	f.kind = k
	return f
}

func (r *run) lose(h *network.Host, p *packet, format string, args ...any) *fate {
	f := &fate{kind: dropped, h: h, p: p, why: fmt.Sprintf(format, args...)}
	r.step(p, trace.Step{Kind: trace.Drop, Netns: h.Name, Text: f.why})
	return f
}

func (r *run) refuse(h *network.Host, p *packet, code Code, format string, args ...any) *fate {
	if p.kind == failure {
		return r.lose(h, p, format, args...) // RFC 1122, 3.2.2
	}
	f := &fate{kind: refused, h: h, p: p, code: code.family(p.ipv6()), why: fmt.Sprintf(format, args...)}
	r.step(p, trace.Step{Kind: trace.Rejected, Netns: h.Name, Text: f.why, Verdict: string(f.code)})
	return f
}

// originate sends a packet of a host's process or kernel.
func (r *run) originate(h *network.Host, p *packet) *fate {
	if f := r.limit(h, p); f != nil {
		return f
	}
	to, ok := h.Lookup(p.dst.Addr())
	if !ok {
		return r.lose(h, p, "%s", to.Why(h, p.dst.Addr())).as(noRoute)
	}
	r.step(p, trace.Step{Kind: trace.Send, Netns: h.Name, Out: to.Dev.Name, Text: to.Text})
	if f := r.loopbackOut(h, p, to); f != nil {
		return f
	}
	v := &visit{r: r, h: h, hook: "OUTPUT", out: to.Dev, p: p}
	if f := r.tables(v, "raw"); f != nil {
		return f
	}
	r.track(h, p)
	before := p.dst
	if f := r.tables(v, "mangle", "nat"); f != nil {
		return f
	}
	if p.dst != before {
		if to, ok = h.Lookup(p.dst.Addr()); !ok {
			f := r.lose(h, p, "%s", to.Why(h, p.dst.Addr()))
			f.told = true
			return f
		}
		r.step(p, trace.Step{Kind: trace.Route, Netns: h.Name, Out: to.Dev.Name, Text: to.Text})
		if f := r.loopbackOut(h, p, to); f != nil {
			return f
		}
	}
	r.unbalance(v)
	before = p.dst
	if f := r.balance(v); f != nil {
		return f
	}
	if p.dst != before { // to this host itself
		to, _ = h.Lookup(p.dst.Addr())
	}
	// The hook keeps the device of the first route: -o in the filter table matches the
	// one from before DNAT (nf_hook_state).
	if f := r.tables(v, "filter"); f != nil {
		return f
	}
	if f := r.tooBig(h, to, p); f != nil {
		return f
	}
	return r.postrouting(h, to, p)
}

// loopbackOut stops packets from 127.0.0.0/8 that would leave the host
// (__mkroute_output in net/ipv4/route.c).
func (r *run) loopbackOut(h *network.Host, p *packet, to network.Hop) *fate {
	if src := p.src.Addr(); !to.Local && src.Is4() && src.IsLoopback() && !h.Either(to.Dev, "route_localnet") {
		f := r.lose(h, p, "%s may not leave by %s: route_localnet is 0", src, to.Dev.Name)
		f.told = true
		return f
	}
	return nil
}

func (r *run) postrouting(h *network.Host, to network.Hop, p *packet) *fate {
	v := &visit{r: r, h: h, hook: "POSTROUTING", out: to.Dev, p: p, to: to}
	if f := r.tables(v, "mangle", "nat"); f != nil {
		return f
	}
	p.confirm()
	to.Next = r.gateway(h, to, p)
	if to.Local {
		r.pass(h.Lo, true, p)
		return r.receive(h, h.Lo, p, false)
	}
	if f := r.encrypt(h, p); f != nil {
		return f
	}
	return r.transmit(to.Dev, to.Next, p)
}

// receive takes a packet that arrived on a link. filtered: the bridge already took it
// through PREROUTING.
func (r *run) receive(h *network.Host, dev *network.Link, p *packet, filtered bool) *fate {
	if f := r.limit(h, p); f != nil {
		return f
	}
	if !h.Speaks(p.dst.Addr()) {
		return r.lose(h, p, "%s does not support the packet's IP family", h.Name)
	}
	r.arrive(dev, p)
	if !filtered {
		if f := r.prerouting(h, dev, p); f != nil {
			return f
		}
	}
	if dev != h.Lo {
		if why := martian(h, dev, p); why != "" {
			return r.lose(h, p, "%s drops it: %s", h.Name, why)
		}
	}
	to, ok := h.Lookup(p.dst.Addr())
	if ok && to.Local {
		return r.input(h, dev, p)
	}
	return r.forward(h, dev, to, ok, p)
}

func (r *run) prerouting(h *network.Host, dev *network.Link, p *packet) *fate {
	v := &visit{r: r, h: h, hook: "PREROUTING", in: dev, p: p}
	if f := r.tables(v, "raw"); f != nil {
		return f
	}
	r.track(h, p)
	return r.tables(v, "mangle", "nat")
}

func (r *run) input(h *network.Host, dev *network.Link, p *packet) *fate {
	v := &visit{r: r, h: h, hook: "INPUT", in: dev, p: p}
	if f := r.tables(v, "mangle", "filter"); f != nil {
		return f
	}
	r.unbalance(v)
	if f := r.balance(v); f != nil {
		return f
	}
	if f := r.tables(v, "nat"); f != nil {
		return f
	}
	p.confirm()
	if why := unexpected(h, plan.XfrmIn, p); why != "" {
		return r.lose(h, p, "%s drops it: %s", h.Name, why)
	}
	return &fate{kind: delivered, h: h, p: p}
}

func (r *run) forward(h *network.Host, dev *network.Link, to network.Hop, routed bool, p *packet) *fate {
	ipv6 := p.ipv6()
	switch {
	case !h.Forwards(dev, ipv6) && (!ipv6 || routed):
		return r.lose(h, p, "forwarding is off in %s, and %s is not a local address", h.Name, p.dst.Addr())
	case to.Refuses == plan.Blackhole:
		return r.lose(h, p, "%s", to.Why(h, p.dst.Addr()))
	case to.Refuses == plan.Unreachable && !ipv6: // IPv6 says no route, as without one
		return r.refuse(h, p, HostUnreachable, "%s", to.Why(h, p.dst.Addr()))
	case !routed: // IPv6 reports it even with forwarding off (ip6_pkt_discard)
		return r.refuse(h, p, NetUnreachable, "%s", to.Why(h, p.dst.Addr()))
	}
	if why := unexpected(h, plan.XfrmFwd, p); why != "" {
		return r.lose(h, p, "%s drops it: %s", h.Name, why)
	}
	if p.ttl <= 1 {
		return r.refuse(h, p, TimeExceeded, "the packet looped until its TTL expired in %s", h.Name)
	}
	if f := r.tooBig(h, to, p); f != nil {
		return f
	}
	p.ttl--
	r.step(p, trace.Step{Kind: trace.Route, Netns: h.Name, In: dev.Name, Out: to.Dev.Name, Text: to.Text})
	v := &visit{r: r, h: h, hook: "FORWARD", in: dev, out: to.Dev, p: p}
	if f := r.tables(v, "mangle", "filter"); f != nil {
		return f
	}
	r.unbalance(v)
	return r.postrouting(h, to, p)
}

// martian says why a host rejects a packet from a link because of its addresses
// (ip_route_input_slow and fib_validate_source in net/ipv4). IPv6 has no such check
// except for the loopback address.
func martian(h *network.Host, dev *network.Link, p *packet) string {
	src, dst := p.src.Addr(), p.dst.Addr()
	if p.ipv6() {
		if src.IsLoopback() || dst.IsLoopback() {
			return "a loopback address on " + dev.Name
		}
		return ""
	}
	if (src.IsLoopback() || dst.IsLoopback()) && !h.Either(dev, "route_localnet") {
		return "a loopback address on " + dev.Name + ", and route_localnet is 0"
	}
	if h.IsLocal(src) && !src.IsLoopback() && !h.Either(dev, "accept_local") {
		return fmt.Sprintf("its source %s is the host's own address (martian source)", src)
	}
	return h.WrongPath(dev, src)
}
