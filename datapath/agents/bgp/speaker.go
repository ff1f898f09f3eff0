package bgp

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"strconv"
	"sync"
	"time"

	"github.com/netlab/netlab/datapath/plan/bgp"
)

// Config says what a speaker needs of its host.
type Config struct {
	Speaker *bgp.Speaker
	// Hold is how long a session lives without a message (RFC 4271, section 4.2).
	Hold time.Duration
	// Dial connects to a peer, inside the host's network namespace.
	Dial func(ctx context.Context, from, to netip.AddrPort) (net.Conn, error)
	// Routes are those of the host.
	Routes Routes
}

// Routes are the routes of a host that its speaker sets.
type Routes interface {
	Set(to netip.Prefix, hop bgp.Hop) error
	Remove(to netip.Prefix) error
}

// Speaker is a running speaker.
type Speaker struct {
	dial   func(ctx context.Context, from, to netip.AddrPort) (net.Conn, error)
	routes Routes
	hold   time.Duration
	listen net.Listener
	work   sync.WaitGroup // all goroutines

	mu       sync.Mutex
	closed   bool
	config   *bgp.Speaker
	table    *bgp.Table
	sessions map[key]*session
	again    chan struct{}            // closed when whoever waits should connect at once
	set      map[netip.Prefix]bgp.Hop // routes of the host that are the speaker's
}

// key identifies a peer: sessions that differ in nothing else are the same.
type key struct{ local, addr netip.Addr }

func keyOf(p *bgp.Peer) key { return key{p.Local, p.Addr} }

// Open starts a speaker in the network namespace of the calling thread.
func Open(c Config) (*Speaker, error) {
	listen, err := net.Listen("tcp", ":"+strconv.Itoa(bgp.Port))
	if err != nil {
		return nil, err
	}
	s := &Speaker{dial: c.Dial, routes: c.Routes, hold: c.Hold, listen: listen, config: c.Speaker, table: bgp.NewTable(c.Speaker),
		sessions: map[key]*session{}, again: make(chan struct{}), set: map[netip.Prefix]bgp.Hop{}}
	s.work.Go(s.accept)
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range c.Speaker.Peers {
		s.start(&c.Speaker.Peers[i])
	}
	return s, nil
}

// start begins to seek a session with a peer. The lock is held.
func (s *Speaker) start(p *bgp.Peer) {
	ctx, end := context.WithCancel(context.Background())
	x := &session{peer: p, end: end, why: errors.New("the peer has not connected")}
	s.sessions[keyOf(p)] = x
	if p.Listens() {
		return
	}
	from, to := netip.AddrPortFrom(p.Local, 0), netip.AddrPortFrom(p.Addr, bgp.Port)
	x.why = errors.New("not connected yet")
	s.work.Go(func() { s.connect(ctx, x, from, to) })
}

// accept takes connections of peers, and refuses all others.
func (s *Speaker) accept() {
	for {
		conn, err := s.listen.Accept()
		if err != nil {
			return
		}
		from, to := addrOf(conn.RemoteAddr()), addrOf(conn.LocalAddr())
		s.mu.Lock()
		x := s.sessions[key{to, from}]
		if x != nil && !x.peer.Listens() {
			x = nil // it is for this side to connect
		}
		s.mu.Unlock()
		if s.begin(x, conn) {
			s.work.Go(func() { s.converse(x, conn) })
		}
	}
}

func addrOf(a net.Addr) netip.Addr { return a.(*net.TCPAddr).AddrPort().Addr().Unmap() }

// Configure gives a running speaker another configuration. Sessions with peers that stay the
// same go on; it is not for another AS number or router ID, which peers know.
func (s *Speaker) Configure(c *bgp.Speaker) {
	s.mu.Lock()
	defer s.mu.Unlock()
	old := s.sessions
	changed := s.table.Reconfigure(c)
	s.config, s.sessions = c, map[key]*session{}
	for i := range c.Peers {
		p := &c.Peers[i]
		x := old[keyOf(p)]
		if x == nil || !x.peer.Same(p) {
			s.start(p)
			continue
		}
		x.peer, s.sessions[keyOf(p)] = p, x
		delete(old, keyOf(p))
	}
	for _, x := range old {
		x.end()
		if x.conn != nil {
			x.conn.Close()
			x.conn = nil
		}
	}
	s.follow(changed)
}

// follow sets the routes for prefixes whose best path has changed, and has peers told. The
// lock is held.
func (s *Speaker) follow(changed []netip.Prefix) {
	for _, prefix := range changed {
		hop, _, ok := s.table.Best(prefix)
		before, was := s.set[prefix]
		switch {
		case ok && !(was && before.Same(&hop)):
			if s.routes.Set(prefix, hop) == nil {
				s.set[prefix] = hop
			}
		case !ok && was:
			_ = s.routes.Remove(prefix)
			delete(s.set, prefix)
		}
	}
	if len(changed) == 0 {
		return
	}
	for _, x := range s.sessions {
		if !x.up {
			continue
		}
		for _, prefix := range changed {
			x.pending[prefix] = true
		}
		select {
		case x.wake <- struct{}{}:
		default:
		}
	}
}

// Repair sets all routes again, whatever has become of them, and connects at once to peers
// that it would have waited for.
func (s *Speaker) Repair() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	close(s.again)
	s.again = make(chan struct{})
	clear(s.set)
	for _, prefix := range s.table.Prefixes() {
		if hop, _, ok := s.table.Best(prefix); ok && s.routes.Set(prefix, hop) == nil {
			s.set[prefix] = hop
		}
	}
}

// Session is what can be seen of a session.
type Session struct {
	Peer     bgp.Peer // Down says that it is not established
	Why      error    // if it is down
	Received int      // prefixes
}

// Sessions are all sessions, in the order of the peers.
func (s *Speaker) Sessions() (list []Session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	received := s.table.Received()
	for i := range s.config.Peers {
		p := &s.config.Peers[i]
		x := s.sessions[keyOf(p)]
		out := Session{Peer: *p, Why: x.why, Received: received[p]}
		out.Peer.Down = !x.up
		list = append(list, out)
	}
	return list
}

// Learned are the routes that the speaker has set.
func (s *Speaker) Learned() map[netip.Prefix]bgp.Hop {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make(map[netip.Prefix]bgp.Hop, len(s.set))
	for prefix, hop := range s.set {
		out[prefix] = hop
	}
	return out
}

// Close ends the speaker as if its process had been killed: connections are reset, and its
// routes stay.
func (s *Speaker) Close() {
	s.mu.Lock()
	s.closed = true
	s.listen.Close()
	for _, x := range s.sessions {
		x.end()
		if x.conn != nil {
			x.conn.Close()
		}
	}
	s.mu.Unlock()
	s.work.Wait()
}
