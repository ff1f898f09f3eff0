//go:build linux

package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/netlab/netlab/datapath/capture"
	"github.com/netlab/netlab/datapath/flow"
	"github.com/netlab/netlab/datapath/kernel/conntrack"
	"github.com/netlab/netlab/datapath/plan"
)

// Watch asks what can be seen of flows beside their results.
type Watch struct {
	Flows   []flow.Flow
	Links   []plan.Peer // whose packets are recorded
	Tracked []string    // namespaces whose connection tracking is listed
	Counted []string    // namespaces whose rules' counters are read
}

// Watch dials flows, one after the other and nothing else meanwhile, and returns what happened to
// each and what was seen of it. What programs and tunnels send by themselves is seen, too; load
// balancers do not check nodes meanwhile.
func (c *Client) Watch(ctx context.Context, w Watch) ([]flow.Observation, []flow.Sight, error) {
	r, err := c.call(ctx, request{Verb: verbWatch, Watch: w})
	return r.Observations, r.Sights, err
}

const (
	// quiet is how long nothing passes any more when a connection is over, and settles the most
	// that this may take.
	quiet   = 3 * time.Millisecond
	settles = 250 * time.Millisecond
)

func (e *engine) watch(ctx context.Context, w Watch) (r reply, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	defer e.inside.PauseChecks()()
	var links []capture.Link
	for _, l := range w.Links {
		ns, err := e.kernel.Namespace(l.Netns)
		if err != nil {
			return r, err
		}
		links = append(links, capture.Link{Netns: l.Netns, Name: l.Link, NS: ns})
	}
	tunnels := tunnelsOf(e.kernel.Applied())
	taps, err := capture.Open(links, tunnels)
	if err != nil {
		return r, err
	}
	defer taps.Close()
	tables := map[string]*conntrack.Table{}
	defer func() {
		for _, t := range tables {
			t.Close()
		}
	}()
	for _, name := range w.Tracked {
		ns, err := e.kernel.Namespace(name)
		if err != nil {
			return r, err
		}
		err = ns.Do(func() (err error) {
			tables[name], err = conntrack.Open()
			return err
		})
		if err != nil {
			delete(tables, name)
			return r, err
		}
	}
	for _, f := range w.Flows {
		var seen flow.Observation
		var sight flow.Sight
		for again := 0; again < retries; again++ {
			if seen, sight, err = e.watched(ctx, f, w, taps, tables, tunnels); err != nil {
				return r, err
			}
			if seen.Outcome != flow.Connected || !slices.ContainsFunc(w.Tracked, func(name string) bool { return !sight.Tracks(name) }) {
				break
			}
		}
		r.Observations, r.Sights = append(r.Observations, seen), append(r.Sights, sight)
	}
	return r, nil
}

// retries is how often a connection is made of which connection tracking shows nothing new
// somewhere: its port may be one that a connection before it had, to the same end, whose entry it
// then takes over.
const retries = 3

// watched dials one flow, and returns what was seen of it.
func (e *engine) watched(ctx context.Context, f flow.Flow, w Watch, taps *capture.Capture, tables map[string]*conntrack.Table, tunnels capture.Tunnels) (seen flow.Observation, s flow.Sight, err error) {
	if err := ctx.Err(); err != nil {
		return seen, s, err
	}
	if _, err := taps.Drain(ctx, 0, settles); err != nil { // what came before it
		return seen, s, err
	}
	before, err := e.tally(ctx, w, tables)
	if err != nil {
		return seen, s, err
	}
	seen = e.inside.Dial(ctx, []flow.Flow{f}, e.kernel.Namespace)[0]
	if s.Packets, err = taps.Drain(ctx, quiet, settles); err != nil {
		return seen, s, err
	}
	after, err := e.tally(ctx, w, tables)
	if err != nil {
		return seen, s, err
	}
	s.Entries, s.Counts = after.since(before, tunnels)
	return seen, s, nil
}

// tunnelsOf are the UDP ports at which the tunnels of a plan receive.
func tunnelsOf(p *plan.Plan) capture.Tunnels {
	all := capture.Tunnels{}
	for i := range p.Netns {
		for _, l := range p.Netns[i].Links {
			if l.Type == plan.VXLAN {
				all[uint16(l.VXLAN.Port)] = capture.Tunnel{Kind: flow.InVXLAN}
			}
		}
		for _, t := range p.Netns[i].Tunnels {
			kind := capture.Tunnel{Kind: flow.InUDP, Hides: t.Secret != ""}
			if t.WireGuard() {
				kind = capture.Tunnel{Kind: flow.InWireGuard, Hides: true}
			}
			all[t.At.Port()] = kind
		}
	}
	return all
}

// tally is what tracking and rules know at one time.
type tally struct {
	entries []flow.Entry
	counted []plan.Counted
}

func (e *engine) tally(ctx context.Context, w Watch, tables map[string]*conntrack.Table) (t tally, err error) {
	for _, name := range w.Tracked {
		list, err := tables[name].List()
		if err != nil {
			return t, fmt.Errorf("%s: %w", name, err)
		}
		for _, x := range list {
			x.Netns = name
			t.entries = append(t.entries, x)
		}
	}
	if len(w.Counted) > 0 {
		t.counted, err = e.kernel.Counters(ctx, w.Counted...)
	}
	return t, err
}

// since is what is new, but for the entries of tunnels, and what was counted more.
func (t tally) since(before tally, tunnels capture.Tunnels) (entries []flow.Entry, counts []flow.Count) {
	known := map[flow.Entry]bool{}
	for _, x := range before.entries {
		x.Replied = false
		known[x] = true
	}
	for _, x := range t.entries {
		same := x
		same.Replied = false
		_, tunnel := tunnels[x.Destination.Port()]
		if !known[same] && !x.Destination.Addr().IsMulticast() && !(tunnel && x.Protocol == string(flow.UDP)) {
			entries = append(entries, x)
		}
	}
	slices.SortFunc(entries, func(a, b flow.Entry) int { return a.Source.Compare(b.Source) })
	for i, c := range t.counted {
		var had plan.Counted
		if i < len(before.counted) {
			had = before.counted[i]
		}
		if c.Packets > had.Packets {
			s := c.Saved()
			counts = append(counts, flow.Count{Netns: c.Netns, Tool: s.Tool, Table: s.Table, Chain: s.Chain, Rule: s.Text, Packets: c.Packets - had.Packets})
		}
	}
	return entries, counts
}

// Wire asks what one flow costs on the links that it leaves by.
type Wire struct {
	Flow   flow.Flow
	Own    plan.Peer // the link of the dialer
	Uplink plan.Peer // the link whose bytes are counted
}

// OnWire dials a flow and returns what was observed, and how many bytes the uplink sent
// meanwhile, as they would be on a wire: each TCP segment with headers of its own.
func (c *Client) OnWire(ctx context.Context, w Wire) (flow.Observation, uint64, error) {
	r, err := c.call(ctx, request{Verb: verbWire, Wire: w})
	if err != nil || len(r.Observations) == 0 {
		return flow.Observation{}, 0, err
	}
	return r.Observations[0], r.Sent, nil
}

func (e *engine) wire(ctx context.Context, w Wire) (r reply, err error) {
	e.mu.Lock() // nothing else is dialed meanwhile
	defer e.mu.Unlock()
	for _, link := range []plan.Peer{w.Own, w.Uplink} {
		if err := e.kernel.Bundle(link, false); err != nil {
			return r, err
		}
		defer func() { err = errors.Join(err, e.kernel.Bundle(link, true)) }()
	}
	before, err := e.kernel.Sent(w.Uplink)
	if err != nil {
		return r, err
	}
	r.Observations = e.inside.Dial(ctx, []flow.Flow{w.Flow}, e.kernel.Namespace)
	after, err := e.kernel.Sent(w.Uplink)
	r.Sent = after - before
	return r, err
}
