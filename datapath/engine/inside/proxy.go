//go:build linux

package inside

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/netlab/netlab/datapath/agents/userspace"
	"github.com/netlab/netlab/datapath/flow"
	"github.com/netlab/netlab/datapath/netns"
	"github.com/netlab/netlab/datapath/plan/occupant"
	"github.com/netlab/netlab/datapath/probe"
)

// forgetful is how long a proxy remembers a silent client of UDP (udpIdleTimeout of
// kube-proxy 1.25).
const forgetful = 250 * time.Millisecond

// proxy is the proxy in user space of a namespace.
type proxy struct {
	*userspace.Proxy
	ns *netns.NS

	mu      sync.Mutex
	planned []occupant.ProxyPort
}

// ports are those that it has.
func (p *proxy) ports() []occupant.ProxyPort {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.planned
}

// proxyPorts opens, changes and closes proxy ports in the namespace of the thread.
func (o *occupants) proxyPorts(add, remove []occupant.ProxyPort) error {
	if len(add)+len(remove) == 0 {
		return nil
	}
	if o.proxy == nil {
		ns, err := netns.Current()
		if err != nil {
			return err
		}
		p := &proxy{ns: ns}
		c := userspace.Config{Dial: p.dial, Idle: flow.Stretched(forgetful, flow.TimeScale())}
		for _, d := range flow.ProxyPatience() {
			c.Patience = append(c.Patience, flow.Stretched(d, flow.TimeScale()))
		}
		p.Proxy = userspace.New(c)
		o.proxy = p
	}
	return o.proxy.set(add, remove)
}

func (p *proxy) set(add, remove []occupant.ProxyPort) error {
	same := func(a *occupant.ProxyPort) func(occupant.ProxyPort) bool {
		return func(b occupant.ProxyPort) bool { return a.Protocol == b.Protocol && a.At == b.At }
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	// A clone: ports hands out the list.
	p.planned = slices.Clone(p.planned)
	for i := range remove {
		p.planned = slices.DeleteFunc(p.planned, same(&remove[i]))
		if !slices.ContainsFunc(add, same(&remove[i])) {
			p.Remove(remove[i].Protocol, remove[i].At)
		}
	}
	for i := range add {
		x := &add[i]
		if err := onceFree(func() error { return p.Set(socketOf(x)) }); err != nil {
			return fmt.Errorf("proxy port of %s: %w", x.Service, err)
		}
		p.planned = append(p.planned, *x)
	}
	return nil
}

func socketOf(x *occupant.ProxyPort) userspace.Port {
	out := userspace.Port{Protocol: x.Protocol, At: x.At, Endpoints: x.Endpoints, Affinity: time.Duration(x.Affinity) * time.Second}
	if x.Balancer {
		out.Patience = []time.Duration{flow.BalancerPatience}
	}
	if c := x.Check; c != (occupant.Check{}) {
		out.Check = userspace.Check{Interval: c.Interval, Timeout: flow.Stretched(c.Timeout, flow.TimeScale()), Healthy: c.Healthy, Unhealthy: c.Unhealthy}
	}
	return out
}

// Checked is what a load balancer has found out about one of its nodes.
type Checked struct {
	Netns    string `json:"netns"` // of the balancer
	Service  string `json:"service"`
	Endpoint string `json:"endpoint"` // address and node port
	Healthy  bool   `json:"healthy"`
	Why      string `json:"why,omitempty"` // the last check failed
}

// proxies are those of all namespaces.
func (in *Lab) proxies() map[string]*proxy {
	in.mu.Lock()
	defer in.mu.Unlock()
	all := map[string]*proxy{}
	for name, o := range in.spaces {
		if o.proxy != nil {
			all[name] = o.proxy
		}
	}
	return all
}

// Checks are what load balancers have found out about nodes, by namespace and service.
func (in *Lab) Checks() (list []Checked) {
	for name, p := range in.proxies() {
		for _, x := range p.ports() {
			for _, h := range p.Health(x.Protocol, x.At) {
				c := Checked{Netns: name, Service: x.Service, Endpoint: h.Endpoint.String(), Healthy: h.Healthy}
				if h.Err != nil {
					c.Why = string(probe.OutcomeOf(h.Err))
				}
				list = append(list, c)
			}
		}
	}
	slices.SortStableFunc(list, func(a, b Checked) int {
		return cmp.Or(cmp.Compare(a.Netns, b.Netns), cmp.Compare(a.Service, b.Service))
	})
	return list
}

// AwaitChecks makes load balancers judge all nodes anew, and waits for it.
func (in *Lab) AwaitChecks(ctx context.Context) error {
	for _, p := range in.proxies() {
		if err := p.Recheck(ctx); err != nil {
			return err
		}
	}
	return nil
}

// PauseChecks keeps load balancers from checking until the function that it returns is called.
func (in *Lab) PauseChecks() (resume func()) {
	var all []func()
	for _, p := range in.proxies() {
		all = append(all, p.Pause())
	}
	return func() {
		for _, f := range all {
			f()
		}
	}
}

func (p *proxy) end() {
	p.Close()
	p.ns.Close()
}

// makers makes the sockets of all proxies, on one thread.
var makers = sync.OnceValue(func() *maker { return &maker{thread: netns.NewThread()} })

type maker struct {
	mu     sync.Mutex
	thread *netns.Thread
}

func (m *maker) socket(ns *netns.NS, family, kind int) (fd int, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	err = m.thread.Run(func(h netns.Here) error {
		if err := h.Enter(ns); err != nil {
			return err
		}
		fd, err = unix.Socket(family, kind|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
		return err
	})
	return fd, err
}

func (p *proxy) dial(ctx context.Context, protocol string, to netip.AddrPort, within time.Duration) (net.Conn, error) {
	return dialFrom(ctx, p.ns, protocol, to, within)
}

// dialFrom connects from a namespace. No thread waits in it meanwhile.
func dialFrom(ctx context.Context, ns *netns.NS, protocol string, to netip.AddrPort, within time.Duration) (net.Conn, error) {
	kind := unix.SOCK_STREAM
	if protocol == "udp" {
		kind = unix.SOCK_DGRAM
	}
	var addr unix.Sockaddr
	family := unix.AF_INET6
	if to.Addr().Is4() {
		addr, family = &unix.SockaddrInet4{Port: int(to.Port()), Addr: to.Addr().As4()}, unix.AF_INET
	} else {
		addr = &unix.SockaddrInet6{Port: int(to.Port()), Addr: to.Addr().As16()}
	}
	fd, err := makers().socket(ns, family, kind)
	if err != nil {
		return nil, err
	}
	err = unix.Connect(fd, addr)
	f := os.NewFile(uintptr(fd), to.String())
	defer f.Close()
	if err == unix.EINPROGRESS {
		err = connected(ctx, f, within)
	}
	if err != nil {
		return nil, err
	}
	return net.FileConn(f)
}

// connected waits for a connection that is being made.
func connected(ctx context.Context, f *os.File, within time.Duration) error {
	raw, err := f.SyscallConn()
	if err != nil {
		return err
	}
	if err := f.SetWriteDeadline(time.Now().Add(within)); err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() { _ = f.SetWriteDeadline(time.Now()) })()
	failure := 0
	err = raw.Write(func(fd uintptr) bool {
		poll := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLOUT}}
		if n, _ := unix.Poll(poll, 0); n == 0 {
			return false
		}
		failure, _ = unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_ERROR)
		return true
	})
	if err == nil && failure != 0 {
		err = unix.Errno(failure)
	}
	return err
}
