package walk

import (
	"net/netip"

	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/datapath/walk/network"
	"github.com/netlab/netlab/datapath/walk/trace"
)

// transmit hands a packet to a device, for a neighbour on its link.
func (r *run) transmit(dev *network.Link, next netip.Addr, p *packet) *fate {
	if dev.Type != plan.Veth {
		r.pass(dev, true, p)
	}
	switch dev.Type {
	case plan.VXLAN:
		return r.tunnel(dev, next, p)
	case plan.IPIP:
		return r.ipip(dev, next, p)
	case plan.TUN:
		return r.hand(dev, p)
	case plan.WireGuard:
		return r.wireGuard(dev, p)
	}
	target := r.w.Neighbour(dev, next)
	if target == nil {
		return r.lose(dev.Host, p, "no host on the link of %s in %s has the address %s", dev.Name, dev.Host.Name, next).as(noAnswer)
	}
	return r.emit(dev, target, p)
}

// emit sends a frame out of a device, to another on the segment.
func (r *run) emit(dev, target *network.Link, p *packet) *fate {
	if dev.Type == plan.Bridge {
		port := r.w.Path(dev, target)[dev]
		if port == nil {
			return r.lose(dev.Host, p, "no port of bridge %s in %s leads to the destination", dev.Name, dev.Host.Name)
		}
		return r.cross(port, target, p)
	}
	return r.cross(dev, target, p)
}

// cross carries a frame over a veth.
func (r *run) cross(dev, target *network.Link, p *packet) *fate {
	if f := r.limit(dev.Host, p); f != nil {
		return f
	}
	other := r.w.Peer(dev)
	if other == nil {
		return r.lose(dev.Host, p, "%s in %s has no peer", dev.Name, dev.Host.Name)
	}
	r.pass(dev, true, p)
	if other.Host != dev.Host {
		p.leaveNetns()
	}
	r.pass(other, false, p)
	r.step(p, trace.Step{Kind: trace.Hop, Netns: other.Host.Name, In: other.Name, Text: dev.Host.Name + " " + dev.Name})
	if b := other.Bridge(); b != nil {
		return r.bridge(b, other, target, p)
	}
	if other != target {
		return r.lose(other.Host, p, "the frame is not for %s in %s", other.Name, other.Host.Name)
	}
	return r.receive(other.Host, other, p, false)
}

// bridge takes a frame that arrived on a port. If the host filters bridged packets, a
// packet traverses PREROUTING before the bridge looks at the frame's destination, which
// DNAT may have changed; if the new destination is on the same bridge, the frame goes
// there without being routed (br_nf_pre_routing_finish), but only if the host forwards.
func (r *run) bridge(b, port, target *network.Link, p *packet) *fate {
	h := b.Host
	filter := h.Speaks(p.dst.Addr()) && h.FiltersBridged(p.ipv6())
	if filter {
		p.port = port
		before := p.dst
		if f := r.prerouting(h, b, p); f != nil {
			return f
		}
		if p.dst.Addr() != before.Addr() {
			var f *fate
			if target, f = r.redirect(b, p); f != nil {
				return f
			}
		}
	}
	if target == b {
		return r.receive(h, b, p, filter)
	}
	out := r.w.Path(b, target)[b]
	switch {
	case out == nil:
		return r.lose(h, p, "no port of bridge %s in %s leads to the destination", b.Name, h.Name)
	case out == port && !port.Hairpin:
		return r.lose(h, p, "bridge %s in %s does not send a frame back to the port %s: hairpin is off", b.Name, h.Name, port.Name)
	}
	r.step(p, trace.Step{Kind: trace.Hop, Netns: h.Name, In: port.Name, Out: out.Name, Text: "bridge " + b.Name})
	if filter {
		if f := r.bridgeHooks(b, out, p); f != nil {
			return f
		}
	}
	return r.cross(out, target, p)
}

// redirect finds where a bridged packet goes after DNAT: to a neighbour on the
// bridge, or up to be routed.
func (r *run) redirect(b *network.Link, p *packet) (*network.Link, *fate) {
	h := b.Host
	if why := martian(h, b, p); why != "" {
		return nil, r.lose(h, p, "%s drops it: %s", h.Name, why)
	}
	to, ok := h.Lookup(p.dst.Addr())
	if !ok || to.Local || to.Dev != b || !h.Forwards(b, p.ipv6()) {
		return b, nil
	}
	target := r.w.Neighbour(b, to.Next)
	if target == nil {
		return nil, r.lose(h, p, "no host on bridge %s in %s has the address %s", b.Name, h.Name, to.Next).as(noAnswer)
	}
	return target, nil
}

// bridgeHooks takes a bridged packet through FORWARD and POSTROUTING. Rules see the
// bridge as its input and output link.
func (r *run) bridgeHooks(b, port *network.Link, p *packet) *fate {
	v := &visit{r: r, h: b.Host, hook: "FORWARD", in: b, out: b, port: port, p: p}
	if f := r.tables(v, "mangle", "filter"); f != nil {
		return f
	}
	r.unbalance(v)
	to := network.Hop{Dev: b, Next: p.dst.Addr()}
	v = &visit{r: r, h: b.Host, hook: "POSTROUTING", out: b, port: port, p: p, to: to}
	if f := r.tables(v, "mangle", "nat"); f != nil {
		return f
	}
	p.confirm()
	return nil
}
