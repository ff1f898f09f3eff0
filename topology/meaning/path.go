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
	src       netip.Addr // the source before
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
		if !p.src.IsValid() {
			ps.end(flow.Result{Outcome: flow.Unreachable})
			return
		}
		ps.visit(n, p)
	case from.Pod != nil:
		ps.leave(place{pod: from.Pod}, from.Pod.Addrs, p)
	case from.Client != nil:
		ps.leave(place{client: from.Client}, from.Client.Addrs, p)
	default:
		ps.end(flow.Result{Outcome: flow.Unreachable})
	}
}

// leave sends a packet from a pod or client with some addresses.
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
		for _, next := range ps.lab.clientHops(at.client, p.dst) {
			ps.arrive(next, p)
		}
	}
}

// arrive continues at the next host.
func (ps *paths) arrive(at place, p packet) {
	switch p.hops++; {
	case at == (place{}) || p.hops > maxHops:
		ps.end(flow.Result{Outcome: flow.Timeout})
	case at.node != nil:
		if ps.lab.holds(at.node, p.src) {
			ps.end(flow.Result{Outcome: flow.Timeout}) // a packet with the node's own address cannot come from elsewhere
			return
		}
		p.self = false
		ps.visit(at.node, p)
	case at.has(ps.lab, p.dst) && !at.has(ps.lab, p.src):
		ps.serve(at, p)
	default:
		ps.end(flow.Result{Outcome: flow.Timeout}) // forwarding is off on pods, clients and the underlay, and none accepts its own address as a source
	}
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
		} else if ps.strayNodePort(n, p) {
			return
		} else if ps.lab.captures(n, p.dst) {
			ps.refuse(n, p) // an address of a service, but none of its ports
			return
		}
	}
	ps.forward(n, p, false)
}

// forward sends a packet on from a node, masqueraded with the address of the outgoing
// link or not. Only what leaves the node passes POSTROUTING, where that happens; what
// others send to the node itself does not.
func (ps *paths) forward(n *topology.Node, p packet, masquerade bool) {
	if ps.denied(n, p) {
		return
	}
	local := ps.lab.holds(n, p.dst)
	if !local || p.self {
		if masquerade || ps.lab.podNetworkMasquerades(n, p.src, p.dst) {
			p.changes = append(slices.Clone(p.changes), change{node: n, src: p.src})
			p.src = ps.lab.egress(n, p.dst)
		}
	}
	if local {
		ps.serve(place{node: n}, p)
		return
	}
	ps.arrive(ps.lab.nodeHop(n, p.dst).to, p)
}

// serve is the end of the path: a socket matches or none does, and the reply reaches the
// dialer or is lost.
func (ps *paths) serve(at place, p packet) {
	_, listens := at.listener(ps.lab, ps.protocol, p.port)
	for _, first := range ps.lab.repliesBy(at, p.src) {
		seen, ok := ps.reply(first, p)
		if !ok || ps.lab.Proxy.Mode.DropsInvalid &&
			(at.client != nil && ps.unasked(first, p, listens) || listens && ps.unanswered(seen, p)) {
			ps.end(flow.Result{Outcome: flow.Timeout})
			continue
		}
		ps.answer(at, p)
	}
}

// answer handles a packet on the host that it is for.
func (ps *paths) answer(at place, p packet) {
	end, listens := at.listener(ps.lab, ps.protocol, p.port)
	switch end.Outcome, end.Source = flow.Connected, p.src; {
	case at.node != nil && ps.protocol == topology.UDP && ps.lab.tunnels(at.node, p.dst, p.port):
		end = flow.Result{Outcome: flow.Timeout}
	case !listens:
		end = flow.Result{Outcome: flow.Refused}
	}
	ps.end(end)
}

// refuse rejects a packet on a node, with an error or a reset.
func (ps *paths) refuse(n *topology.Node, p packet) {
	if _, ok := ps.reply(n, p); !ok {
		ps.end(flow.Result{Outcome: flow.Timeout})
		return
	}
	ps.end(flow.Result{Outcome: flow.Refused})
}

// repliesBy are the nodes that a reply may pass first, nil for none: the node of the
// place, or the next hop of a client towards an address.
func (lab network) repliesBy(at place, to netip.Addr) []*topology.Node {
	if at.client == nil {
		return []*topology.Node{at.home()}
	}
	var out []*topology.Node
	for _, next := range lab.clientHops(at.client, to) {
		out = append(out, next.node)
	}
	return out
}

// reply returns the nodes that see a reply, and whether it gets to the dialer as one:
// every node that changed the destination has to see it, to undo that, and every node
// has to have a route to where it goes then. A reply passes one node first, then the one
// that its destination is on, and no other.
func (ps *paths) reply(first *topology.Node, p packet) (seen []stay, ok bool) {
	here, there := first, ps.lab.placeOf(p.src).home()
	if ps.lab.captures(here, p.src) {
		return nil, here == ps.self
	}
	seen = append(seen, stay{here, len(p.changes)}, stay{there, len(p.changes)})
	if here != nil && !ps.lab.delivers(here, p.src) {
		return seen, false
	}
	for i, c := range slices.Backward(p.changes) {
		if c.node == here || c.node == there {
			here, there = c.node, ps.lab.placeOf(c.src).home()
		} else if c.translate {
			return seen, false
		}
		if ps.lab.captures(here, c.src) {
			return seen, here == ps.self
		}
		seen = append(seen, stay{here, i}, stay{there, i})
		if here != nil && !ps.lab.delivers(here, c.src) {
			return seen, false
		}
	}
	return seen, true
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
