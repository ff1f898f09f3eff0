package engine

import (
	"bytes"
	"encoding/binary"
	"errors"
	"net"
	"net/netip"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/netlab/netlab/datapath/kernel/features"
	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/datapath/plan/feature"
	"github.com/netlab/netlab/datapath/plan/occupant"
)

// wireGuards are two nodes, joined by a veth, and their WireGuard devices:
//
//	wg 10.244.1.0 [node.a] eth0 192.168.0.1 ─── 192.168.0.2 eth0 [node.b] wg 10.244.2.0
//
// 10.9.9.9 is an address of node.a that node.b does not allow it.
func wireGuards() *plan.Plan {
	p := &plan.Plan{Lab: "wireguards"}
	keys := []occupant.Key{{8, 1, 31: 64}, {8, 2, 31: 64}}
	for i, name := range []string{"a", "b"} {
		one, other := byte(i+1), byte(2-i)
		addr := func(n byte) netip.Addr { return netip.AddrFrom4([4]byte{192, 168, 0, n}) }
		pods := func(n byte, bits int) netip.Prefix {
			return netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 244, n, 0}), bits)
		}
		p.Netns = append(p.Netns, plan.Netns{Name: "node." + name, Kind: plan.Node,
			Links: []plan.Link{{Name: "eth0", Type: plan.Veth, MTU: 1500, MAC: plan.MAC{2, 5: one}, Peer: plan.Peer{Netns: []string{"node.b", "node.a"}[i], Link: "eth0"}},
				{Name: "wg", Type: plan.WireGuard, MTU: 1440}},
			Addrs:  []plan.Addr{{Link: "eth0", Prefix: netip.PrefixFrom(addr(one), 24)}, {Link: "wg", Prefix: pods(one, 32)}},
			Routes: []plan.Route{{To: pods(other, 24), Dev: "wg"}},
			Tunnels: []occupant.Tunnel{{Link: "wg", At: netip.MustParseAddrPort("[::]:51820"), Key: keys[i],
				Peers: []occupant.TunnelPeer{{Pods: pods(other, 24), Node: netip.AddrPortFrom(addr(other), 51820), Key: keys[1-i].Public()}}}},
		})
	}
	p.Netns[0].Addrs = append(p.Netns[0].Addrs, plan.Addr{Link: "wg", Prefix: netip.MustParsePrefix("10.9.9.9/32")})
	p.Netns[1].Routes = append(p.Netns[1].Routes, plan.Route{To: netip.MustParsePrefix("10.9.9.9/32"), Dev: "wg"})
	p.Sort()
	return p
}

// forms calls a test for WireGuard in user space, and the kernel's where it has one.
func forms(t *testing.T, test func(t *testing.T, w *wires)) {
	for _, form := range []feature.Feature{feature.Tun, feature.WireGuard} {
		t.Run(string(form), func(t *testing.T) {
			for f, err := range features.Missing(t.Context(), []feature.Feature{form}) {
				t.Skipf("this machine lacks %s: %v", f, err)
			}
			e, err := newEngine(nil)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(e.dismantle)
			if form == feature.Tun {
				e.kernel.UserSpace()
			}
			w := &wires{crowd: &crowd{engine: e, t: t}, userSpace: form == feature.Tun}
			w.apply(wireGuards())
			test(t, w)
		})
	}
}

// wires are running WireGuard devices.
type wires struct {
	*crowd
	userSpace bool
}

// apply applies a plan, and checks that it took effect.
func (w *wires) apply(p *plan.Plan) {
	w.t.Helper()
	if err := w.ask(p); err != nil {
		w.t.Fatal(err)
	}
	if drift := w.drift(); drift != "" {
		w.t.Fatalf("not as planned: %s", drift)
	}
}

func (w *wires) in(node string, do func() error) {
	w.t.Helper()
	ns, err := w.kernel.Namespace("node." + node)
	if err == nil {
		err = ns.Do(do)
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

// say sends a datagram from an address of one node to the other, and reports whether it
// arrives within a time.
func (w *wires) say(from, source, to, text string, within time.Duration) bool {
	w.t.Helper()
	addr := map[string]net.IP{"a": net.IPv4(10, 244, 1, 0), "b": net.IPv4(10, 244, 2, 0)}[to]
	var server *net.UDPConn
	w.in(to, func() (err error) { server, err = net.ListenUDP("udp4", &net.UDPAddr{IP: addr}); return err })
	defer server.Close()
	w.in(from, func() error {
		c, err := net.DialUDP("udp4", &net.UDPAddr{IP: net.ParseIP(source)}, server.LocalAddr().(*net.UDPAddr))
		if err == nil {
			_, err = c.Write([]byte(text))
			c.Close()
		}
		return err
	})
	_ = server.SetReadDeadline(time.Now().Add(within))
	b := make([]byte, 2000)
	n, _, err := server.ReadFrom(b)
	return err == nil && string(b[:n]) == text
}

const (
	patience = 5 * time.Second        // for what must come
	silence  = 300 * time.Millisecond // for what must not
)

// capture returns what passes a link of a node while something runs.
func (w *wires) capture(node, link string, while func()) (frames [][]byte) {
	w.t.Helper()
	fd := -1
	w.in(node, func() error {
		l, err := netlink.LinkByName(link)
		if err != nil {
			return err
		}
		const all = 0x0300 // ETH_P_ALL, in the byte order of the network
		if fd, err = unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, all); err != nil {
			return err
		}
		return unix.Bind(fd, &unix.SockaddrLinklayer{Protocol: all, Ifindex: l.Attrs().Index})
	})
	defer unix.Close(fd)
	_ = unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Usec: 100_000})
	while()
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

// What pods say is on the device, and on the wire there is nothing but encrypted datagrams.
func TestWireGuardHidesWhatPodsSay(t *testing.T) {
	forms(t, func(t *testing.T, w *wires) {
		text := strings.Repeat("a message that can be found ", 8)
		holds := func(f []byte) bool { return bytes.Contains(f, []byte(text[:28])) }
		say := func() {
			if !w.say("a", "10.244.1.0", "b", text, patience) || !w.say("b", "10.244.2.0", "a", text, patience) {
				t.Error("a message is lost")
			}
		}
		if !slices.ContainsFunc(w.capture("b", "wg", say), holds) {
			t.Error("the message is not on the device: nothing was tested")
		}
		wire := w.capture("b", "eth0", say)
		if len(wire) < 2 {
			t.Fatalf("only %d frames on the wire", len(wire))
		}
		for _, f := range wire {
			const header = 14 // of Ethernet
			kind := binary.BigEndian.Uint16(f[12:])
			if kind == unix.ETH_P_ARP || kind == unix.ETH_P_IPV6 && f[header+6] == unix.IPPROTO_ICMPV6 {
				continue
			}
			if holds(f) {
				t.Errorf("the message is on the wire: %x", f)
			}
			if kind != unix.ETH_P_IP || f[header+9] != unix.IPPROTO_UDP || binary.BigEndian.Uint16(f[header+20:]) != 51820 || binary.BigEndian.Uint16(f[header+22:]) != 51820 {
				t.Errorf("not a datagram of port 51820: %x", f)
			}
		}
	})
}

// A peer sends in the name of its own pods only.
func TestWireGuardTakesNoForeignSource(t *testing.T) {
	forms(t, func(t *testing.T, w *wires) {
		if !w.say("a", "10.244.1.0", "b", "its own", patience) {
			t.Error("what a sends from its own address is lost")
		}
		arrived := false
		wire := w.capture("b", "eth0", func() { arrived = w.say("a", "10.9.9.9", "b", "not its own", silence) })
		if arrived || len(wire) == 0 {
			t.Errorf("what a sends from another address arrives: %v, after %d frames", arrived, len(wire))
		}
		p := wireGuards()
		b := &p.Netns[1].Tunnels[0]
		b.Peers = append(b.Peers, occupant.TunnelPeer{Pods: netip.MustParsePrefix("10.9.9.9/32"), Node: b.Peers[0].Node, Key: b.Peers[0].Key})
		p.Sort()
		w.apply(p)
		if !w.say("a", "10.9.9.9", "b", "its own now", patience) {
			t.Error("it is lost although b allows a to send it")
		}
	})
}

// With another key on one node neither direction works, and nobody is told; with the right
// one both do at once.
func TestWireGuardWithAWrongKeyIsSilence(t *testing.T) {
	forms(t, func(t *testing.T, w *wires) {
		for range 2 {
			for _, source := range [][2]string{{"a", "10.244.1.0"}, {"b", "10.244.2.0"}} {
				to := map[string]string{"a": "b", "b": "a"}[source[0]]
				if !w.say(source[0], source[1], to, "hello", patience) {
					t.Errorf("with the right keys, what %s says is lost", source[0])
				}
			}
			wrong := wireGuards()
			wrong.Netns[0].Tunnels[0].Key[1] ^= 4
			w.apply(wrong)
			if w.say("a", "10.244.1.0", "b", "hello", silence) || w.say("b", "10.244.2.0", "a", "hello", silence) {
				t.Error("with a wrong key, something arrives")
			}
			w.apply(wireGuards())
		}
	})
}

// A device that goes is drift, and is made again; so is a peer that goes.
func TestDriftOfWireGuard(t *testing.T) {
	forms(t, func(t *testing.T, w *wires) {
		w.in("a", func() error { return exec.Command("ip", "link", "delete", "dev", "wg").Run() })
		want := "tunnel wg on udp port 51820, with public key " + wireGuards().Netns[0].Tunnels[0].Key.Public().String() + " missing"
		if w.userSpace {
			want = "the tunnel of wg has ended: device wg was deleted"
			for deadline := time.Now().Add(patience); !strings.Contains(w.drift(), want) && time.Now().Before(deadline); {
				time.Sleep(time.Millisecond)
			}
		}
		if drift := w.drift(); !strings.Contains(drift, "link wg missing") || !strings.Contains(drift, want) {
			t.Errorf("drift is %s", drift)
		}
		w.apply(wireGuards())
		if !w.say("b", "10.244.2.0", "a", "hello", patience) {
			t.Error("after the repair, what b says is lost")
		}
		none := wireGuards()
		none.Netns[0].Tunnels = nil
		w.apply(none)
		if w.say("a", "10.244.1.0", "b", "hello", silence) || w.say("b", "10.244.2.0", "a", "hello", silence) {
			t.Error("without a tunnel, something arrives")
		}
		w.apply(wireGuards())
		if !w.say("b", "10.244.2.0", "a", "hello", patience) || !w.say("a", "10.244.1.0", "b", "hello", patience) {
			t.Error("with the tunnel again, something is lost")
		}
	})
}
