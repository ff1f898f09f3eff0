package userspace

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"
)

func addrPorts(list ...string) (out []netip.AddrPort) {
	for _, s := range list {
		out = append(out, netip.MustParseAddrPort(s))
	}
	return out
}

// taken are the endpoints of some clients, one after the other.
func taken(t *testing.T, b *balancer, clients string) string {
	t.Helper()
	var got []string
	for _, c := range strings.Fields(clients) {
		e, ok := b.take(netip.MustParseAddr("10.0.0." + c))
		if !ok {
			t.Fatal("no endpoint")
		}
		got = append(got, fmt.Sprint(e.Port()))
	}
	return strings.Join(got, " ")
}

func TestEndpointsAreTakenInTurn(t *testing.T) {
	var b balancer
	if _, ok := b.take(netip.Addr{}); ok {
		t.Error("an endpoint where there is none")
	}
	three := addrPorts("10.1.0.1:1", "10.1.0.1:2", "10.1.0.1:3")
	b.set(three, 0)
	if got := taken(t, &b, "1 1 1 1"); got != "1 2 3 1" {
		t.Errorf("got %s", got)
	}
	if e, _ := b.after(three[2], netip.Addr{}); e.Port() != 1 {
		t.Errorf("after the last one: %s", e)
	}
	b.set(slices.Clone(three), 0)
	if got := taken(t, &b, "1"); got != "2" {
		t.Errorf("the same endpoints: got %s", got)
	}
	b.set(three[1:], 0)
	if got := taken(t, &b, "1 1 1"); got != "2 3 2" {
		t.Errorf("other endpoints: got %s", got)
	}
}

func TestClientsStayWithTheirEndpoint(t *testing.T) {
	var b balancer
	three := addrPorts("10.1.0.1:1", "10.1.0.1:2", "10.1.0.1:3")
	b.set(three, 100*time.Millisecond)
	if got := taken(t, &b, "1 2 1 3 2 1"); got != "1 2 1 3 2 1" {
		t.Errorf("got %s", got)
	}
	// What did not answer is left for good.
	if e, _ := b.after(three[0], netip.MustParseAddr("10.0.0.1")); e.Port() != 2 {
		t.Errorf("after the first one: %s", e)
	}
	if got := taken(t, &b, "1"); got != "2" {
		t.Errorf("after the first one failed: got %s", got)
	}
	b.set(three[:2], 100*time.Millisecond)
	if got := taken(t, &b, "1 3"); got != "2 1" {
		t.Errorf("the endpoint of 3 is gone: got %s", got)
	}
	time.Sleep(150 * time.Millisecond)
	if got := taken(t, &b, "1 1"); got != "2 2" {
		t.Errorf("after the timeout: got %s", got)
	}
	time.Sleep(150 * time.Millisecond)
	if got := taken(t, &b, "1"); got != "1" {
		t.Errorf("after the timeout: got %s", got)
	}
}

// start is a proxy on the loopback device.
func start(t *testing.T, protocol string, endpoints []netip.AddrPort) (*Proxy, netip.AddrPort) {
	t.Helper()
	p := New(Config{Patience: []time.Duration{50 * time.Millisecond, 50 * time.Millisecond, 50 * time.Millisecond}, Idle: 100 * time.Millisecond,
		Dial: func(_ context.Context, protocol string, to netip.AddrPort, within time.Duration) (net.Conn, error) {
			return net.DialTimeout(protocol, to.String(), within)
		}})
	t.Cleanup(p.Close)
	at := free(t, protocol)
	if err := p.Set(Port{Protocol: protocol, At: at, Endpoints: endpoints}); err != nil {
		t.Fatal(err)
	}
	return p, at
}

// free is a port that is not in use, of an address that no other process listens on.
func free(t *testing.T, protocol string) netip.AddrPort {
	t.Helper()
	if protocol == "udp" {
		c, err := net.ListenPacket("udp", "127.0.0.3:0")
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		return c.LocalAddr().(*net.UDPAddr).AddrPort()
	}
	l, err := net.Listen("tcp", "127.0.0.3:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).AddrPort()
}

// dead is an endpoint that refuses: nobody listens there.
var dead = netip.MustParseAddrPort("127.0.0.2:1")

// echo answers streams with a name and what it reads.
func echo(t *testing.T, name string) netip.AddrPort {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				_, _ = io.WriteString(c, name+":")
				_, _ = io.Copy(c, c)
			}()
		}
	}()
	return l.Addr().(*net.TCPAddr).AddrPort()
}

// say sends a word and returns what comes back, or an error.
func say(t *testing.T, at netip.AddrPort, want int) string {
	t.Helper()
	c, err := net.Dial("tcp", at.String())
	if err != nil {
		return err.Error()
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(5 * time.Second))
	// A reset that is there already is told to the write, and to no read after it.
	if _, err := io.WriteString(c, "word"); err != nil {
		return err.Error()
	}
	b := make([]byte, want)
	if _, err := io.ReadFull(c, b); err != nil {
		return err.Error()
	}
	return string(b)
}

func TestStreamsGoToEndpointsInTurn(t *testing.T) {
	a, b := echo(t, "a"), echo(t, "b")
	_, at := start(t, "tcp", []netip.AddrPort{a, b})
	for _, want := range []string{"a:word", "b:word", "a:word"} {
		if got := say(t, at, len(want)); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestADeadEndpointIsReplacedByTheNext(t *testing.T) {
	b := echo(t, "b")
	_, at := start(t, "tcp", []netip.AddrPort{dead, b})
	for range 4 {
		if got := say(t, at, 6); got != "b:word" {
			t.Errorf("got %q", got)
		}
	}
}

func TestWithoutAnEndpointAConnectionIsReset(t *testing.T) {
	for name, list := range map[string][]netip.AddrPort{"none": nil, "a dead one": {dead}} {
		_, at := start(t, "tcp", list)
		if got := say(t, at, 1); !strings.Contains(got, "reset") && !strings.Contains(got, "broken pipe") {
			t.Errorf("%s: got %q", name, got)
		}
	}
}

func TestStreamsGoOnWithoutTheirPort(t *testing.T) {
	p, at := start(t, "tcp", []netip.AddrPort{echo(t, "a")})
	c, err := net.Dial("tcp", at.String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(5 * time.Second))
	b := make([]byte, 2)
	if _, err := io.ReadFull(c, b); err != nil || string(b) != "a:" {
		t.Fatalf("got %q, %v", b, err)
	}
	p.Remove("tcp", at)
	if _, err := io.WriteString(c, "hi"); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(c, b); err != nil || string(b) != "hi" {
		t.Errorf("got %q, %v", b, err)
	}
	if got := say(t, at, 1); !strings.Contains(got, "refused") {
		t.Errorf("a new one: got %q", got)
	}
	p.Close()
	if _, err := io.ReadFull(c, b); err == nil {
		t.Error("the stream outlives the proxy")
	}
}

func TestDatagramsOfAClientGoToOneEndpoint(t *testing.T) {
	var endpoints []netip.AddrPort
	for _, name := range []string{"a", "b"} {
		c, err := net.ListenPacket("udp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		endpoints = append(endpoints, c.LocalAddr().(*net.UDPAddr).AddrPort())
		go func() {
			b := make([]byte, 100)
			for {
				n, from, err := c.ReadFrom(b)
				if err != nil {
					return
				}
				_, _ = c.WriteTo([]byte(name+string(b[:n])), from)
			}
		}()
	}
	_, at := start(t, "udp", endpoints)
	c, err := net.Dial("udp", at.String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(5 * time.Second))
	ask := func() string {
		b := make([]byte, 100)
		_, _ = c.Write([]byte("?"))
		n, err := c.Read(b)
		if err != nil {
			t.Fatal(err)
		}
		return string(b[:n])
	}
	if got := ask() + ask(); got != "a?a?" {
		t.Errorf("got %s", got)
	}
	time.Sleep(300 * time.Millisecond)
	if got := ask(); got != "b?" {
		t.Errorf("after a silence: got %s", got)
	}
}

func TestAnotherProtocolIsRefused(t *testing.T) {
	p := New(Config{})
	defer p.Close()
	if err := p.Set(Port{Protocol: "sctp", At: netip.MustParseAddrPort("127.0.0.1:1")}); err == nil {
		t.Error("no error")
	}
}
