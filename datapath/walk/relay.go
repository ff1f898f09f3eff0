package walk

import (
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/netlab/netlab/datapath/flow"
	"github.com/netlab/netlab/datapath/plan/occupant"
	"github.com/netlab/netlab/datapath/walk/memory"
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
	r.step(f.p, trace.Step{Kind: trace.Deliver, Netns: f.h.Name, Text: "the proxy of " + x.Service, Origin: trace.Origin(x.Origin)})
	if t.flow.Protocol == flow.UDP {
		return r.relayDatagram(t, f, x)
	}
	if b := r.converse(t, f); b.Outcome != flow.Connected {
		return b
	}
	choose, waited := r.turns(f, x), time.Duration(0)
	why := "the proxy of " + x.Service + " has no endpoint, and closes the connection"
	for i, patience := range flow.ProxyPatience() {
		e, ok := choose(i)
		if !ok {
			break
		}
		b := r.onward(t, f, x, e, patience)
		if b.Outcome == flow.Connected || b.Outcome == flow.Failed {
			return b
		}
		if b.Outcome == flow.Timeout {
			waited += patience
		}
		why = fmt.Sprintf("the proxy of %s connects to none of its endpoints, and closes the connection: %s", x.Service, b.Why)
		if waited >= t.flow.Within {
			return ended(flow.Timeout, fmt.Sprintf("the proxy of %s still tries its endpoints: %s", x.Service, b.Why))
		}
	}
	return ended(flow.Reset, why)
}

// relayDatagram is relay for UDP, where nothing tells the proxy whether an endpoint answers.
func (r *run) relayDatagram(t *talk, f *fate, x *occupant.ProxyPort) trace.Branch {
	choose := r.turns(f, x)
	for i := range flow.ProxyPatience() {
		e, ok := choose(i)
		if !ok {
			break
		}
		if _, ok := f.h.Lookup(e.Addr()); !ok {
			continue
		}
		b := r.onward(t, f, x, e, t.flow.Within)
		switch b.Outcome {
		case flow.Connected:
			if back := r.converse(t, f); back.Outcome != flow.Connected {
				return back
			}
			return b
		case flow.Failed:
			return b
		}
		return ended(flow.Timeout, fmt.Sprintf("the proxy of %s hears nothing from its endpoint: %s", x.Service, b.Why))
	}
	return ended(flow.Timeout, "the proxy of "+x.Service+" has no endpoint, and drops the datagram")
}

// onward makes the proxy's own connection to an endpoint.
func (r *run) onward(t *talk, f *fate, x *occupant.ProxyPort, e netip.AddrPort, within time.Duration) trace.Branch {
	if r.relays++; r.relays > maxRelays {
		return ended(flow.Failed, "proxies in user space lead to each other in a loop")
	}
	r.leg = trace.Request
	i := slices.Index(x.Endpoints, e)
	r.step(f.p, trace.Step{Kind: trace.Relay, Netns: f.h.Name, Origin: trace.Origin(x.Origin),
		Text: fmt.Sprintf("%s takes endpoint %s (%d of %d)", x.Service, e, i+1, len(x.Endpoints))})
	b := r.dial(flow.Flow{From: f.h.Name, To: e, Protocol: t.flow.Protocol, Path: t.flow.Path, Upload: t.flow.Upload, Within: within})
	r.leg = trace.Reply
	return b
}

// turns returns what chooses the endpoint of each attempt: the one that the client had, else
// any, and after that the next of the list.
func (r *run) turns(f *fate, x *occupant.ProxyPort) func(attempt int) (netip.AddrPort, bool) {
	key := memory.Affinity{Netns: f.h.Name, Proto: x.Protocol, Server: x.At, Client: f.p.src.Addr()}
	lasts := time.Duration(x.Affinity) * time.Second
	next := -1
	return func(attempt int) (e netip.AddrPort, ok bool) {
		n := len(x.Endpoints)
		if n == 0 {
			return e, false
		}
		if lasts > 0 && attempt == 0 {
			if e, ok = r.state.Bound(key, lasts); ok && slices.Contains(x.Endpoints, e) {
				r.state.Bind(key, e)
				return e, true
			}
		}
		if next < 0 {
			for next = 0; next < n-1 && !r.decide(1/float64(n-next)); next++ {
			}
		}
		e = x.Endpoints[next]
		next = (next + 1) % n
		if lasts > 0 {
			r.state.Bind(key, e)
		}
		return e, true
	}
}
