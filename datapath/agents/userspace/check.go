package userspace

import (
	"context"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"
)

// Check is how a load balancer finds the endpoints that get connections: it connects to each,
// again and again.
type Check struct {
	Interval time.Duration // between the end of a check and the next one
	Timeout  time.Duration // of a check
	// Healthy and Unhealthy are how many checks in a row must succeed, or fail, to change the
	// verdict. At first, and after Recheck, one that succeeds decides alone, and those that fail
	// follow each other without a pause.
	Healthy, Unhealthy int
}

// Health is what the checks of an endpoint have found.
type Health struct {
	Endpoint netip.AddrPort
	Healthy  bool
	Err      error // of the last check; nil: it succeeded
}

// checker checks the endpoints of a port.
type checker struct {
	*port
	Check
	affinity time.Duration
	ctx      context.Context
	cancel   context.CancelFunc

	mu    sync.Mutex
	list  []*checked
	begun bool
}

// checked is an endpoint that is checked.
type checked struct {
	Health
	against int           // checks in a row that are not as the verdict says
	round   int           // how often the verdict was asked for anew
	judged  chan struct{} // closed once there is one
	fresh   bool          // there is none in this round
	wake    chan struct{}
}

// check is a checker of endpoints, which begins with the next Recheck. Those that an earlier one
// found healthy get connections until they are judged.
func (x *port) check(want Port, earlier *checker) *checker {
	c := &checker{port: x, Check: want.Check, affinity: want.Affinity}
	c.ctx, c.cancel = context.WithCancel(x.ctx)
	known := earlier.health()
	for _, at := range want.Endpoints {
		e := &checked{Health: Health{Endpoint: at}, judged: make(chan struct{}), fresh: true, wake: make(chan struct{}, 1)}
		for _, h := range known {
			if h.Endpoint == at {
				e.Health = h
			}
		}
		c.list = append(c.list, e)
	}
	c.choose()
	return c
}

func (c *checker) run(e *checked) {
	for c.gate.enter(c.ctx) {
		c.mu.Lock()
		round := e.round
		c.mu.Unlock()
		ctx, done := c.gate.during(c.ctx)
		conn, err := c.Dial(ctx, c.protocol, e.Endpoint, c.Timeout)
		broken := ctx.Err() != nil
		done()
		c.gate.leave()
		if err == nil {
			// A reset, so that a check leaves nothing behind on either host.
			if t, ok := conn.(*net.TCPConn); ok {
				_ = t.SetLinger(0)
			}
			_ = conn.Close()
		}
		if broken {
			continue
		}
		c.note(e, round, err)
		c.mu.Lock()
		fresh := e.fresh
		c.mu.Unlock()
		if fresh {
			continue
		}
		select {
		case <-c.ctx.Done():
		case <-e.wake:
		case <-time.After(c.Interval):
		}
	}
}

// note is the result of a check that began in some round.
func (c *checker) note(e *checked, round int, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if round != e.round {
		return
	}
	up, need := err == nil, c.Unhealthy
	if up {
		need = c.Healthy
	}
	e.Err = err
	switch e.against++; {
	case e.fresh && !up && e.against < need:
		return
	case e.fresh:
		e.Healthy, e.against, e.fresh = up, 0, false
		defer close(e.judged)
	case up == e.Healthy:
		e.against = 0
		return
	case e.against < need:
		return
	default:
		e.Healthy, e.against = up, 0
	}
	c.choose()
}

// choose gives the balancer the healthy endpoints.
func (c *checker) choose() {
	if c.ctx.Err() != nil {
		return // another checker does
	}
	var healthy []netip.AddrPort
	for _, e := range c.list {
		if e.Healthy {
			healthy = append(healthy, e.Endpoint)
		}
	}
	c.balancer.set(healthy, c.affinity)
}

// end ends the checks: from then on they change nothing.
func (c *checker) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cancel()
}

// again asks for a new verdict, and returns what is closed once there is one.
func (c *checker) again() (judged []chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, e := range c.list {
		e.round++
		e.against = 0
		if !e.fresh {
			e.fresh, e.judged = true, make(chan struct{})
		}
		if !c.begun {
			c.wait.Go(func() { c.run(e) })
		} else {
			select {
			case e.wake <- struct{}{}:
			default:
			}
		}
		judged = append(judged, e.judged)
	}
	c.begun = true
	return judged
}

// health is what was found; nil has found nothing.
func (c *checker) health() (list []Health) {
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, e := range c.list {
		list = append(list, e.Health)
	}
	return list
}

// Recheck judges all endpoints anew, and waits for it. Checks of new ones begin with it: earlier
// their hosts may not be there yet, and a neighbour that does not answer is asked again only after
// a second.
func (p *Proxy) Recheck(ctx context.Context) error {
	p.mu.Lock()
	var judged []chan struct{}
	for _, x := range p.ports {
		if x.checker != nil {
			judged = append(judged, x.checker.again()...)
		}
	}
	p.mu.Unlock()
	for _, c := range judged {
		select {
		case <-c:
		case <-ctx.Done():
			return ctx.Err()
		case <-p.ctx.Done():
			return net.ErrClosed
		}
	}
	return nil
}

// Health is what the checks of a socket have found, in the order of its endpoints.
func (p *Proxy) Health(protocol string, at netip.AddrPort) []Health {
	p.mu.Lock()
	defer p.mu.Unlock()
	if x := p.ports[socket{protocol, at}]; x != nil {
		return x.checker.health()
	}
	return nil
}

// Pause keeps checks from beginning until the function that it returns is called, and breaks off
// those that are under way.
func (p *Proxy) Pause() (resume func()) { return p.gate.close() }

// configure gives a port its endpoints, and checks them if it is to.
func (x *port) configure(want Port) {
	old := x.checker
	if old != nil && want.Check == old.Check && want.Affinity == old.affinity &&
		slices.EqualFunc(old.list, want.Endpoints, func(e *checked, at netip.AddrPort) bool { return e.Endpoint == at }) {
		return
	}
	if x.checker = nil; old != nil {
		old.end()
	}
	if want.Check == (Check{}) {
		x.balancer.set(want.Endpoints, want.Affinity)
		return
	}
	x.checker = x.check(want, old)
}
