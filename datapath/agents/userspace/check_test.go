package userspace

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"
)

// hosts accept connections or not, and count the attempts.
type hosts struct {
	mu    sync.Mutex
	down  map[uint16]bool
	calls map[uint16]int
}

func (h *hosts) dial(ctx context.Context, _ string, to netip.AddrPort, _ time.Duration) (net.Conn, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.calls[to.Port()]++
	if h.down[to.Port()] {
		return nil, errors.New("down")
	}
	a, b := net.Pipe()
	_ = b.Close()
	return a, nil
}

func (h *hosts) set(port uint16, down bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.down[port] = down
}

func (h *hosts) count(port uint16) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.calls[port]
}

// balanced is a load balancer in front of the ports 1, 2 and 3.
func balanced(t *testing.T, c Check) (*Proxy, *hosts, func() string) {
	t.Helper()
	h := &hosts{down: map[uint16]bool{}, calls: map[uint16]int{}}
	p := New(Config{Patience: []time.Duration{time.Second}, Dial: h.dial})
	t.Cleanup(p.Close)
	at := netip.MustParseAddrPort("127.0.0.1:0")
	want := Port{Protocol: "tcp", At: at, Endpoints: addrPorts("10.0.0.1:1", "10.0.0.1:2", "10.0.0.1:3"), Check: c}
	if err := p.Set(want); err != nil {
		t.Fatal(err)
	}
	return p, h, func() string {
		x := p.ports[socket{"tcp", at}]
		var ports []string
		x.balancer.mu.Lock()
		defer x.balancer.mu.Unlock()
		for _, e := range x.balancer.endpoints {
			ports = append(ports, fmt.Sprint(e.Port()))
		}
		return strings.Join(ports, " ")
	}
}

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal(what)
		}
	}
}

func TestAnEndpointThatFailsItsChecksGetsNoConnections(t *testing.T) {
	p, h, in := balanced(t, Check{Interval: time.Hour, Timeout: time.Second, Healthy: 3, Unhealthy: 2})
	h.set(2, true)
	if got := in(); got != "" || h.count(1) > 0 {
		t.Errorf("before the lab is built: %q, %d checks", got, h.count(1))
	}
	if err := p.Recheck(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := in(); got != "1 3" {
		t.Errorf("got %q", got)
	}
	if n := h.count(1); n != 1 {
		t.Errorf("%d checks of one that answers", n)
	}
	if n := h.count(2); n != 2 {
		t.Errorf("%d checks in a row of one that does not answer", n)
	}
	h.set(2, false)
	h.set(3, true)
	if err := p.Recheck(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := in(); got != "1 2" {
		t.Errorf("when that has changed: %q", got)
	}
	health := p.Health("tcp", netip.MustParseAddrPort("127.0.0.1:0"))
	if len(health) != 3 || !health[0].Healthy || !health[1].Healthy || health[2].Healthy || health[2].Err == nil {
		t.Errorf("health %+v", health)
	}
}

func TestThresholdsCountChecksInARow(t *testing.T) {
	p, h, in := balanced(t, Check{Interval: time.Millisecond, Timeout: time.Second, Healthy: 4, Unhealthy: 3})
	if err := p.Recheck(t.Context()); err != nil {
		t.Fatal(err)
	}
	before := h.count(1)
	h.set(1, true)
	eventually(t, "one that fails is still in", func() bool { return in() == "2 3" })
	if n := h.count(1) - before; n < 3 {
		t.Errorf("out after %d checks", n)
	}
	before = h.count(1)
	h.set(1, false)
	eventually(t, "one that answers again is still out", func() bool { return in() == "1 2 3" })
	if n := h.count(1) - before; n < 4 {
		t.Errorf("in again after %d checks", n)
	}
}

func TestNoChecksBeginInAPause(t *testing.T) {
	p, h, _ := balanced(t, Check{Interval: time.Millisecond, Timeout: time.Second, Healthy: 1, Unhealthy: 1})
	if err := p.Recheck(t.Context()); err != nil {
		t.Fatal(err)
	}
	resume := p.Pause()
	before := h.count(1)
	time.Sleep(20 * time.Millisecond)
	if n := h.count(1); n != before {
		t.Errorf("%d checks", n-before)
	}
	resume()
	eventually(t, "checks do not go on", func() bool { return h.count(1) > before })

	// A proxy can be closed in a pause.
	defer p.Pause()()
	p.Close()
	if err := p.Recheck(t.Context()); !errors.Is(err, net.ErrClosed) && err != nil {
		t.Error(err)
	}
}

func TestOtherEndpointsKeepWhatIsKnown(t *testing.T) {
	p, _, in := balanced(t, Check{Interval: time.Hour, Timeout: time.Second, Healthy: 1, Unhealthy: 1})
	if err := p.Recheck(t.Context()); err != nil {
		t.Fatal(err)
	}
	want := Port{Protocol: "tcp", At: netip.MustParseAddrPort("127.0.0.1:0"), Endpoints: addrPorts("10.0.0.1:2", "10.0.0.1:4"), Check: Check{Interval: time.Hour, Timeout: time.Second, Healthy: 1, Unhealthy: 1}}
	if err := p.Set(want); err != nil {
		t.Fatal(err)
	}
	if got := in(); got != "2" {
		t.Errorf("before the check: %q", got)
	}
	if err := p.Recheck(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := in(); got != "2 4" {
		t.Errorf("after it: %q", got)
	}
	want.Check = Check{}
	if err := p.Set(want); err != nil {
		t.Fatal(err)
	}
	if got := in(); got != "2 4" {
		t.Errorf("without checks: %q", got)
	}
}
