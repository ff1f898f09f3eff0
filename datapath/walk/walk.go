package walk

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/netlab/netlab/datapath/flow"
	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/datapath/plan/occupant"
	"github.com/netlab/netlab/datapath/walk/memory"
	"github.com/netlab/netlab/datapath/walk/network"
	"github.com/netlab/netlab/datapath/walk/request"
	"github.com/netlab/netlab/datapath/walk/trace"
)

// Bounds far beyond any real plan. Damaged ones may contain jump loops, which the
// kernel refuses to load, or fan out excessively. A branch that hits a bound fails;
// beyond the bounds of the walk, the remaining probability is one branch that says so.
const (
	maxJumps     = 64
	branchSteps  = 20_000
	branchRules  = 2_000_000
	walkSteps    = 1_000_000
	walkRules    = 50_000_000
	walkBranches = 20_000
)

// defaultWithin is the deadline of a flow that sets none.
const defaultWithin = time.Second

// World is a plan that is ready to be walked. It may be used by several goroutines; the
// plan must not change any more.
type World struct {
	net    *network.World
	checks checks
}

// New returns the world of a plan.
func New(p *plan.Plan) *World { return &World{net: network.New(p)} }

// NameServer reports whether an agent answers DNS queries.
func (w *World) NameServer(name string) bool { return w.net.NameServer(name) }

// Walk follows a flow that starts with empty state.
func (w *World) Walk(f flow.Flow) trace.Prediction { return w.WalkFrom(nil, f) }

// WalkFrom follows a flow through rules that remember earlier flows. Each branch of the
// prediction has the state after it.
func (w *World) WalkFrom(s *memory.State, f flow.Flow) trace.Prediction { return w.walk(s, f, false) }

// walk is WalkFrom; a check ends where its connection is accepted.
func (w *World) walk(s *memory.State, f flow.Flow, check bool) trace.Prediction {
	p := trace.Prediction{Flow: f}
	left, steps, rules := 1.0, 0, 0
	for choices := []bool(nil); ; {
		r := &run{w: w.net, world: w, check: check, conns: map[*network.Host][]*conn{}, choices: choices, probability: 1, state: s.Clone()}
		b := r.follow(f)
		p.Branches = append(p.Branches, b)
		left, steps, rules = left-b.Probability, steps+len(b.Steps), rules+r.seen
		if choices = r.next(); choices == nil {
			return p
		}
		if steps > walkSteps || rules > walkRules || len(p.Branches) >= walkBranches {
			rest := ended(flow.Failed, fmt.Sprintf("there are so many random choices that only %d branches were followed", len(p.Branches)))
			rest.Probability, rest.State = max(left, 0), s.Clone()
			p.Branches = append(p.Branches, rest)
			return p
		}
	}
}

// run is one branch of a walk. Where rules choose at random, it takes the next of
// choices, or yes if there is none left; a walk repeats it with other choices until all
// are taken.
type run struct {
	w           *network.World
	world       *World
	check       bool // of a load balancer: it only connects
	choices     []bool
	made        []bool
	probability float64
	conns       map[*network.Host][]*conn
	served      map[*network.Host][]*served
	gateways    map[spread]netip.Addr // what was chosen if a route has several
	state       *memory.State
	leg         trace.Leg
	relays      int           // connections that proxies in user space have made
	within      time.Duration // how long the client waits
	through     []string      // ingress controllers that the request has passed
	steps       []trace.Step
	passed      []flow.Packet
	hits        []trace.Hit
	seen        int // rules
	moves       int
}

// decide makes a choice between yes, with probability p, and no.
func (r *run) decide(p float64) bool {
	if p <= 0 || p >= 1 {
		return p >= 1
	}
	yes := true
	if i := len(r.made); i < len(r.choices) {
		yes = r.choices[i]
	}
	r.made = append(r.made, yes)
	if !yes {
		p = 1 - p
	}
	r.probability *= p
	return yes
}

// next are the choices of the next branch: those of this one up to the last yes,
// which becomes no. Nil: all branches were taken.
func (r *run) next() []bool {
	i := len(r.made) - 1
	for i >= 0 && !r.made[i] {
		i--
	}
	if i < 0 {
		return nil
	}
	return append(slices.Clone(r.made[:i]), false)
}

// spread is what the kernel keeps together if a route has several gateways: one
// connection, whether it hashes addresses or also ports (fib_multipath_hash_policy,
// ip-sysctl.rst).
type spread struct {
	h *network.Host
	t tuple
}

// gateway chooses one of the gateways of a route, the same for all packets of a
// connection.
func (r *run) gateway(h *network.Host, to network.Hop, p *packet) netip.Addr {
	if len(to.More) == 0 {
		return to.Next
	}
	k := spread{h, p.tuple()}
	if a, known := r.gateways[k]; known {
		return a
	}
	all := append([]netip.Addr{to.Next}, to.More...)
	i := 0
	for i < len(all)-1 && !r.decide(1/float64(len(all)-i)) {
		i++
	}
	if r.gateways == nil {
		r.gateways = map[spread]netip.Addr{}
	}
	r.gateways[k] = all[i]
	return all[i]
}

func (r *run) step(p *packet, s trace.Step) {
	s.Leg, s.Tunnel, s.Packet = r.leg, p.depth, p.shown()
	r.steps = append(r.steps, s)
}

// limit ends packets that loop forever, which takes a damaged plan.
func (r *run) limit(h *network.Host, p *packet) *fate {
	if r.moves++; r.moves <= branchSteps {
		return nil
	}
	f := &fate{kind: broken, h: h, p: p, why: fmt.Sprintf("more than %d steps", branchSteps)}
	r.step(p, trace.Step{Kind: trace.Broken, Netns: h.Name, Text: f.why})
	return f
}

// talk is a conversation: what its legs have in common.
type talk struct {
	flow   flow.Flow
	dialer *network.Host
	local  netip.AddrPort
	remote netip.AddrPort
}

func (r *run) follow(f flow.Flow) trace.Branch {
	f.Protocol = cmp.Or(f.Protocol, flow.TCP)
	f.Within = cmp.Or(max(f.Within, 0), defaultWithin)
	f.To = netip.AddrPortFrom(f.To.Addr().Unmap(), f.To.Port())
	r.within = f.Within
	b := r.dial(f)
	b.Probability, b.Steps, b.State = r.probability, r.steps, r.state
	b.Passed, b.Tracked, b.Hits = r.passed, r.entries(), r.hits
	return b
}

func ended(o flow.Outcome, why string) trace.Branch {
	return trace.Branch{Result: flow.Result{Outcome: o}, Why: why}
}

func (r *run) dial(f flow.Flow) trace.Branch {
	r.leg = trace.Request
	h := r.w.Host(f.From)
	if h == nil {
		return ended(flow.Failed, fmt.Sprintf("there is no network namespace %q", f.From))
	}
	to, ok := h.Lookup(f.To.Addr())
	if !ok {
		return ended(flow.Unreachable, to.Why(h, f.To.Addr()))
	}
	src := h.Source(f.To.Addr(), to)
	if !src.IsValid() {
		return ended(flow.Unreachable, fmt.Sprintf("%s has no address to send from", h.Name))
	}
	t := &talk{flow: f, dialer: h, local: netip.AddrPortFrom(src, 0), remote: f.To}
	p := &packet{proto: f.Protocol, src: t.local, dst: t.remote, ttl: 64}
	b := r.arrived(t, r.originate(h, p))
	b.Local = src
	return b
}

// arrived continues where the first packet ended.
func (r *run) arrived(t *talk, f *fate) trace.Branch {
	switch f.kind {
	case delivered:
		return r.serve(t, f)
	case noRoute:
		return ended(flow.Unreachable, f.why)
	case broken:
		return ended(flow.Failed, f.why)
	case noAnswer:
		if t.flow.Within <= flow.NeighbourPatience {
			return ended(flow.Timeout, f.why)
		}
		if f.h == t.dialer {
			return ended(flow.Unreachable, f.why)
		}
		return r.complain(t, f, HostUnreachable.family(f.p.ipv6()))
	}
	if f.told && t.flow.Protocol == flow.UDP {
		return ended(flow.Unreachable, f.why)
	}
	if f.kind == dropped {
		return ended(flow.Timeout, f.why)
	}
	return r.complain(t, f, f.code)
}

// complain sends the dialer an error about the packet of a fate: an ICMP message, or a
// reset.
func (r *run) complain(t *talk, lost *fate, code Code) trace.Branch {
	about, why := lost.p, lost.why
	if code == TCPReset && about.port != nil && (about.served != nil || about.conn != nil && about.conn.dnat) {
		// nf_send_reset in net/ipv4/netfilter/nf_reject_ipv4.c: it is sent directly.
		return ended(flow.Timeout, why+"; the reset for a packet from a bridge bypasses NAT and IPVS, and matches no socket in "+t.dialer.Name)
	}
	f := r.tell(lost, code)
	switch {
	case f.kind == broken:
		return ended(flow.Failed, f.why)
	case f.kind != delivered:
		return ended(flow.Timeout, why+"; the error for that is lost: "+f.why)
	case f.h != t.dialer || !t.hears(f.p):
		return ended(flow.Timeout, why+"; "+astray(f))
	}
	r.step(f.p, trace.Step{Kind: trace.Deliver, Netns: f.h.Name})
	return ended(code.outcome(), why)
}

// tell sends an error about the packet of a fate to its sender.
func (r *run) tell(lost *fate, code Code) *fate {
	r.leg = trace.Reply
	h, about := lost.h, lost.p
	quoted := about.tuple()
	p := &packet{proto: about.proto, ttl: 64, dst: netip.AddrPortFrom(about.src.Addr(), 0), conn: about.conn, back: true}
	if p.conn != nil {
		p.state = "RELATED"
	}
	if code == TCPReset {
		p.kind, p.src, p.dst = reset, about.dst, about.src
	} else {
		p.kind, p.code, p.quoted = failure, code, &quoted
		p.src = netip.AddrPortFrom(errorSource(h, about), 0)
	}
	return r.sendError(lost.from, h, p)
}

// sendError sends an error from a host. A program behind a TUN device writes it there, as
// if it came from the destination itself.
func (r *run) sendError(from *network.Link, h *network.Host, p *packet) *fate {
	if from == nil {
		return r.originate(h, p)
	}
	p.src = netip.AddrPortFrom(p.quoted.dst.Addr(), 0)
	return r.receive(h, from, p, false)
}

// errorSource is the source address of a host's ICMP error: the packet's destination,
// if that is local (icmp_send).
func errorSource(h *network.Host, about *packet) netip.Addr {
	if dst := about.dst.Addr(); h.IsLocal(dst) {
		return dst
	}
	back := about.src.Addr()
	if to, ok := h.Lookup(back); ok {
		return h.Source(back, to)
	}
	return about.dst.Addr()
}

func (t *talk) hears(p *packet) bool {
	if p.quoted != nil {
		return p.quoted.src == t.local && p.quoted.dst == t.remote
	}
	return p.src == t.remote && p.dst == t.local
}

func astray(f *fate) string {
	return fmt.Sprintf("the reply reaches %s as %s, which matches no socket there", f.h.Name, f.p.shown())
}

// serve is the server's side: an agent answers, or the kernel reports a closed port.
func (r *run) serve(t *talk, f *fate) trace.Branch {
	if x := f.h.TunnelAt(f.p.dst); x != nil && f.p.proto == flow.UDP {
		return ended(flow.Timeout, r.lose(f.h, f.p, "the tunnel of %s in %s receives on udp port %d, and drops what does not come from another tunnel", x.Link, f.h.Name, x.At.Port()).why)
	}
	if dev := f.h.TunnelSocket(f.p.dst); dev != nil && f.p.proto == flow.UDP {
		return ended(flow.Timeout, r.lose(f.h, f.p, "%s of %s receives on udp port %d, and drops what is not VXLAN", dev.Name, f.h.Name, dev.VXLAN.Port).why)
	}
	if x := f.h.ProxyPort(string(f.p.proto), f.p.dst); x != nil {
		return r.relay(t, f, x)
	}
	who := listener(f.h, f.p)
	if who == nil && f.h.SpeaksBGP(f.p.dst) && f.p.proto == flow.TCP {
		b := r.converse(t, f)
		if b.Outcome == flow.Connected {
			b = ended(flow.Reset, fmt.Sprintf("the BGP speaker of %s takes no connections but those of its peers that it has no session with", f.h.Name))
		}
		return b
	}
	if who == nil {
		for i := range f.h.Execs {
			if x := &f.h.Execs[i]; x.Accepts(string(f.p.proto), f.p.dst.Port()) {
				return r.program(t, f, x)
			}
		}
		why := fmt.Sprintf("nothing in %s listens on %s port %d", f.h.Name, t.flow.Protocol, f.p.dst.Port())
		if len(f.h.Execs) > 0 {
			why = fmt.Sprintf("no port block in %s says that its program listens on %s port %d", f.h.Name, t.flow.Protocol, f.p.dst.Port())
		}
		r.step(f.p, trace.Step{Kind: trace.Rejected, Netns: f.h.Name, Text: why})
		b := r.closed(t, f, why)
		b.Assumed = len(f.h.Execs) > 0
		return b
	}
	if who.Ingress != (occupant.Ingress{}) {
		return r.ingress(t, f, who)
	}
	if who.DNS { // it answers only queries
		return r.program(t, f, &occupant.Exec{Name: who.Name, Node: who.Node})
	}
	seen, ttl := f.p.src, f.p.ttl
	r.step(f.p, trace.Step{Kind: trace.Deliver, Netns: f.h.Name, Text: who.Name})
	b := r.converse(t, f)
	if b.Outcome != flow.Connected {
		return b
	}
	if t.flow.TLS || t.flow.Proxied != (flow.Proxied{}) {
		return b // neither is HTTP to an agent
	}
	if t.flow.Path != "" {
		b.Status, b.Header = status(who), t.flow.Look.Pick(func(name string) (string, bool) { return request.Answered(who, name) })
	}
	// A health check reports on the service, not its own name and what it saw.
	if who.Health == (occupant.Health{}) {
		b.Answer, b.Node, b.Source, b.TTL = who.Name, who.Node, seen.Addr(), ttl
		if t.flow.Path != "" {
			b.Seen, b.Forwarded = t.flow.Seen.Pick(request.Asked(t.flow)), request.Forwarded(t.flow)
		}
	}
	return b
}

// program is the server's side where a program listens. A datagram that arrives is all that
// counts, since a program answers only what it understands; what it writes in an HTTP
// response, or does with an upload, is not in the plan.
func (r *run) program(t *talk, f *fate, x *occupant.Exec) trace.Branch {
	seen, ttl := f.p.src, f.p.ttl
	r.step(f.p, trace.Step{Kind: trace.Deliver, Netns: f.h.Name, Text: x.Name})
	b := ended(flow.Connected, "")
	if t.flow.Protocol != flow.UDP {
		if b = r.converse(t, f); b.Outcome != flow.Connected {
			return b
		}
	}
	b.Answer, b.Node, b.Source, b.TTL = x.Name, x.Node, seen.Addr(), ttl
	if t.flow.Path != "" {
		b.Status, b.Header, b.Seen = flow.AnyStatus, t.flow.Look.Pick(request.Unknown), t.flow.Seen.Pick(request.Unknown)
	}
	if b.Assumed = t.flow.Upload > 0; b.Assumed {
		b.Why = fmt.Sprintf("what the program of %s does with an upload is not in the plan", x.Name)
	}
	if t.flow.TLS || t.flow.Proxied != (flow.Proxied{}) {
		b.Assumed, b.Why = true, fmt.Sprintf("whether the program of %s speaks TLS or the PROXY protocol is not in the plan", x.Name)
	}
	return b
}

// status is that of the HTTP response of an agent: a health check tells a load balancer
// to avoid a node without endpoints.
func status(who *occupant.Agent) int {
	if who.Health != (occupant.Health{}) && who.Health.LocalEndpoints == 0 {
		return 503
	}
	return 200
}

// listener returns the agent whose socket takes a packet; nil: none does.
func listener(h *network.Host, p *packet) *occupant.Agent {
	for i := range h.Agents {
		if at := h.Agents[i].At; at.IsValid() && at != p.dst.Addr() {
			continue
		}
		for _, l := range h.Agents[i].Listen {
			if l.Protocol == string(p.proto) && l.Port == p.dst.Port() {
				return &h.Agents[i]
			}
		}
	}
	return nil
}

// closed is the reply to a packet for which no socket is open.
func (r *run) closed(t *talk, f *fate, why string) trace.Branch {
	code := TCPReset
	if t.flow.Protocol == flow.UDP {
		code = PortUnreachable.family(f.p.ipv6())
	}
	about := *f.p
	about.conn, about.port = nil, nil // it has left the stack: the reply is a new packet
	return r.complain(t, &fate{h: f.h, p: &about, why: why}, code)
}

// converse is the rest of the conversation: the reply to the first packet, and on a
// stream a request and its response, which firewalls may judge differently.
func (r *run) converse(t *talk, f *fate) trace.Branch {
	server, local, remote := f.h, f.p.dst, f.p.src
	legs := []struct {
		leg    trace.Leg
		kind   kind
		answer bool
	}{{trace.Reply, reply, true}, {trace.Data, data, false}, {trace.Answer, data, true}}
	if t.flow.Protocol == flow.UDP {
		legs = legs[:1]
	}
	for _, l := range legs {
		from, p := t.dialer, packet{kind: l.kind, proto: t.flow.Protocol, src: t.local, dst: t.remote, ttl: 64}
		if l.answer {
			from, p.src, p.dst = server, local, remote
		}
		if l.leg == trace.Data && t.flow.Upload > 0 {
			p.size = r.longest(t, server, remote)
		}
		r.leg = l.leg
		mark := len(r.steps)
		got, stalled := r.fit(from, t, p)
		switch {
		case stalled != "":
			return stalls(got, stalled)
		case got.kind == broken:
			return ended(flow.Failed, got.why)
		case got.kind != delivered:
			return ended(flow.Timeout, "the "+string(l.leg)+" is lost: "+got.why)
		case l.answer && (got.h != t.dialer || !t.hears(got.p)):
			return ended(flow.Timeout, astray(got))
		case !l.answer && (got.h != server || got.p.dst != local || got.p.src != remote):
			return ended(flow.Timeout, fmt.Sprintf("the rest of the connection goes to %s as %s", got.h.Name, got.p.shown()))
		case l.leg == trace.Reply:
			r.step(got.p, trace.Step{Kind: trace.Deliver, Netns: got.h.Name})
		default:
			r.steps = r.steps[:mark] // the same path as before
		}
	}
	return ended(flow.Connected, "")
}
