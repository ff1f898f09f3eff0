package userspace

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"
)

// Port is a socket and the endpoints behind it.
type Port struct {
	Protocol  string         // tcp or udp
	At        netip.AddrPort // an unspecified address: all of its family
	Endpoints []netip.AddrPort
	Affinity  time.Duration // for which a client stays with its endpoint; 0: it does not
	// Patience is that of the proxy, unless it is set.
	Patience []time.Duration
	Check    Check // zero: all endpoints get connections
}

// Config is what a proxy needs of its owner.
type Config struct {
	// Dial connects to an endpoint from the node.
	Dial func(ctx context.Context, protocol string, to netip.AddrPort, within time.Duration) (net.Conn, error)
	// Patience is how long each attempt to connect may take, and so how many there are.
	Patience []time.Duration
	// Idle is for how long nothing is sent when the proxy forgets a client of UDP.
	Idle time.Duration
}

// most is how many connections a proxy has at a time; others wait to be accepted, and
// datagrams of other clients are dropped.
const most = 1024

// Proxy is the proxy of one node.
type Proxy struct {
	Config
	room   chan struct{} // one for each connection
	ctx    context.Context
	cancel context.CancelFunc
	gate   *gate // of checks

	mu     sync.Mutex
	ports  map[socket]*port
	open   map[io.Closer]bool // connections
	closed bool
	wait   sync.WaitGroup
}

type socket struct {
	protocol string
	at       netip.AddrPort
}

// port is a socket that is open.
type port struct {
	*Proxy
	socket
	balancer balancer
	patience []time.Duration
	checker  *checker // nil: endpoints are not checked; the proxy's lock is for it
	close    func() error
}

// New returns a proxy without ports.
func New(c Config) *Proxy {
	p := &Proxy{Config: c, room: make(chan struct{}, most), ports: map[socket]*port{}, open: map[io.Closer]bool{}}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	p.gate = newGate()
	return p
}

// Set opens a socket in the network namespace of the calling thread, or gives an open one
// other endpoints.
func (p *Proxy) Set(want Port) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return net.ErrClosed
	}
	key := socket{want.Protocol, want.At}
	x := p.ports[key]
	if x == nil {
		x = &port{Proxy: p, socket: key, patience: p.Patience}
		if len(want.Patience) > 0 {
			x.patience = want.Patience
		}
		if err := x.listen(); err != nil {
			return err
		}
		p.ports[key] = x
	}
	x.configure(want)
	return nil
}

func (x *port) listen() error {
	family := "4"
	if x.at.Addr().Is6() {
		family = "6"
	}
	switch x.protocol {
	case "tcp":
		l, err := net.ListenTCP("tcp"+family, net.TCPAddrFromAddrPort(x.at))
		if err != nil {
			return err
		}
		x.close = l.Close
		x.wait.Go(func() { x.acceptAll(l) })
	case "udp":
		c, err := net.ListenUDP("udp"+family, net.UDPAddrFromAddrPort(x.at))
		if err != nil {
			return err
		}
		_ = c.SetReadBuffer(8 << 20) // as much of it as the system allows
		d, err := newDatagrams(x, c)
		if err != nil {
			_ = c.Close()
			return err
		}
		x.close = d.close
		x.wait.Go(d.readAll)
	default:
		return fmt.Errorf("a proxy in user space cannot serve %s", x.protocol)
	}
	return nil
}

// Remove closes a socket. Streams that it has accepted go on.
func (p *Proxy) Remove(protocol string, at netip.AddrPort) {
	key := socket{protocol, at}
	p.mu.Lock()
	x := p.ports[key]
	delete(p.ports, key)
	if x != nil && x.checker != nil {
		x.checker.end()
	}
	p.mu.Unlock()
	if x != nil {
		_ = x.close()
	}
}

// Close ends everything, and waits for it.
func (p *Proxy) Close() {
	p.mu.Lock()
	p.closed = true
	p.cancel()
	ports := slices.Collect(maps.Values(p.ports))
	clear(p.ports)
	for c := range p.open {
		_ = c.Close()
	}
	p.mu.Unlock()
	for _, x := range ports { // without the lock, which their clients take
		_ = x.close()
	}
	p.wait.Wait()
}

// keep notes that a connection is open; false: the proxy is closed.
func (p *Proxy) keep(c io.Closer) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		_ = c.Close()
		return false
	}
	p.open[c] = true
	return true
}

func (p *Proxy) drop(c io.Closer) {
	_ = c.Close()
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.open, c)
}

// connect makes a connection to an endpoint for a client, the first attempt to the given
// one.
func (x *port) connect(first netip.AddrPort, client netip.Addr) (net.Conn, bool) {
	to := first
	for i, patience := range x.patience {
		if i > 0 {
			var ok bool
			if to, ok = x.balancer.after(to, client); !ok {
				return nil, false
			}
		}
		c, err := x.Dial(x.ctx, x.protocol, to, patience)
		if err == nil {
			return c, x.keep(c)
		}
	}
	return nil, false
}
