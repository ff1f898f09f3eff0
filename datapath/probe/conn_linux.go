package probe

import (
	"bytes"
	"cmp"
	"container/list"
	"errors"
	"time"

	"golang.org/x/sys/unix"

	"github.com/netlab/netlab/datapath/flow"
)

// speech is the protocol detected on a connection.
type speech uint8

const (
	unknown  speech = iota // its first bytes may become an HTTP request
	lines                  // each line is answered
	http                   // each request is answered
	draining               // everything is sent; further input is discarded
)

// conn is an accepted TCP connection. It is in the list young until it was answered,
// greeted or rejected, then in the list idle.
type conn struct {
	fd       int
	listener *listener
	answer   Answer    // its local address and TTL are known from the first one on
	since    time.Time // of the connection, then of the last line
	speech   speech
	answered bool
	uploads  bool // sends a long line, and expects no answer before its end
	partial  bool // bytes came after the last newline
	eof      bool // the peer closed its side
	owed     int  // lines still to be answered
	sent     int  // bytes sent of the current line
	blocked  bool // waits until it can send
	head     []byte

	list *list.List
	at   *list.Element
}

// accept accepts all pending connections.
func (s *Server) accept(l *listener, now time.Time) {
	for l.fd >= 0 {
		fd, peer, err := unix.Accept4(l.fd, unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC)
		switch {
		case err == nil:
		case errors.Is(err, unix.EMFILE), errors.Is(err, unix.ENFILE):
			// The queue would stay readable and the loop would spin: the connection
			// idle for longest is closed instead.
			c := cmp.Or(first(&s.idle), first(&s.young))
			if c == nil {
				return
			}
			s.reset(c)
			continue
		case errors.Is(err, unix.EINTR), errors.Is(err, unix.ECONNABORTED):
			continue
		default:
			return
		}
		c := &conn{fd: fd, listener: l, answer: l.answer, since: now}
		c.answer.Peer = addrPort(peer)
		s.slot(fd).conn = c
		c.move(&s.young)
		if s.poller.watch(unix.EPOLL_CTL_ADD, fd, unix.EPOLLIN, fd) != nil {
			s.reset(c)
		}
	}
}

// serve does what it can without blocking: send pending answers, then read input.
func (s *Server) serve(c *conn, now time.Time) {
	if c.owed > 0 && !s.flush(c) {
		return
	}
	n, err := unix.Read(c.fd, s.scratch[:])
	switch {
	case errors.Is(err, unix.EAGAIN), errors.Is(err, unix.EINTR):
	case err != nil:
		s.reset(c)
	case n == 0:
		s.hangUp(c, now)
	default:
		s.hear(c, s.scratch[:n], now)
	}
}

// hear handles input on a connection.
func (s *Server) hear(c *conn, b []byte, now time.Time) {
	switch c.speech {
	case unknown:
		c.head = append(c.head, b...)
		is, more := httpPrefix(c.head)
		switch {
		case is:
			c.speech = http
			s.hearHTTP(c, now)
		case !more:
			c.speech = lines
			b, c.head = c.head, nil
			c.uploads = isUpload(b)
			s.hearLines(c, b, now)
		}
	case lines:
		s.hearLines(c, b, now)
	case http:
		c.head = append(c.head, b...)
		s.hearHTTP(c, now)
	}
}

func (s *Server) hearLines(c *conn, b []byte, now time.Time) {
	c.owed += bytes.Count(b, []byte("\n"))
	c.partial = b[len(b)-1] != '\n'
	if c.owed > 0 {
		s.answer(c, now)
	}
}

func (s *Server) hearHTTP(c *conn, now time.Time) {
	for len(c.head) > 0 {
		r, ok := parseRequest(c.head)
		if !ok {
			if len(c.head) > maxHead {
				s.reset(c)
			}
			return
		}
		if r.line {
			b := c.head
			c.head, c.speech = nil, lines
			s.hearLines(c, b, now)
			return
		}
		c.head = c.head[r.length:]
		if !s.respond(c, r) {
			return
		}
		s.touch(c, now)
		if r.close {
			c.head, c.speech = nil, draining
			_ = unix.Shutdown(c.fd, unix.SHUT_WR)
			return
		}
	}
	c.head = nil
}

// respond answers one HTTP request. A peer that keeps sending requests without reading
// is cut off.
func (s *Server) respond(c *conn, r request) bool {
	if h := c.listener.health; h != nil {
		s.out = h.appendResponse(s.out[:0], r)
	} else {
		c.answer.Forwarded, c.answer.Asked = r.forwarded, r.asked
		s.out = r.appendResponse(s.out[:0], s.line(nil, c))
	}
	n, err := unix.SendmsgN(c.fd, s.out, nil, nil, unix.MSG_NOSIGNAL)
	if err != nil || n < len(s.out) {
		s.reset(c)
		return false
	}
	return true
}

// greet answers a connection that has sent nothing to answer.
func (s *Server) greet(c *conn, now time.Time) {
	if c.speech == lines && !c.uploads || c.speech == unknown && len(c.head) == 0 {
		c.owed++
		s.answer(c, now)
		return
	}
	s.touch(c, now)
}

// hangUp answers what is still unanswered when the peer has closed its side.
func (s *Server) hangUp(c *conn, now time.Time) {
	c.eof = true
	waits := !c.answered || c.partial || len(c.head) > 0
	if c.speech == draining || c.speech == http || !waits {
		s.finish(c)
		return
	}
	c.owed++
	s.answer(c, now)
}

// answer sends pending answers.
func (s *Server) answer(c *conn, now time.Time) {
	s.touch(c, now)
	s.flush(c)
}

// touch records activity on the connection.
func (s *Server) touch(c *conn, now time.Time) {
	c.since = now
	c.answered = true
	c.move(&s.idle)
}

// flush sends pending lines. It reports whether the connection can still be read: not
// if its send buffer is full or it is closed.
func (s *Server) flush(c *conn) bool {
	for c.owed > 0 {
		s.out = s.line(s.out[:0], c)
		n, err := unix.SendmsgN(c.fd, s.out[c.sent:], nil, nil, unix.MSG_NOSIGNAL)
		switch {
		case errors.Is(err, unix.EAGAIN):
			s.block(c, true)
			return false
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			s.reset(c)
			return false
		}
		if c.sent += n; c.sent == len(s.out) {
			c.sent = 0
			c.owed--
		}
	}
	s.block(c, false)
	if c.eof {
		s.finish(c)
		return false
	}
	return true
}

// block sets whether the connection waits until it can send. It is not read meanwhile,
// so a peer that does not read cannot pile up work.
func (s *Server) block(c *conn, on bool) {
	if c.blocked == on {
		return
	}
	c.blocked = on
	events := uint32(unix.EPOLLIN)
	if on {
		events = unix.EPOLLOUT
	}
	if s.poller.watch(unix.EPOLL_CTL_MOD, c.fd, events, c.fd) != nil {
		_ = unix.Shutdown(c.fd, unix.SHUT_RDWR)
	}
}

// finish closes a connection gracefully.
func (s *Server) finish(c *conn) {
	_ = setLinger(c.fd, false)
	s.reset(c)
}

// reset closes a connection; the peer sees a reset unless finish changed that.
func (s *Server) reset(c *conn) {
	c.list.Remove(c.at)
	s.slots[c.fd] = slot{}
	unix.Close(c.fd)
}

// line appends the answer for a connection.
func (s *Server) line(b []byte, c *conn) []byte {
	if !c.answer.Local.IsValid() {
		c.answer.Local = localAddr(c.fd)
		if c.listener.socket.Protocol == flow.TCP {
			c.answer.TTL = int(s.ttlOfSYN(c.fd))
		}
	}
	return c.answer.appendLine(b)
}

// first is the connection that has been idle for longest.
func first(l *list.List) *conn {
	if e := l.Front(); e != nil {
		return e.Value.(*conn)
	}
	return nil
}

// move moves a connection from its current list to the end of another.
func (c *conn) move(to *list.List) {
	if c.list != nil {
		c.list.Remove(c.at)
	}
	c.list, c.at = to, to.PushBack(c)
}
