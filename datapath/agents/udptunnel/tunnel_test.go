//go:build linux

package udptunnel

import (
	"bytes"
	"crypto/rand"
	"errors"
	"io"
	"net"
	"net/netip"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

const within = 300 * time.Millisecond // how long a test waits for what must not come

// upload sends bytes over TCP to the other node and returns what arrives there; or an error
// of the connection.
func (e *end) upload(to *end, dst netip.Addr, data []byte) ([]byte, error) {
	e.Helper()
	var l net.Listener
	to.do(func() (err error) { l, err = net.Listen("tcp", net.JoinHostPort(dst.String(), "0")); return err })
	defer l.Close()
	got := make(chan []byte, 1)
	go func() {
		c, err := l.Accept()
		if err != nil {
			got <- nil
			return
		}
		defer c.Close()
		b, _ := io.ReadAll(c)
		got <- b
	}()
	var c net.Conn
	var err error
	e.do(func() error { c, err = net.DialTimeout("tcp", l.Addr().String(), within); return nil })
	if err != nil {
		return nil, err
	}
	_, err = c.Write(data)
	c.Close()
	return <-got, err
}

func random(n int) []byte {
	b := make([]byte, n)
	_, _ = rand.Read(b)
	return b
}

// Segments are cut up, numbered, checksummed and put together again: every byte arrives, of
// both families, and where segments are no multiple of anything.
func TestEveryByteArrives(t *testing.T) {
	for _, secret := range []string{"", "a secret for the tests"} {
		a, b := twoNodes(t, 1400)
		a.open(b, secret)
		b.open(a, secret)
		for _, dst := range []netip.Addr{b.own(), b.ip6.Addr().Next()} {
			for _, n := range []int{1, 1348, 1349, 5_000_003} {
				data := random(n)
				if got, err := a.upload(b, dst, data); err != nil || !bytes.Equal(got, data) {
					t.Errorf("secret %q, %d bytes to %s: %d arrived: %v", secret, n, dst, len(got), err)
				}
			}
		}
	}
}

// datagram sends a datagram of an application through the tunnel and returns what arrives.
func (e *end) datagram(to *end, data []byte) []byte {
	e.Helper()
	var server *net.UDPConn
	to.do(func() (err error) {
		server, err = net.ListenUDP("udp", &net.UDPAddr{IP: to.own().AsSlice()})
		return err
	})
	defer server.Close()
	e.do(func() error {
		c, err := net.Dial("udp", server.LocalAddr().String())
		if err != nil {
			return err
		}
		defer c.Close()
		_, err = c.Write(data)
		return err
	})
	b := make([]byte, 9000)
	_ = server.SetReadDeadline(time.Now().Add(within))
	n, err := server.Read(b)
	if err != nil {
		return nil
	}
	return b[:n]
}

func TestDatagramsOfApplicationsArrive(t *testing.T) {
	a, b := twoNodes(t, 1400)
	a.open(b, "")
	b.open(a, "")
	for _, n := range []int{0, 1, 1372, 4000} { // the last is fragmented
		if data := random(n); !bytes.Equal(a.datagram(b, data), data) {
			t.Errorf("a datagram of %d bytes is lost", n)
		}
	}
}

func TestAnAddressOfNoNodeIsUnreachable(t *testing.T) {
	a, b := twoNodes(t, 1400)
	a.open(b, "")
	for dst, want := range map[string]error{"10.244.7.7": unix.ENETUNREACH, "fd00:0:0:7::7": unix.ENETUNREACH,
		"10.244.1.77": os.ErrDeadlineExceeded} { // the last is its own: dropped
		var err error
		a.do(func() error { _, err = net.DialTimeout("tcp", net.JoinHostPort(dst, "80"), within); return nil })
		if !errors.Is(err, want) && !(want == os.ErrDeadlineExceeded && os.IsTimeout(err)) {
			t.Errorf("%s: %v, want %v", dst, err, want)
		}
	}
}

// capture returns the frames that pass the link between the nodes while something runs.
func (e *end) capture(while func()) [][]byte {
	e.Helper()
	fd := -1
	e.do(func() (err error) {
		const all = 0x0300 // ETH_P_ALL, in the byte order of the network
		if fd, err = unix.Socket(unix.AF_PACKET, unix.SOCK_RAW, all); err != nil {
			return err
		}
		eth0, err := netlink.LinkByName("eth0")
		if err != nil {
			return err
		}
		return unix.Bind(fd, &unix.SockaddrLinklayer{Protocol: all, Ifindex: eth0.Attrs().Index})
	})
	defer unix.Close(fd)
	_ = unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Usec: 100_000})
	while()
	var frames [][]byte
	for b := make([]byte, 1<<17); ; {
		n, _, err := unix.Recvfrom(fd, b, 0)
		if errors.Is(err, unix.EINTR) {
			continue // a wait with a timeout is not restarted after a signal (signal(7))
		}
		if err != nil {
			return frames
		}
		frames = append(frames, bytes.Clone(b[:n]))
	}
}

func contain(frames [][]byte, pattern []byte) bool {
	for _, f := range frames {
		if bytes.Contains(f, pattern) {
			return true
		}
	}
	return false
}

// What pods say can be read on the wire, unless it is encrypted. Either way it arrives.
func TestEncryptionHidesWhatPodsSay(t *testing.T) {
	pattern := bytes.Repeat([]byte("a message that can be found "), 8)
	for _, secret := range []string{"", "a secret for the tests"} {
		a, b := twoNodes(t, 1400)
		a.open(b, secret)
		b.open(a, secret)
		var got []byte
		frames := b.capture(func() { got, _ = a.upload(b, b.own(), pattern) })
		if !bytes.Equal(got, pattern) || len(frames) == 0 {
			t.Fatalf("secret %q: %d bytes arrive, %d frames are seen", secret, len(got), len(frames))
		}
		if read := contain(frames, pattern[:28]); read != (secret == "") {
			t.Errorf("secret %q: the pattern is on the wire: %v", secret, read)
		}
	}
}

// With another key neither direction works, and nobody is told.
func TestAnotherKeyIsSilence(t *testing.T) {
	for _, keys := range [][2]string{{"one secret", "the other one"}, {"", "only one side"}, {"only this side", ""}} {
		a, b := twoNodes(t, 1400)
		a.open(b, keys[0])
		b.open(a, keys[1])
		if got := a.datagram(b, []byte("to b")); got != nil {
			t.Errorf("%q: %q arrives", keys, got)
		}
		if got := b.datagram(a, []byte("to a")); got != nil {
			t.Errorf("%q: %q arrives", keys, got)
		}
	}
}

// A datagram that was seen on the wire is sent again.
func TestOnlyFreshDatagramsOfNodesArrive(t *testing.T) {
	for _, row := range []struct {
		name, secret string
		port         uint16 // that it is sent from
		want         bool
	}{
		{"again, without encryption", "", 8285, true},
		{"again, encrypted", "a secret for the tests", 8285, false},
		{"from another port", "", 9999, false},
	} {
		a, b := twoNodes(t, 1400)
		ours := a.open(b, row.secret)
		b.open(a, row.secret)
		var server *net.UDPConn
		b.do(func() (err error) {
			server, err = net.ListenUDP("udp", &net.UDPAddr{IP: b.own().AsSlice(), Port: 7})
			return err
		})
		defer server.Close()
		heard := func() bool {
			_ = server.SetReadDeadline(time.Now().Add(within))
			_, err := server.Read(make([]byte, 100))
			return err == nil
		}
		frames := b.capture(func() {
			a.do(func() error {
				c, err := net.Dial("udp", net.JoinHostPort(b.own().String(), "7"))
				if err != nil {
					return err
				}
				defer c.Close()
				_, err = c.Write([]byte("hello"))
				return err
			})
			if !heard() {
				t.Fatalf("%s: the first does not arrive", row.name)
			}
		})
		var payload []byte
		for _, f := range frames {
			if len(f) > 42 && f[23] == unix.IPPROTO_UDP && f[36] == 8285>>8 && f[37] == 8285&0xff {
				payload = f[42:]
			}
		}
		if payload == nil {
			t.Fatalf("%s: no datagram among %d frames", row.name, len(frames))
		}
		ours.Close() // its port is free again
		a.do(func() error {
			c, err := net.DialUDP("udp", net.UDPAddrFromAddrPort(netip.AddrPortFrom(a.addr, row.port)), net.UDPAddrFromAddrPort(b.node()))
			if err != nil {
				return err
			}
			defer c.Close()
			_, err = c.Write(payload)
			return err
		})
		if got := heard(); got != row.want {
			t.Errorf("%s: it arrives: %v, want %v", row.name, got, row.want)
		}
	}
}

// A node may start again: its key is the same, its counter goes on.
func TestANodeStartsAgain(t *testing.T) {
	a, b := twoNodes(t, 1400)
	first := a.open(b, "a secret for the tests")
	b.open(a, "a secret for the tests")
	if a.datagram(b, []byte("x")) == nil {
		t.Fatal("the first does not arrive")
	}
	first.Close()
	a.open(b, "a secret for the tests")
	if a.datagram(b, []byte("x")) == nil {
		t.Error("nothing arrives after a new start")
	}
}

func TestPeersChangeWhileItRuns(t *testing.T) {
	a, b := twoNodes(t, 1400)
	x := a.open(b, "a secret for the tests")
	b.open(a, "a secret for the tests")
	for i, row := range []struct {
		peers []Peer
		want  bool
	}{{nil, false}, {[]Peer{{b.pods, b.node()}}, true}, {[]Peer{{b.pods, b.node()}, {netip.MustParsePrefix("10.244.9.0/24"), a.node()}}, true}} {
		if err := x.SetPeers(row.peers); err != nil {
			t.Fatal(err)
		}
		if got := a.datagram(b, []byte(strconv.Itoa(i))) != nil; got != row.want {
			t.Errorf("with %v: arrives %v, want %v", row.peers, got, row.want)
		}
	}
	if x.Err() != nil {
		t.Error(x.Err())
	}
}

func TestItEndsWithItsDevice(t *testing.T) {
	a, b := twoNodes(t, 1400)
	x := a.open(b, "")
	if x.Err() != nil {
		t.Fatal(x.Err())
	}
	a.do(func() error {
		l, err := netlink.LinkByName("tun0")
		if err != nil {
			return err
		}
		return netlink.LinkDel(l)
	})
	if x.Err() == nil {
		t.Error("nobody noticed")
	}
	x.Close()
}

// Sleeping tunnels cost nothing.
func TestNothingSpins(t *testing.T) {
	a, b := twoNodes(t, 1400)
	a.open(b, "")
	b.open(a, "")
	a.datagram(b, []byte("x"))
	var before, after unix.Rusage
	_ = unix.Getrusage(unix.RUSAGE_SELF, &before)
	time.Sleep(time.Second)
	_ = unix.Getrusage(unix.RUSAGE_SELF, &after)
	if used := time.Duration(after.Utime.Nano() + after.Stime.Nano() - before.Utime.Nano() - before.Stime.Nano()); used > 100*time.Millisecond {
		t.Errorf("%v of processor time in an idle second", used)
	}
}
