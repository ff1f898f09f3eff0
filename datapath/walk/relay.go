package walk

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/netlab/netlab/datapath/flow"
	"github.com/netlab/netlab/datapath/plan/httproute"
	"github.com/netlab/netlab/datapath/plan/occupant"
	"github.com/netlab/netlab/datapath/walk/memory"
	"github.com/netlab/netlab/datapath/walk/request"
	"github.com/netlab/netlab/datapath/walk/trace"
)

// A proxy in user space ends the client's connection and makes another to an endpoint, from
// its own host. Which endpoint is next depends on all earlier connections, which a walk does
// not know; the one after it, if that cannot be connected to, is the next in the list.

// maxRelays is how many connections in a row proxies make: one whose endpoint is the
// address of a service may lead back to itself.
const maxRelays = 40

// relay is the server's side where a proxy in user space listens.
func (r *run) relay(t *talk, f *fate, x *occupant.ProxyPort) trace.Branch {
	r.step(f.p, trace.Step{Kind: trace.Deliver, Netns: f.h.Name, Text: x.Called(), Origin: trace.Origin(x.Origin)})
	if t.flow.Protocol == flow.UDP {
		return r.relayDatagram(t, f, x)
	}
	if b := r.converse(t, f); b.Outcome != flow.Connected || r.check {
		return b
	}
	healthy, found := r.healthy(f.h.Name, x)
	choose, waited := r.turns(f, x, healthy), time.Duration(0)
	why := x.Called() + " has no endpoint, and closes the connection" + found
	patiences := flow.ProxyPatience()
	if x.Balancer {
		patiences = []time.Duration{flow.BalancerPatience}
	}
	for i, patience := range patiences {
		e, ok := choose(i)
		if !ok {
			break
		}
		b := r.onward(t, f, x, e, patience, found)
		if b.Outcome == flow.Connected || b.Outcome == flow.Failed {
			return b
		}
		if b.Outcome == flow.Timeout {
			waited += patience
		}
		why = fmt.Sprintf("%s connects to none of its endpoints, and closes the connection: %s", x.Called(), b.Why)
		if waited >= t.flow.Within {
			return ended(flow.Timeout, fmt.Sprintf("%s still tries its endpoints: %s", x.Called(), b.Why))
		}
	}
	return ended(flow.Reset, why)
}

// relayDatagram is relay for UDP, where nothing tells the proxy whether an endpoint answers.
func (r *run) relayDatagram(t *talk, f *fate, x *occupant.ProxyPort) trace.Branch {
	choose := r.turns(f, x, x.Endpoints)
	for i := range flow.ProxyPatience() {
		e, ok := choose(i)
		if !ok {
			break
		}
		if _, ok := f.h.Lookup(e.Addr()); !ok {
			continue
		}
		b := r.onward(t, f, x, e, t.flow.Within, "")
		switch b.Outcome {
		case flow.Connected:
			if back := r.converse(t, f); back.Outcome != flow.Connected {
				return back
			}
			return b
		case flow.Failed:
			return b
		}
		return ended(flow.Timeout, fmt.Sprintf("%s hears nothing from its endpoint: %s", x.Called(), b.Why))
	}
	return ended(flow.Timeout, x.Called()+" has no endpoint, and drops the datagram")
}

// onward makes the proxy's own connection to an endpoint.
func (r *run) onward(t *talk, f *fate, x *occupant.ProxyPort, e netip.AddrPort, within time.Duration, found string) trace.Branch {
	if r.relays++; r.relays > maxRelays {
		return ended(flow.Failed, "proxies in user space lead to each other in a loop")
	}
	r.leg = trace.Request
	i := slices.Index(x.Endpoints, e)
	r.step(f.p, trace.Step{Kind: trace.Relay, Netns: f.h.Name, Origin: trace.Origin(x.Origin),
		Text: fmt.Sprintf("%s takes endpoint %s (%d of %d)%s", x.Service, e, i+1, len(x.Endpoints), found)})
	next := t.flow // all that is sent
	next.From, next.To, next.Within, next.Once = f.h.Name, e, within, false
	b := r.dial(next)
	r.leg = trace.Reply
	return b
}

// turns returns what chooses the endpoint of each attempt, one of those that get connections: the
// one that the client had, else any, and after that the next of the list.
func (r *run) turns(f *fate, x *occupant.ProxyPort, list []netip.AddrPort) func(attempt int) (netip.AddrPort, bool) {
	key := memory.Affinity{Netns: f.h.Name, Proto: x.Protocol, Server: x.At, Client: f.p.src.Addr()}
	lasts := time.Duration(x.Affinity) * time.Second
	next := -1
	return func(attempt int) (e netip.AddrPort, ok bool) {
		n := len(list)
		if n == 0 {
			return e, false
		}
		if lasts > 0 && attempt == 0 {
			if e, ok = r.state.Bound(key, lasts); ok && slices.Contains(list, e) {
				r.state.Bind(key, e)
				return e, true
			}
		}
		if next < 0 {
			for next = 0; next < n-1 && !r.decide(1/float64(n-next)); next++ {
			}
		}
		e = list[next]
		next = (next + 1) % n
		if lasts > 0 {
			r.state.Bind(key, e)
		}
		return e, true
	}
}

// ingress is the server's side where an ingress controller listens: it chooses an endpoint by
// the host and path of the request, and connects to it from its own host. What it answers
// itself has its own name, and the address of the connection's other end.
func (r *run) ingress(t *talk, f *fate, who *occupant.Agent) trace.Branch {
	seen := f.p.src.Addr()
	secure := f.p.dst.Port() == who.Ingress.HTTPS
	r.step(f.p, trace.Step{Kind: trace.Deliver, Netns: f.h.Name, Text: who.Name})
	b := r.converse(t, f)
	proxied := t.flow.Proxied != (flow.Proxied{})
	switch {
	case b.Outcome != flow.Connected || t.flow.Path == "":
		return b // or an answer to what is no request
	case t.flow.TLS && (!secure || proxied != who.Ingress.ProxyProtocol):
		b.Assumed, b.Why = true, "how "+who.Name+" ends a connection that does not begin as it expects is not in the plan"
		return b
	case who.Ingress.ProxyProtocol && !proxied:
		b.Why = who.Name + " closes a connection that does not begin with the PROXY protocol"
		return b
	case secure && !t.flow.TLS || !who.Ingress.ProxyProtocol && proxied:
		b.Status, b.Header, b.Why = 400, t.flow.Look.Pick(request.Unknown), who.Name+" does not understand how the connection begins"
		return b
	}
	table := f.h.Requests()
	if t.flow.TLS {
		name, ok := table.Certificate(t.flow.Host)
		if !ok {
			b.Why = fmt.Sprintf("%s has no certificate for %q, so the client gives up", who.Name, t.flow.Host)
			return b
		}
		r.step(f.p, trace.Step{Kind: trace.Relay, Netns: f.h.Name, Text: "TLS with the certificate of " + name})
	}
	own := func(status int, why string) trace.Branch {
		b := ended(flow.Connected, why)
		b.Status, b.Answer, b.Node, b.Source = status, who.Name, who.Node, seen
		b.Header = t.flow.Look.Pick(func(name string) (string, bool) { return request.Answered(who, name) })
		return b
	}
	if slices.Contains(r.through, who.Name) {
		return own(508, "the request has passed "+who.Name+" before")
	}
	r.through = append(r.through, who.Name)
	defer func() { r.through = r.through[:len(r.through)-1] }()
	asks := httproute.Request{Host: cmp.Or(t.flow.Host, t.flow.To.String()), Target: t.flow.Path, Secure: t.flow.TLS, Header: t.flow.Sends.Get}
	route, ok := table.Choose(asks)
	if !ok {
		return own(404, "no route of "+who.Name+" is for the request")
	}
	if words := route.Filters.Words(); words != "" {
		r.step(f.p, trace.Step{Kind: trace.Relay, Netns: f.h.Name, Origin: trace.Origin(route.Origin), Text: fmt.Sprintf("%s of %s %s", route.Where(), route.Object, words)})
	}
	if d := route.Filters.Redirect; d != nil {
		location := route.Location(asks)
		b := own(d.Status, route.Where()+" leads to "+location)
		b.Header = request.Changed(t.flow.Look, b.Header, httproute.Change{Set: []httproute.Header{{Name: "Location", Value: location}}})
		b.Header = request.Changed(t.flow.Look, b.Header, route.Filters.Response)
		return b
	}
	if len(route.Backends) == 0 {
		return own(500, route.Where()+" leads nowhere: it has no backend")
	}
	backend := r.weighted(route.Backends)
	if backend == nil {
		return own(500, route.Words()+" leads nowhere: no weight is above 0")
	}
	if backend.Refused {
		return own(500, route.Where()+" leads to "+backend.Service+" of another namespace, which no reference grant allows")
	}
	if len(backend.Endpoints) == 0 {
		return own(503, "what "+route.Words()+" leads to has no endpoint")
	}
	client := seen
	if proxied {
		client = t.flow.Proxied.Client.Addr()
	}
	return r.handOn(f, who, route, backend, request.PassedOn(t.flow, who, route, asks, client), own)
}

// weighted chooses a backend by the weights.
func (r *run) weighted(backends []httproute.Backend) *httproute.Backend {
	left := 0
	for _, b := range backends {
		left += b.Weight
	}
	for i := range backends {
		if w := backends[i].Weight; w > 0 {
			if r.decide(float64(w) / float64(left)) {
				return &backends[i]
			}
			left -= w
		}
	}
	return nil
}

// handOn makes the controller's own connection to an endpoint of a backend, any of them, or else
// to the next ones.
func (r *run) handOn(f *fate, who *occupant.Agent, route *httproute.Route, backend *httproute.Backend, next flow.Flow, own func(int, string) trace.Branch) trace.Branch {
	n, turn := len(backend.Endpoints), 0
	for ; turn < n-1 && !r.decide(1/float64(n-turn)); turn++ {
	}
	status, why, waited := 502, "", time.Duration(0)
	for range min(n, httproute.Attempts) {
		e := backend.Endpoints[turn]
		turn = (turn + 1) % n
		r.leg = trace.Request
		next.From, next.To = f.h.Name, e
		r.step(f.p, trace.Step{Kind: trace.Relay, Netns: f.h.Name, Origin: trace.Origin(route.Origin),
			Text: fmt.Sprintf("%s leads to %s of %s", route.Where(), e, backend.Service)})
		b := r.dial(next)
		r.leg = trace.Reply
		switch b.Outcome {
		case flow.Connected:
			b.Header = request.Changed(next.Look, b.Header, route.Filters.Response)
			return b
		case flow.Failed:
			return b
		case flow.Timeout:
			status, waited = 504, waited+flow.IngressPatience
		default:
			status = 502
		}
		why = fmt.Sprintf("%s connects to no endpoint of %s: %s", who.Name, backend.Service, b.Why)
		if waited >= r.within {
			return ended(flow.Timeout, fmt.Sprintf("%s still tries the endpoints of %s: %s", who.Name, backend.Service, b.Why))
		}
	}
	return own(status, why)
}
