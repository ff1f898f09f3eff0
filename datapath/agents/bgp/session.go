package bgp

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"time"

	packet "github.com/osrg/gobgp/v4/pkg/packet/bgp"

	"github.com/netlab/netlab/datapath/plan/bgp"
)

// How often the side that connects tries, and how long one try takes.
const (
	firstPause = 5 * time.Millisecond
	lastPause  = 250 * time.Millisecond
	dialing    = time.Second
)

// session is what a speaker has with one peer. Its fields are guarded by the speaker's lock.
type session struct {
	peer    *bgp.Peer
	end     context.CancelFunc // of the side that connects
	conn    net.Conn           // nil: none
	up      bool
	why     error // why it is not up
	pending map[netip.Prefix]bool
	wake    chan struct{} // of the writer
}

// connect keeps the session up, from the side that connects, until ctx ends.
func (s *Speaker) connect(ctx context.Context, x *session, from, to netip.AddrPort) {
	for pause := firstPause; ctx.Err() == nil; {
		s.mu.Lock()
		again := s.again
		s.mu.Unlock()
		try, cancel := context.WithTimeout(ctx, dialing)
		conn, err := s.dial(try, from, to)
		cancel()
		if err == nil {
			began := time.Now()
			if s.begin(x, conn) {
				s.converse(x, conn)
			}
			if time.Since(began) > time.Second {
				pause = firstPause
			}
		} else if ctx.Err() == nil {
			s.mu.Lock()
			x.why = err
			s.mu.Unlock()
		}
		select {
		case <-ctx.Done():
		case <-again:
			pause = firstPause
		case <-time.After(pause):
			pause = min(2*pause, lastPause)
		}
	}
}

// converse speaks with a peer until the connection ends.
func (s *Speaker) converse(x *session, conn net.Conn) {
	id, hold, err := s.greet(x, conn)
	if err == nil {
		err = s.exchange(x, conn, id, hold)
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		_ = send(conn, time.Second, packet.NewBGPNotificationMessage(packet.BGP_ERROR_HOLD_TIMER_EXPIRED, 0, nil))
		err = errors.New("hold timer expired")
	}
	s.finish(x, conn, err)
}

// begin makes a connection that of the session, in the place of one that has not got that
// far. A session that is up refuses others (RFC 4271, section 6.8); nil, who is no peer, is
// refused always.
func (s *Speaker) begin(x *session, conn net.Conn) bool {
	// With nothing left to be sent the connection does not keep its namespace.
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || x == nil || x.up || s.sessions[keyOf(x.peer)] != x {
		conn.Close() // a reset
		return false
	}
	if x.conn != nil {
		s.lose(x, errors.New("the peer has opened another connection"))
	}
	x.conn = conn
	return true
}

// greet exchanges open messages, and waits until the peer has accepted.
func (s *Speaker) greet(x *session, conn net.Conn) (id netip.Addr, hold time.Duration, err error) {
	s.mu.Lock()
	hello, err := open(s.config, s.hold)
	as := x.peer.AS
	s.mu.Unlock()
	if err == nil {
		err = send(conn, s.hold, hello)
	}
	if err != nil {
		return id, 0, err
	}
	m, err := receive(conn, s.hold)
	if err != nil {
		return id, 0, err
	}
	theirs, ok := m.Body.(*packet.BGPOpen)
	if !ok {
		return id, 0, fmt.Errorf("message of type %d, expected an open message", m.Header.Type)
	}
	if got := asOf(theirs); got != as {
		_ = send(conn, time.Second, packet.NewBGPNotificationMessage(packet.BGP_ERROR_OPEN_MESSAGE_ERROR, packet.BGP_ERROR_SUB_BAD_PEER_AS, nil))
		return id, 0, fmt.Errorf("the peer is in AS %d, expected %d", got, as)
	}
	hold = s.hold
	if h := time.Duration(theirs.HoldTime) * time.Second; h > 0 {
		hold = min(hold, h)
	}
	if err := send(conn, hold, packet.NewBGPKeepAliveMessage()); err != nil {
		return id, 0, err
	}
	m, err = receive(conn, hold)
	if err == nil && m.Header.Type != packet.BGP_MSG_KEEPALIVE {
		err = fmt.Errorf("message of type %d, expected a keepalive message", m.Header.Type)
	}
	return theirs.ID, hold, err
}

// exchange tells and hears of paths, until the connection ends.
func (s *Speaker) exchange(x *session, conn net.Conn, id netip.Addr, hold time.Duration) error {
	s.mu.Lock()
	if x.conn != conn {
		s.mu.Unlock()
		return net.ErrClosed
	}
	x.up, x.why, x.pending, x.wake = true, nil, map[netip.Prefix]bool{}, make(chan struct{}, 1)
	for _, prefix := range s.table.Up(x.peer, id) {
		x.pending[prefix] = true
	}
	x.wake <- struct{}{}
	done, wake := make(chan struct{}), x.wake
	s.work.Go(func() { s.tell(x, conn, wake, done, hold) })
	s.mu.Unlock()
	defer close(done)
	for {
		m, err := receive(conn, hold)
		if err != nil {
			return err
		}
		if u, ok := m.Body.(*packet.BGPUpdate); ok && !s.hear(x, conn, u) {
			return net.ErrClosed
		}
	}
}

// hear takes an update into the table; false: the connection is not the session's any more.
func (s *Speaker) hear(x *session, conn net.Conn, u *packet.BGPUpdate) bool {
	paths, gone := pathsOf(u)
	s.mu.Lock()
	defer s.mu.Unlock()
	if x.conn != conn {
		return false
	}
	var changed []netip.Prefix
	for _, prefix := range gone {
		if s.table.Withdraw(x.peer, prefix) {
			changed = append(changed, prefix)
		}
	}
	for _, path := range paths {
		if s.table.Learn(x.peer, path) {
			changed = append(changed, path.Prefix)
		}
	}
	s.follow(changed)
	return true
}

// tell sends a peer what is pending, and that the speaker is alive.
func (s *Speaker) tell(x *session, conn net.Conn, wake, done <-chan struct{}, hold time.Duration) {
	alive := time.NewTicker(hold / 3)
	defer alive.Stop()
	for {
		list := []*packet.BGPMessage{packet.NewBGPKeepAliveMessage()}
		select {
		case <-done:
			return
		case <-alive.C:
		case <-wake:
			list = s.updates(x, conn)
		}
		if len(list) == 0 {
			continue
		}
		if err := send(conn, hold, list...); err != nil {
			conn.Close() // which ends the reader, too
			return
		}
	}
}

// updates are the messages for what is pending.
func (s *Speaker) updates(x *session, conn net.Conn) (list []*packet.BGPMessage) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if x.conn != conn {
		return nil
	}
	for prefix := range x.pending {
		path, withdraw, changed := s.table.Tell(x.peer, prefix)
		if !changed {
			continue
		}
		if m, err := update(path, withdraw, s.config.Internal(x.peer)); err == nil {
			list = append(list, m)
		}
	}
	clear(x.pending)
	return list
}

// finish ends a connection, and the session if it was its.
func (s *Speaker) finish(x *session, conn net.Conn, why error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	conn.Close()
	if x.conn == conn {
		s.lose(x, why)
	}
}

// lose ends a session: what the peer has told is not true any more. The lock is held.
func (s *Speaker) lose(x *session, why error) {
	if x.conn != nil {
		x.conn.Close()
	}
	was := x.up
	x.conn, x.up, x.why = nil, false, why
	if was && !s.closed {
		s.follow(s.table.Down(x.peer))
	}
}
