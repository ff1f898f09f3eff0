package meaning

import (
	"net/netip"
	"slices"

	"github.com/netlab/netlab/datapath/flow"
	"github.com/netlab/netlab/topology"
)

// paths are the paths of one connection through a lab: one per choice of endpoint or node.
type paths struct {
	lab      network
	protocol topology.Protocol
	results  Verdict
	relays   int            // proxies in user space before this connection
	self     *topology.Node // that dials
}

// packet is the first packet of a connection at some point of its path.
type packet struct {
	src, dst netip.Addr
	port     uint16
	self     bool // sent by a process of the node where it is
	past     bool // delivered by IPVS to a process of the node, bypassing policies
	hops     int
	changes  []change // of its addresses, the first one first
	passed   []stay   // where it has been
}

// change is what a node did to the addresses of a packet. A reply undoes it, if it
// passes that node.
type change struct {
	node      *topology.Node
	src, dst  netip.Addr // before
	translate bool       // the destination was changed
}

// stay is a node that sees a packet, or a reply to it, after some of its changes.
type stay struct {
	node  *topology.Node
	after int
}

// maxHops is more than any path without a loop has.
const maxHops = 16

func (ps *paths) end(r flow.Result) { ps.results = append(ps.results, r) }

// dial sends the packet out of the dialer's own host.
func (ps *paths) dial(from topology.Dialer, to netip.AddrPort) {
	p := packet{dst: to.Addr(), port: to.Port()}
	switch {
	case from.Node != nil || from.Pod != nil && from.Pod.HostNetwork:
		n := from.Node
		if n == nil {
			n = from.Pod.Node
		}
		p.src, p.self, ps.self = ps.lab.sourceOf(n, p.dst), true, n
		if !p.src.IsValid() || ps.lab.discards(n, p.dst) {
			ps.end(flow.Result{Outcome: flow.Unreachable})
			return
		}
		ps.visit(n, p)
	case from.Pod != nil:
		ps.leave(place{pod: from.Pod}, from.Pod.Addrs, p)
	case from.Client != nil:
		ps.leave(place{client: from.Client}, from.Client.Addrs, p)
	case from.Router != nil:
		ps.leave(place{router: from.Router}, ps.lab.routerSource(from.Router, p.dst), p)
	default:
		ps.end(flow.Result{Outcome: flow.Unreachable})
	}
}

// leave sends a packet from a pod, client or router with some addresses.
func (ps *paths) leave(at place, addrs []netip.Addr, p packet) {
	p.src = topology.OfFamily(addrs, p.dst.Is6())
	switch {
	case !p.src.IsValid():
		ps.end(flow.Result{Outcome: flow.Unreachable})
	case p.dst.IsLoopback():
		p.src = loopbackOf(p.dst)
		ps.answer(at, p)
	case p.src == p.dst:
		ps.answer(at, p)
	case at.pod != nil:
		ps.visit(at.pod.Node, p)
	default:
		ps.send(at, p)
	}
}

// send sends a packet to each of the hosts that can be next.
func (ps *paths) send(at place, p packet) {
	there := ps.lab.hop(at, p.src, p.dst)
	if there.tunnel {
		arrives, lost := ps.lab.tunnelled(at.node, there, p.dst)
		if lost {
			ps.silence()
		}
		if !arrives {
			return
		}
	}
	if p.hops++; p.hops > maxHops {
		ps.silence()
		return
	}
	for _, next := range there.to {
		if next.router != nil && !ps.lab.takes(next.router, at, there.by, ps.header(p)) {
			ps.silence()
			continue
		}
		ps.arrive(next, p)
	}
}

func (ps *paths) header(p packet) header { return header{p.src, p.dst, ps.protocol, p.port} }

// arrive continues at the next host.
func (ps *paths) arrive(at place, p packet) {
	switch {
	case at == (place{}):
		ps.silence()
	case at.node != nil:
		if ps.lab.holds(at.node, p.src) {
			ps.end(flow.Result{Outcome: flow.Timeout}) // a packet with the node's own address cannot come from elsewhere
			return
		}
		p.self = false
		ps.visit(at.node, p)
	case at.has(ps.lab, p.dst) && !at.has(ps.lab, p.src):
		ps.serve(at, p)
	case at.router != nil:
		ps.route(at, p)
	default:
		ps.end(flow.Result{Outcome: flow.Timeout}) // forwarding is off on pods, clients and the underlay, and none accepts its own address as a source
	}
}

// route forwards a packet on a router.
func (ps *paths) route(at place, p packet) {
	if drops(at.router, ps.header(p)) {
		ps.silence()
		return
	}
	ps.send(at, p)
}

// visit handles a packet on a node that sent or received it. The node translates it if
// it is for a service, whichever host has the address.
func (ps *paths) visit(n *topology.Node, p packet) {
	p.passed = append(slices.Clone(p.passed), stay{n, len(p.changes)})
	if ps.lab.Proxy.Mode.Translates {
		if use := ps.serviceFor(n, p); use != nil {
			if ps.viaService(n, use, p) {
				return
			}
		} else if ps.viaHostPort(n, p) || ps.strayNodePort(n, p) {
			return
		} else if ps.lab.captures(n, p.dst) {
			ps.refuse(n, p) // an address of a service, but none of its ports
			return
		} else if ps.unserved(n, p) {
			return
		}
	}
	if !ps.lab.Proxy.Mode.Translates && ps.viaHostPort(n, p) {
		return
	}
	ps.forward(n, p, ps.loopsBack(n, p))
}

// forward sends a packet on from a node, masqueraded with the address of the outgoing
// link or not. Only what leaves the node passes POSTROUTING, where that happens; what
// others send to the node itself does not.
func (ps *paths) forward(n *topology.Node, p packet, masquerade bool) {
	if ps.lab.discards(n, p.dst) { // by the route, before any policy
		ps.silence()
		return
	}
	if ps.denied(n, p) {
		return
	}
	local := ps.lab.holds(n, p.dst)
	if !local && !p.self && ps.unpublished(n, p) {
		ps.silence()
		return
	}
	if !local || p.self {
		if masquerade || ps.lab.podNetworkMasquerades(n, p.src, p.dst) {
			p.changes = append(slices.Clone(p.changes), change{node: n, src: p.src, dst: p.dst})
			p.src = ps.lab.egress(n, p.dst)
		}
	}
	if local {
		ps.serve(place{node: n}, p)
		return
	}
	ps.send(place{node: n}, p)
}

// serve is the end of the path: a socket matches or none does, and the reply reaches the
// dialer or is lost.
func (ps *paths) serve(at place, p packet) {
	if ps.strange(EndAt(ps.lab.Lab, p.dst), p) {
		ps.silence()
		return
	}
	_, listens := at.listener(ps.lab, ps.protocol, p.port)
	listens = listens || ps.proxied(at, p) != nil || ps.atBalancer(at, p) != nil
	protocol := ps.protocol
	if !listens && protocol == topology.UDP {
		protocol = topology.ICMP
	}
	for _, w := range ps.lab.starts(at, header{src: p.dst, dst: p.src, protocol: protocol}) {
		seen, arrives, lost := ps.reply(w, p, protocol)
		if lost || ps.lab.Proxy.Mode.DropsInvalid &&
			(at.home() == nil && ps.unasked(w.first, p, listens) || listens && ps.unanswered(seen, p)) {
			ps.silence()
			arrives = arrives && lost
		}
		if arrives {
			ps.answer(at, p)
		}
	}
}

// answer handles a packet on the host that it is for.
func (ps *paths) answer(at place, p packet) {
	if u := ps.proxied(at, p); u != nil {
		ps.relay(at.node, u)
		return
	}
	if u := ps.atBalancer(at, p); u != nil {
		ps.passOn(u)
		return
	}
	end, listens := at.listener(ps.lab, ps.protocol, p.port)
	switch end.Outcome, end.Source = flow.Connected, p.src; {
	case at.node != nil && ps.protocol == topology.UDP && ps.lab.tunnels(at.node, p.dst, p.port):
		end = flow.Result{Outcome: flow.Timeout}
	case !listens && ps.protocol == topology.TCP && ps.lab.speaks(at) && p.port == topology.BGPPort:
		end = flow.Result{Outcome: flow.Reset}
	case !listens:
		end = flow.Result{Outcome: flow.Refused}
	}
	ps.end(end)
}

// refuse rejects a packet on a node, with an ICMP error.
func (ps *paths) refuse(n *topology.Node, p packet) {
	from := PolicyEnd{Node: n} // of an ICMP error; a reset has the address of the pod
	if ps.protocol == topology.TCP {
		from = EndAt(ps.lab.Lab, p.dst)
	}
	if ps.strange(from, p) || ps.protocol != topology.TCP && ps.unencrypted(n, p) {
		ps.silence()
		return
	}
	_, arrives, lost := ps.reply(way{n, true}, p, topology.ICMP)
	if lost {
		ps.silence()
	}
	if arrives {
		ps.end(flow.Result{Outcome: flow.Refused})
	}
}

// reply follows a reply on one of its ways, and returns the nodes that see it, whether it can
// get to the dialer as one, and whether it can be lost: every node that changed the
// destination has to see it, to undo that, and every host has to have a route to where it goes
// then. A reply passes one node first, then the one that its destination is on, and no other.
func (ps *paths) reply(w way, p packet, protocol topology.Protocol) (seen []stay, arrives, lost bool) {
	here, there := w.first, ps.lab.placeOf(w.first, p.src).home()
	captured := func() ([]stay, bool, bool) { return seen, here == ps.self, lost || here != ps.self }
	if ps.lab.captures(here, p.src) {
		return captured()
	}
	seen = append(seen, stay{here, len(p.changes)}, stay{there, len(p.changes)})
	if !w.arrives {
		return seen, false, true
	}
	src, dst := p.dst, p.src
	goes := func() (arrives bool) {
		if here == nil {
			return true
		}
		for _, w := range ps.lab.ways(place{node: here}, header{src: src, dst: dst, protocol: protocol}) {
			arrives, lost = arrives || w.arrives, lost || !w.arrives
		}
		return arrives
	}
	for i, c := range slices.Backward(p.changes) {
		switch {
		case c.node == here:
		case c.node == there && !goes(), c.node != there && c.translate:
			return seen, false, true
		}
		if c.node == here || c.node == there {
			here, there = c.node, ps.lab.placeOf(c.node, c.src).home()
		}
		if src, dst = c.dst, c.src; ps.lab.captures(here, dst) {
			return captured()
		}
		seen = append(seen, stay{here, i}, stay{there, i})
	}
	arrives = goes()
	return seen, arrives, lost
}

// A proxy can drop packets whose state is INVALID (kubernetes issue 74839): replies to
// what the node did not see, and what follows replies that it did not see. Datagrams
// are never INVALID, but ICMP errors about them are.

// unasked reports whether a reply from outside first passes a node that drops it.
func (ps *paths) unasked(first *topology.Node, p packet, listens bool) bool {
	known := slices.Contains(p.passed, stay{first, len(p.changes)}) ||
		len(p.changes) > 0 && p.changes[len(p.changes)-1].node == first
	return first != nil && !known && (ps.protocol == topology.TCP || !listens)
}

// unanswered reports whether the rest of a stream passes a node that drops it.
func (ps *paths) unanswered(seen []stay, p packet) bool {
	return ps.protocol == topology.TCP && slices.ContainsFunc(p.passed, func(s stay) bool { return !slices.Contains(seen, s) })
}
