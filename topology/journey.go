package topology

import (
	"net/netip"
	"slices"
)

// journeys are the ways of one connection through a lab.
type journeys struct {
	lab      *Lab
	protocol Protocol
	ends     Verdict
	self     *Node // that dials
}

// packet is the first packet of a connection at some place of its way.
type packet struct {
	src, dst netip.Addr
	port     uint16
	self     bool // a process of the node where it is has made it
	past     bool // IPVS gives it to a process of the node, past the policies
	hops     int
	changes  []change // of its addresses, the first one first
	passed   []stay   // where it has been
}

// change is what a node did to the addresses of a packet. A reply undoes it, if it
// passes that node.
type change struct {
	node      *Node
	src       netip.Addr // the source before
	translate bool       // the destination was changed
}

// stay is a node that sees a packet, or a reply to it, after some of its changes.
type stay struct {
	node  *Node
	after int
}

// maxHops is more than any way has that leads somewhere.
const maxHops = 16

func (j *journeys) end(e End) { j.ends = append(j.ends, e) }

// dial is the way out of the dialer's own host.
func (j *journeys) dial(from Dialer, to netip.AddrPort) {
	p := packet{dst: to.Addr(), port: to.Port()}
	switch {
	case from.Node != nil || from.Pod != nil && from.Pod.HostNetwork:
		n := from.Node
		if n == nil {
			n = from.Pod.Node
		}
		p.src, p.self, j.self = j.lab.sourceOf(n, p.dst), true, n
		if !p.src.IsValid() {
			j.end(End{Outcome: Unreachable})
			return
		}
		j.visit(n, p)
	case from.Pod != nil:
		j.leave(place{pod: from.Pod}, from.Pod.Addrs, p)
	case from.Client != nil:
		j.leave(place{client: from.Client}, from.Client.Addrs, p)
	default:
		j.end(End{Outcome: Unreachable})
	}
}

// leave sends a packet from a pod or client with some addresses.
func (j *journeys) leave(at place, addrs []netip.Addr, p packet) {
	p.src = ofFamily(addrs, p.dst.Is6())
	switch {
	case !p.src.IsValid():
		j.end(End{Outcome: Unreachable})
	case p.dst.IsLoopback():
		p.src = loopbackOf(p.dst)
		j.answer(at, p)
	case p.src == p.dst:
		j.answer(at, p)
	case at.pod != nil:
		j.visit(at.pod.Node, p)
	default:
		for _, next := range j.lab.clientHops(at.client, p.dst) {
			j.arrive(next, p)
		}
	}
}

// arrive goes on at the next host.
func (j *journeys) arrive(at place, p packet) {
	switch p.hops++; {
	case at == (place{}) || p.hops > maxHops:
		j.end(End{Outcome: Timeout})
	case at.node != nil:
		if j.lab.holds(at.node, p.src) {
			j.end(End{Outcome: Timeout}) // a packet with the node's own address cannot come from elsewhere
			return
		}
		p.self = false
		j.visit(at.node, p)
	case at.has(j.lab, p.dst) && !at.has(j.lab, p.src):
		j.serve(at, p)
	default:
		j.end(End{Outcome: Timeout}) // pods, clients and the wire forward nothing, nor take their own address from others
	}
}

// visit is a packet on a node, that it made or got. The node translates it if it is
// for a service, whoever's the address is.
func (j *journeys) visit(n *Node, p packet) {
	p.passed = append(slices.Clone(p.passed), stay{n, len(p.changes)})
	if j.lab.Proxy.Mode != proxyNone {
		if use := j.serviceFor(n, p); use != nil {
			if j.proxied(n, use, p) {
				return
			}
		} else if j.strayNodePort(n, p) {
			return
		} else if j.lab.captures(n, p.dst) {
			j.refuse(n, p) // an address of a service, but none of its ports
			return
		}
	}
	j.forward(n, p, false)
}

// forward brings a packet on its way from a node, masqueraded or not: with the
// address of the link that leads there, and only what leaves the node's own stack
// passes where that happens, so not what it delivers to itself from others.
func (j *journeys) forward(n *Node, p packet, masquerade bool) {
	if j.barred(n, p) {
		return
	}
	local := j.lab.holds(n, p.dst)
	if !local || p.self {
		if masquerade || j.lab.podNetworkMasquerades(n, p.src, p.dst) {
			p.changes = append(slices.Clone(p.changes), change{node: n, src: p.src})
			p.src = j.lab.egress(n, p.dst)
		}
	}
	if local {
		j.serve(place{node: n}, p)
		return
	}
	j.arrive(j.lab.nodeHop(n, p.dst).to, p)
}

// serve is the end of the way: somebody listens or nobody does, and the dialer hears
// of it or does not.
func (j *journeys) serve(at place, p packet) {
	_, listens := at.listener(j.lab, j.protocol, p.port)
	for _, first := range j.lab.repliesBy(at, p.src) {
		seen, ok := j.reply(first, p)
		if !ok || j.lab.Proxy.Mode == proxyIPTables &&
			(at.client != nil && j.unasked(first, p, listens) || listens && j.unanswered(seen, p)) {
			j.end(End{Outcome: Timeout})
			continue
		}
		j.answer(at, p)
	}
}

// answer is what a host makes of a packet for itself.
func (j *journeys) answer(at place, p packet) {
	end, listens := at.listener(j.lab, j.protocol, p.port)
	switch end.Outcome, end.Source = Connected, p.src; {
	case at.node != nil && j.protocol == UDP && j.lab.tunnels(at.node, p.dst, p.port):
		end = End{Outcome: Timeout}
	case !listens:
		end = End{Outcome: Refused}
	}
	j.end(end)
}

// refuse is a node that says no.
func (j *journeys) refuse(n *Node, p packet) {
	if _, ok := j.reply(n, p); !ok {
		j.end(End{Outcome: Timeout})
		return
	}
	j.end(End{Outcome: Refused})
}

// repliesBy are the nodes that a reply may pass first, nil for none: the node of the
// place, or what a client knows as the way to an address.
func (lab *Lab) repliesBy(at place, to netip.Addr) []*Node {
	if at.client == nil {
		return []*Node{at.home()}
	}
	var out []*Node
	for _, next := range lab.clientHops(at.client, to) {
		out = append(out, next.node)
	}
	return out
}

// reply returns the nodes that see a reply, and whether it gets to the dialer as one:
// every node that changed the destination has to see it, to undo that. A reply passes
// one node first, then the one that its destination is on, and no other.
func (j *journeys) reply(first *Node, p packet) (seen []stay, ok bool) {
	here, there := first, j.lab.placeOf(p.src).home()
	if j.lab.captures(here, p.src) {
		return nil, here == j.self
	}
	seen = append(seen, stay{here, len(p.changes)}, stay{there, len(p.changes)})
	for i, c := range slices.Backward(p.changes) {
		if c.node == here || c.node == there {
			here, there = c.node, j.lab.placeOf(c.src).home()
		} else if c.translate {
			return seen, false
		}
		if j.lab.captures(here, c.src) {
			return seen, here == j.self
		}
		seen = append(seen, stay{here, i}, stay{there, i})
	}
	return seen, true
}

// A node with a proxy drops what it takes for a part of no connection: kubernetes
// issue 74839. That are replies to what it did not see, and what follows replies
// that it did not see. Of datagrams nobody can tell, but for the errors about them.

// unasked reports whether a reply from outside passes a node first that drops it.
func (j *journeys) unasked(first *Node, p packet, listens bool) bool {
	known := slices.Contains(p.passed, stay{first, len(p.changes)}) ||
		len(p.changes) > 0 && p.changes[len(p.changes)-1].node == first
	return first != nil && !known && (j.protocol == TCP || !listens)
}

// unanswered reports whether a stream goes on by a node that drops it.
func (j *journeys) unanswered(seen []stay, p packet) bool {
	return j.protocol == TCP && slices.ContainsFunc(p.passed, func(s stay) bool { return !slices.Contains(seen, s) })
}
