package probe

import (
	"container/list"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/netlab/netlab/datapath/flow"
	"github.com/netlab/netlab/datapath/netns"
)

// How long a connection may be silent.
const (
	greetAfter = 150 * time.Millisecond // then it gets the line unrequested
	idleAfter  = 10 * time.Minute       // then it is closed
)

// Agent answers inside one network namespace, on all its addresses.
type Agent struct {
	Name   string // its own name: web-0
	Node   string // where it runs; empty outside the cluster
	IPv6   bool   // the network namespace has IPv6
	Listen []Socket
	// Health makes the agent answer HTTP requests as a health check node port; nil: it
	// reports its identity.
	Health *Health
}

// Socket is one listening socket.
type Socket struct {
	Protocol flow.Protocol
	Port     uint16
}

// Server answers on the listening sockets of all agents. Its methods may be
// called from any goroutine.
type Server struct {
	poller *poller
	done   chan struct{}

	// mu guards everything below: the loop holds it while it handles events, not while
	// it waits for them.
	mu      sync.Mutex
	closed  bool
	err     error // why the loop failed
	agents  map[agentKey][]*listener
	marks   uint64               // numbers given to connections
	awaited map[uint64]*sighting // of connections being dialed: what a program saw
	slots   []slot               // by descriptor
	young   list.List            // connections, the one idle for longest first
	idle    list.List
	scratch [64 << 10]byte
	syn     [maxHeaders]byte
	out     []byte
}

type agentKey struct{ netns, name string }

// listener is a listening socket. Its answer, without addresses, changes with the agent;
// connections keep the one that they were accepted with.
type listener struct {
	fd     int
	ipv6   bool
	raw    bool // it answers nothing, but looks for marks (witness_linux.go)
	socket Socket
	answer Answer
	health *Health
}

// slot is what a descriptor belongs to: one of the two, or neither.
type slot struct {
	listener *listener
	conn     *conn
}

// NewServer starts a server without agents. The caller must Close it.
func NewServer() (*Server, error) {
	poller, err := newPoller()
	if err != nil {
		return nil, fmt.Errorf("start agents: %w", err)
	}
	s := &Server{poller: poller, done: make(chan struct{}), agents: map[agentKey][]*listener{}, awaited: map[uint64]*sighting{}}
	go s.loop()
	return s, nil
}

// Close closes all sockets and connections. It returns the server's error if it had
// failed before.
func (s *Server) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.closed = true
	s.mu.Unlock()
	s.poller.poke()
	<-s.done
	for fd := range s.slots {
		if s.slots[fd] != (slot{}) {
			unix.Close(fd)
		}
	}
	s.poller.close()
	return s.err
}

// Listen makes the sockets of the agent exactly those that it lists, in the network
// namespace that the current thread is in and that the caller names netns. An agent of
// the same netns and name keeps the sockets that stay, with their connections, and
// resets the connections of removed ones. If a socket cannot be opened, the agent keeps
// those that it had, except those to be replaced by one with another IPv6 setting.
func (s *Server) Listen(_ netns.Here, netns string, a Agent) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return fmt.Errorf("agent %q: %w", a.Name, os.ErrClosed)
	}
	key := agentKey{netns, a.Name}
	old := s.agents[key]
	stays := func(l *listener) bool {
		return l.fd >= 0 && l.ipv6 == a.IPv6 && slices.Contains(a.Listen, l.socket)
	}
	// A socket of the other family has the same port: it must be closed first, as for
	// an agent that changes from IPv4 to dual stack.
	for _, l := range old {
		if slices.Contains(a.Listen, l.socket) && !stays(l) {
			s.drop(l)
		}
	}
	var fresh []*listener
	for _, socket := range a.Listen {
		if slices.ContainsFunc(old, func(l *listener) bool { return l.socket == socket && stays(l) }) {
			continue
		}
		l, err := s.open(socket, a.IPv6)
		if err != nil {
			for _, l := range fresh {
				s.drop(l)
			}
			return fmt.Errorf("agent %q: %w", a.Name, err)
		}
		fresh = append(fresh, l)
	}
	now := make([]*listener, 0, len(a.Listen))
	for _, l := range old {
		if stays(l) {
			now = append(now, l)
		} else {
			s.drop(l)
		}
	}
	now = append(now, fresh...)
	for _, l := range now {
		l.answer = Answer{Name: a.Name, Node: a.Node, Proto: l.socket.Protocol}
		l.health = a.Health
	}
	if len(now) == 0 {
		delete(s.agents, key)
	} else {
		s.agents[key] = now
	}
	return nil
}

// Unlisten closes an agent's sockets and resets their connections, or ends a Watch. A
// missing agent is not an error. It can be called from anywhere.
func (s *Server) Unlisten(netns, name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	for _, l := range s.agents[agentKey{netns, name}] {
		s.drop(l)
	}
	delete(s.agents, agentKey{netns, name})
}

// open creates a listening socket in the current network namespace and watches it.
func (s *Server) open(socket Socket, ipv6 bool) (*listener, error) {
	fd, err := openListener(socket, ipv6)
	l := &listener{fd: fd, ipv6: ipv6, socket: socket}
	if err == nil {
		s.slot(fd).listener = l
		err = s.poller.watch(unix.EPOLL_CTL_ADD, fd, unix.EPOLLIN, fd)
	}
	if err != nil {
		s.drop(l)
		return nil, fmt.Errorf("listen on %s port %d: %w", socket.Protocol, socket.Port, err)
	}
	return l, nil
}

// drop closes a listening socket and resets its connections: any of them would
// keep the network namespace alive.
func (s *Server) drop(l *listener) {
	if l.fd < 0 {
		return
	}
	s.slots[l.fd] = slot{}
	unix.Close(l.fd)
	l.fd = -1
	for _, all := range []*list.List{&s.young, &s.idle} {
		for e := all.Front(); e != nil; {
			c := e.Value.(*conn)
			if e = e.Next(); c.listener == l {
				s.reset(c)
			}
		}
	}
}

// slot is the slot of a new descriptor.
func (s *Server) slot(fd int) *slot {
	for len(s.slots) <= fd {
		s.slots = append(s.slots, slot{})
	}
	return &s.slots[fd]
}

// loop serves until Close. It is the only goroutine of the server.
//
// An event may be about a descriptor that was closed, and reused, since the kernel
// reported it. That is harmless: events are level-triggered, nothing blocks, and an
// event is only a reason to try.
func (s *Server) loop() {
	defer close(s.done)
	events := make([]unix.EpollEvent, 256)
	wait := -1
	for {
		seen, err := s.poller.wait(events, wait)
		if err != nil {
			s.mu.Lock()
			s.err = fmt.Errorf("serve agents: %w", err)
			s.mu.Unlock()
			return
		}
		s.mu.Lock()
		if s.closed {
			s.mu.Unlock()
			return
		}
		now := time.Now()
		for _, e := range seen {
			s.handle(int(e.Fd), now)
		}
		wait = s.expire(now)
		s.mu.Unlock()
	}
}

func (s *Server) handle(fd int, now time.Time) {
	if fd < 0 || fd >= len(s.slots) {
		return
	}
	switch at := s.slots[fd]; {
	case at.conn != nil:
		s.serve(at.conn, now)
	case at.listener == nil:
	case at.listener.raw:
		s.lookOut(at.listener)
	case at.listener.socket.Protocol == flow.UDP:
		s.answerDatagrams(at.listener)
	default:
		s.accept(at.listener, now)
	}
}

// expire greets silent connections, closes idle ones, and returns the number of
// milliseconds until more is due.
func (s *Server) expire(now time.Time) int {
	wait := time.Duration(-1)
	for _, queue := range []struct {
		list  *list.List
		after time.Duration
		end   func(*conn)
	}{{&s.young, greetAfter, func(c *conn) { s.greet(c, now) }}, {&s.idle, idleAfter, s.reset}} {
		c := first(queue.list)
		for ; c != nil && now.Sub(c.since) >= queue.after; c = first(queue.list) {
			queue.end(c)
		}
		if c != nil && (wait < 0 || queue.after-now.Sub(c.since) < wait) {
			wait = queue.after - now.Sub(c.since)
		}
	}
	if wait < 0 {
		return -1
	}
	return int((wait + time.Millisecond - 1) / time.Millisecond)
}
