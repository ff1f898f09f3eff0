package walk

import (
	"net/netip"

	"github.com/netlab/netlab/datapath/plan"
)

// transmit hands a packet to a device, for a neighbour on its link.
func (r *run) transmit(dev *link, next netip.Addr, p *packet) fate {
	if dev.Type == plan.VXLAN {
		return r.tunnel(dev, next, p)
	}
	target := r.w.neighbour(dev, next)
	if target == nil {
		f := r.lose(dev.host, p, "no host on the link of %s in %s has the address %s", dev.Name, dev.host.Name, next)
		f.kind = noAnswer
		return f
	}
	return r.emit(dev, target, p)
}

// emit sends a frame out of a device, to another on the segment.
func (r *run) emit(dev, target *link, p *packet) fate {
	if dev.Type == plan.Bridge {
		port := r.w.path(dev, target)[dev]
		if port == nil {
			return r.lose(dev.host, p, "no port of bridge %s in %s leads to the destination", dev.Name, dev.host.Name)
		}
		return r.cross(port, target, p)
	}
	return r.cross(dev, target, p)
}

// cross carries a frame over a veth.
func (r *run) cross(dev, target *link, p *packet) fate {
	if f := r.limit(dev.host, p); f != nil {
		return *f
	}
	other := r.w.peer(dev)
	if other == nil {
		return r.lose(dev.host, p, "%s in %s has no peer", dev.Name, dev.host.Name)
	}
	if other.host != dev.host {
		p.leaveNetns()
	}
	r.step(p, Step{Kind: Hop, Netns: other.host.Name, In: other.Name, Text: dev.host.Name + " " + dev.Name})
	if b := other.master(); b != nil {
		return r.bridge(b, other, target, p)
	}
	if other != target {
		return r.lose(other.host, p, "the frame is not for %s in %s", other.Name, other.host.Name)
	}
	return r.receive(other.host, other, p, false)
}

// bridge takes a frame that arrived on a port. If the host filters bridged packets, a
// packet traverses PREROUTING before the bridge looks at the frame's destination, which
// DNAT may have changed; if the new destination is on the same bridge, the frame goes
// there without being routed (br_nf_pre_routing_finish), but only if the host forwards.
func (r *run) bridge(b, port, target *link, p *packet) fate {
	h := b.host
	filter := h.speaks(p.dst.Addr()) && h.filtersBridged(p.ipv6())
	if filter {
		p.port = port
		before := p.dst
		if f := r.prerouting(h, b, p); f != nil {
			return *f
		}
		if p.dst.Addr() != before.Addr() {
			var f *fate
			if target, f = r.redirect(b, p); f != nil {
				return *f
			}
		}
	}
	if target == b {
		return r.receive(h, b, p, filter)
	}
	out := r.w.path(b, target)[b]
	switch {
	case out == nil:
		return r.lose(h, p, "no port of bridge %s in %s leads to the destination", b.Name, h.Name)
	case out == port && !port.Hairpin:
		return r.lose(h, p, "bridge %s in %s does not send a frame back to the port %s: hairpin is off", b.Name, h.Name, port.Name)
	}
	r.step(p, Step{Kind: Hop, Netns: h.Name, In: port.Name, Out: out.Name, Text: "bridge " + b.Name})
	if filter {
		if f := r.bridgeHooks(b, out, p); f != nil {
			return *f
		}
	}
	return r.cross(out, target, p)
}

// redirect finds where a bridged packet goes after DNAT: to a neighbour on the
// bridge, or up to be routed.
func (r *run) redirect(b *link, p *packet) (*link, *fate) {
	h := b.host
	if why := h.martian(b, p); why != "" {
		f := r.lose(h, p, "%s drops it: %s", h.Name, why)
		return nil, &f
	}
	to, ok := h.lookup(p.dst.Addr())
	switch {
	case !ok || to.local || to.dev != b || !h.forwards(b, p.ipv6()):
		return b, nil
	default:
		target := r.w.neighbour(b, to.next)
		if target == nil {
			f := r.lose(h, p, "no host on bridge %s in %s has the address %s", b.Name, h.Name, to.next)
			f.kind = noAnswer
			return nil, &f
		}
		return target, nil
	}
}

// bridgeHooks takes a bridged packet through FORWARD and POSTROUTING. Rules see the
// bridge as its input and output link.
func (r *run) bridgeHooks(b, port *link, p *packet) *fate {
	v := &visit{r: r, h: b.host, hook: "FORWARD", in: b, out: b, port: port, p: p}
	if f := r.tables(v, "mangle", "filter"); f != nil {
		return f
	}
	r.unbalance(v)
	to := hop{dev: b, next: p.dst.Addr()}
	v = &visit{r: r, h: b.host, hook: "POSTROUTING", out: b, port: port, p: p, to: to}
	if f := r.tables(v, "mangle", "nat"); f != nil {
		return f
	}
	p.confirm()
	return nil
}
