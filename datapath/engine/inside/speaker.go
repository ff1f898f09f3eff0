//go:build linux

package inside

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/netlab/netlab/datapath/agents/bgp"
	"github.com/netlab/netlab/datapath/flow"
	"github.com/netlab/netlab/datapath/kernel"
	"github.com/netlab/netlab/datapath/netns"
	"github.com/netlab/netlab/datapath/plan"
	vocabulary "github.com/netlab/netlab/datapath/plan/bgp"
)

const (
	// holdTime is how long a session lives without a message.
	holdTime = 3 * time.Second
	// convergence is how long speakers may take to learn what the plan says that they learn:
	// some hold times, since what they must forget may depend on each other.
	convergence = 10 * time.Second
	// named is how many things that are missing then are named.
	named = 5
)

// speaker is a BGP speaker that runs.
type speaker struct {
	*bgp.Speaker
	planned vocabulary.Speaker
	ns      *netns.NS
	routes  *kernel.Routes
	// built says that the lab is as planned, firewalls included: before that a session could
	// begin that they are to prevent.
	built atomic.Bool
}

var errBuilding = errors.New("the lab is being built")

// Set and Remove are for what a speaker learns.
func (s *speaker) Set(to netip.Prefix, h vocabulary.Hop) error {
	return s.routes.Set(plan.Route{To: to, Via: h.Via, More: h.More, Dev: h.Dev, OnLink: h.OnLink, Protocol: plan.BGP})
}

func (s *speaker) Remove(to netip.Prefix) error { return s.routes.Remove(plan.Route{To: to}) }

// speak starts, reconfigures and ends the speaker in the namespace of the thread.
func (o *occupants) speak(add, remove []vocabulary.Speaker) error {
	if s := o.speaker; s != nil && len(remove) > 0 && (len(add) == 0 || add[0].AS != s.planned.AS || add[0].ID != s.planned.ID) {
		s.end()
		o.speaker = nil
	}
	if len(add) == 0 {
		return nil
	}
	want := add[0]
	if s := o.speaker; s != nil {
		if !s.planned.Same(&want) {
			config := want
			s.Configure(&config)
		}
		s.planned = want
		return nil
	}
	s, err := startSpeaker(want)
	if err != nil {
		return fmt.Errorf("BGP speaker: %w", err)
	}
	o.speaker = s
	return nil
}

func startSpeaker(want vocabulary.Speaker) (*speaker, error) {
	ns, err := netns.Current()
	if err != nil {
		return nil, err
	}
	s := &speaker{planned: want, ns: ns}
	if s.routes, err = kernel.OpenRoutes(); err == nil {
		config := want
		err = onceFree(func() (err error) {
			s.Speaker, err = bgp.Open(bgp.Config{Speaker: &config, Hold: flow.Stretched(holdTime, flow.TimeScale()), Dial: s.dial, Routes: s})
			return err
		})
	}
	if err != nil {
		if s.routes != nil {
			s.routes.Close()
		}
		ns.Close()
		return nil, err
	}
	return s, nil
}

func (s *speaker) dial(ctx context.Context, from, to netip.AddrPort) (conn net.Conn, err error) {
	if !s.built.Load() {
		return nil, errBuilding
	}
	err = s.ns.Do(func() (err error) {
		d := net.Dialer{LocalAddr: net.TCPAddrFromAddrPort(from)}
		conn, err = d.DialContext(ctx, "tcp", to.String())
		return err
	})
	return conn, err
}

func (s *speaker) end() {
	s.Close()
	s.routes.Close()
	s.ns.Close()
}

// asPlanned is the speaker with the sessions that are up and down now.
func (s *speaker) asPlanned() vocabulary.Speaker {
	p := s.planned
	p.Peers = slices.Clone(p.Peers)
	for i, x := range s.Sessions() {
		p.Peers[i].Down = x.Peer.Down
	}
	return p
}

// AwaitConvergence waits until the speakers have learned what a plan says, no more and no less.
// Before that they connect, and repair their routes.
func (in *Lab) AwaitConvergence(ctx context.Context, want *plan.Plan) error {
	in.mu.Lock()
	speakers := map[string]*speaker{}
	for name, o := range in.spaces {
		if o.speaker != nil {
			speakers[name] = o.speaker
		}
	}
	in.mu.Unlock()
	if len(speakers) == 0 {
		return nil
	}
	within := flow.Stretched(convergence, flow.TimeScale())
	deadline := time.Now().Add(within)
	for _, s := range speakers {
		s.built.Store(true)
		s.Repair()
	}
	for pause := time.Millisecond; ; pause = min(2*pause, 50*time.Millisecond) {
		missing := unlearned(want, speakers)
		if len(missing) == 0 {
			return nil
		}
		if time.Now().After(deadline) {
			more := ""
			if n := len(missing) - named; n > 0 {
				missing, more = missing[:named], fmt.Sprintf("; and %d more", n)
			}
			return fmt.Errorf("BGP has not converged after %v: %s%s", within, strings.Join(missing, "; "), more)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause):
		}
	}
}

// unlearned says in which way speakers deviate from a plan.
func unlearned(want *plan.Plan, speakers map[string]*speaker) (missing []string) {
	for i := range want.Netns {
		n := &want.Netns[i]
		s := speakers[n.Name]
		if s == nil {
			continue
		}
		note := func(format string, args ...any) {
			missing = append(missing, n.Name+": "+fmt.Sprintf(format, args...))
		}
		for k, x := range s.Sessions() {
			switch down := s.planned.Peers[k].Down; {
			case x.Peer.Down && !down:
				note("session with %s is not established: %v", x.Peer.Words(), x.Why)
			case down && !x.Peer.Down:
				note("session with %s is still established", x.Peer.Words())
			}
		}
		learned := s.Learned()
		for _, r := range n.Learned() {
			if h, ok := learned[r.To]; !ok || h.Via != r.Via {
				note("route to %s is not learned", r.To)
			}
			delete(learned, r.To)
		}
		for _, to := range slices.SortedFunc(maps.Keys(learned), netip.Prefix.Compare) {
			note("route to %s is not withdrawn", to)
		}
	}
	return missing
}

// Session is a BGP session of a lab.
type Session struct {
	Netns       string `json:"netns"`
	AS          uint32 `json:"as"`
	Peer        string `json:"peer"`
	Address     string `json:"address"`
	PeerAS      uint32 `json:"peerAS"`
	Client      bool   `json:"routeReflectorClient,omitempty"`
	Established bool   `json:"established"`
	Why         string `json:"why,omitempty"` // it is not
	Received    int    `json:"prefixesReceived"`
}

// Sessions are all BGP sessions, by namespace and peer.
func (in *Lab) Sessions() (list []Session) {
	in.mu.Lock()
	defer in.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(in.spaces)) {
		s := in.spaces[name].speaker
		if s == nil {
			continue
		}
		for _, x := range s.Sessions() {
			out := Session{Netns: name, AS: s.planned.AS, Peer: x.Peer.Name, Address: x.Peer.Addr.String(), PeerAS: x.Peer.AS, Client: x.Peer.Client, Established: !x.Peer.Down, Received: x.Received}
			if x.Why != nil {
				out.Why = x.Why.Error()
			}
			list = append(list, out)
		}
	}
	return list
}
