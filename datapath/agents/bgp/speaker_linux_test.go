package bgp

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/netlab/netlab/datapath/netns"
	"github.com/netlab/netlab/datapath/plan/bgp"
)

// table is the routes of a host that only remembers them.
type table struct {
	mu     sync.Mutex
	routes map[netip.Prefix]bgp.Hop
}

func (t *table) Set(to netip.Prefix, hop bgp.Hop) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.routes[to] = hop
	return nil
}

func (t *table) Remove(to netip.Prefix) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.routes, to)
	return nil
}

func (t *table) prefixes() []netip.Prefix {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.SortedFunc(maps.Keys(t.routes), netip.Prefix.Compare)
}

func (t *table) hop(to netip.Prefix) bgp.Hop {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.routes[to]
}

// host is one of several in network namespaces of their own, all on one bridge:
//
//	[n1] 192.168.0.1 ──┐
//	[n2] 192.168.0.2 ──┼── br0
//	[n3] 192.168.0.3 ──┘
type host struct {
	ns      *netns.NS
	config  *bgp.Speaker
	routes  *table
	speaker *Speaker
}

func address(n int, ipv6 bool) netip.Addr {
	if ipv6 {
		return netip.AddrFrom16([16]byte{0xfd, 15: byte(n)})
	}
	return netip.AddrFrom4([4]byte{192, 168, 0, byte(n)})
}

func pods(n int, ipv6 bool) netip.Prefix {
	if ipv6 {
		return netip.PrefixFrom(netip.AddrFrom16([16]byte{0xfd, 0x10, 7: byte(n)}), 64)
	}
	return netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 244, byte(n), 0}), 24)
}

// hosts are n of them, with speakers of one AS that have no peers yet.
func hosts(t testing.TB, n int) []*host {
	t.Helper()
	list := make([]*host, n+1)
	for i := range list {
		list[i] = &host{}
		thread := netns.NewThread()
		err := thread.Run(func(h netns.Here) (err error) {
			list[i].ns, err = h.Create()
			return err
		})
		thread.Close()
		if err != nil {
			t.Skipf("this machine lacks network namespaces: %v", err)
		}
		t.Cleanup(func() { list[i].ns.Close() })
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(list[0].ns.Do(func() error {
		br := &netlink.Bridge{LinkAttrs: netlink.LinkAttrs{Name: "br0"}}
		err := errors.Join(netlink.LinkAdd(br), netlink.LinkSetUp(br))
		for i := range list[1:] {
			port := netlink.LinkAttrs{Name: fmt.Sprintf("p%d", i), MasterIndex: br.Index}
			veth := &netlink.Veth{LinkAttrs: port, PeerName: "eth0", PeerNamespace: netlink.NsFd(list[i+1].ns.FD())}
			err = errors.Join(err, netlink.LinkAdd(veth), netlink.LinkSetUp(veth))
		}
		return err
	}))
	for i, h := range list[1:] {
		n := i + 1
		must(h.ns.Do(func() error {
			lo, err := netlink.LinkByName("lo")
			eth, err2 := netlink.LinkByName("eth0")
			if err = errors.Join(err, err2); err != nil {
				return err
			}
			return errors.Join(netlink.LinkSetUp(lo), netlink.LinkSetUp(eth), netlink.AddrAdd(eth, &netlink.Addr{
				IPNet: &net.IPNet{IP: address(n, false).AsSlice(), Mask: net.CIDRMask(24, 32)}, Flags: unix.IFA_F_NODAD}))
		}))
		h.config = &bgp.Speaker{AS: 64512, ID: address(n, false), Announces: []netip.Prefix{pods(n, false), pods(n, true)}}
		for k := range list[1:] {
			for _, ipv6 := range []bool{false, true} {
				h.config.Hops = append(h.config.Hops, bgp.Hop{To: address(k+1, ipv6), Via: address(k+1, ipv6), Dev: "eth0"})
			}
		}
	}
	return list[1:]
}

// peers makes two hosts peers: as seen from either.
func peers(a, b *host, client bool) {
	add := func(from, to *host, client bool) {
		last := int(from.config.ID.As4()[3])
		from.config.Peers = append(from.config.Peers, bgp.Peer{Name: "n" + to.config.ID.String(), Addr: to.config.ID, Local: from.config.ID, AS: to.config.AS, Client: client,
			NextHops: []netip.Addr{address(last, false), address(last, true)}})
	}
	add(a, b, client)
	add(b, a, false)
}

func mesh(list []*host) {
	for i, a := range list {
		for _, b := range list[i+1:] {
			peers(a, b, false)
		}
	}
}

func (h *host) start(t testing.TB) {
	t.Helper()
	h.routes = &table{routes: map[netip.Prefix]bgp.Hop{}}
	err := h.ns.Do(func() (err error) {
		h.speaker, err = Open(Config{Speaker: h.config, Hold: 3 * time.Second, Routes: h.routes, Dial: func(ctx context.Context, from, to netip.AddrPort) (conn net.Conn, err error) {
			err = h.ns.Do(func() (err error) {
				d := net.Dialer{LocalAddr: net.TCPAddrFromAddrPort(from)}
				conn, err = d.DialContext(ctx, "tcp", to.String())
				return err
			})
			return conn, err
		}})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.speaker.Close)
}

// converged waits until all speakers have the routes that they have on paper.
func converged(t testing.TB, list []*host) {
	t.Helper()
	var speakers []*bgp.Speaker
	for _, h := range list {
		speakers = append(speakers, h.config)
	}
	want := bgp.Converge(speakers)
	deadline := time.Now().Add(20 * time.Second)
	for i, h := range list {
		var expected []netip.Prefix
		for _, p := range want[i].Prefixes() {
			if _, _, ok := want[i].Best(p); ok {
				expected = append(expected, p)
			}
		}
		for !slices.Equal(h.routes.prefixes(), expected) {
			if time.Now().After(deadline) {
				for _, h := range list {
					for _, s := range h.speaker.Sessions() {
						if s.Peer.Down {
							t.Logf("%s with %s: %v", h.config.ID, s.Peer.Addr, s.Why)
						}
					}
				}
				t.Fatalf("host %d has the routes %v, want %v", i+1, h.routes.prefixes(), expected)
			}
			time.Sleep(time.Millisecond)
		}
		for _, p := range expected {
			hop, _, _ := want[i].Best(p)
			if got := h.routes.hop(p); got.Via != hop.Via {
				t.Errorf("host %d reaches %s via %s, want %s", i+1, p, got.Via, hop.Via)
			}
		}
	}
}

func start(t testing.TB, list []*host) {
	t.Helper()
	for _, h := range list {
		h.start(t)
	}
}

func TestAMeshLearnsAndForgets(t *testing.T) {
	list := hosts(t, 3)
	mesh(list)
	start(t, list)
	converged(t, list)
	if n := len(list[0].routes.prefixes()); n != 4 {
		t.Fatalf("%d routes, want those to both prefixes of two others", n)
	}
	for _, s := range list[0].speaker.Sessions() {
		if s.Peer.Down || s.Received != 2 {
			t.Errorf("session %+v", s)
		}
	}
	before := list[2].routes.prefixes()
	list[2].speaker.Close()
	list[2].config.Peers = nil
	for _, h := range list[:2] {
		h.config.Peers[1].Down = true
	}
	converged(t, list[:2])
	if after := list[2].routes.prefixes(); !slices.Equal(before, after) {
		t.Errorf("a speaker that has ended took its routes along: %v of %v are left", after, before)
	}
}

func TestPeersThatStayKeepTheirSession(t *testing.T) {
	list := hosts(t, 3)
	peers(list[0], list[1], false)
	start(t, list)
	converged(t, list)
	conn := list[0].speaker.sessions[key{address(1, false), address(2, false)}].conn
	first, second := *list[0].config, *list[2].config
	list[0].config, list[2].config = &first, &second
	list[0].config.Peers = slices.Clone(first.Peers)
	peers(list[0], list[2], false)
	list[0].speaker.Configure(list[0].config)
	list[2].speaker.Configure(list[2].config)
	converged(t, list)
	if now := list[0].speaker.sessions[key{address(1, false), address(2, false)}].conn; now != conn {
		t.Error("the session with a peer that stays was made anew")
	}
	bare := *list[0].config
	bare.Peers = bare.Peers[:1]
	list[0].config = &bare
	alone := *list[2].config
	alone.Peers = nil
	list[2].config = &alone
	list[0].speaker.Configure(list[0].config)
	list[2].speaker.Configure(list[2].config)
	converged(t, list)
}

func TestReflectorsPassOnWhatTheyHear(t *testing.T) {
	list := hosts(t, 4)
	peers(list[0], list[1], false) // both reflect
	for _, reflector := range list[:2] {
		for _, client := range list[2:] {
			peers(reflector, client, true)
		}
	}
	start(t, list)
	converged(t, list)
	if n := len(list[3].routes.prefixes()); n != 6 {
		t.Errorf("a client has %d routes, want those to both prefixes of three others", n)
	}
}

func TestARouterOfAnotherASLearnsThePods(t *testing.T) {
	list := hosts(t, 3)
	router := list[2]
	router.config.AS, router.config.Transit, router.config.Announces = 64513, true, nil
	mesh(list)
	start(t, list)
	converged(t, list)
	if n := len(router.routes.prefixes()); n != 4 {
		t.Errorf("the router has %d routes, want both prefixes of two nodes", n)
	}
	if n := len(list[0].routes.prefixes()); n != 2 {
		t.Errorf("a node has %d routes, want none of its own AS from the router", n)
	}
}

func TestAnotherASIsRefused(t *testing.T) {
	list := hosts(t, 2)
	mesh(list)
	list[0].config.Peers[0].AS = 64999
	start(t, list)
	deadline := time.Now().Add(10 * time.Second)
	for {
		s := list[0].speaker.Sessions()[0]
		if s.Why != nil && strings.Contains(s.Why.Error(), "AS 64512, expected 64999") {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("session %+v", s)
		}
		time.Sleep(time.Millisecond)
	}
}

// Whoever is no peer is not listened to, and a peer that talks nonsense loses its session
// and nothing else.
func TestStrangersAndNonsense(t *testing.T) {
	list := hosts(t, 3)
	peers(list[0], list[1], false)
	list[2].config.Peers = nil
	start(t, list[:1])
	dial := func(h *host) (conn net.Conn, err error) {
		err = h.ns.Do(func() (err error) { conn, err = net.Dial("tcp", "192.168.0.1:179"); return err })
		if err == nil {
			t.Cleanup(func() { conn.Close() })
		}
		return conn, err
	}
	refused := func(h *host) {
		t.Helper()
		conn, err := dial(h)
		if err == nil {
			_ = conn.SetReadDeadline(time.Now().Add(10 * time.Second))
			_, err = conn.Read(make([]byte, 1))
		}
		if !errors.Is(err, unix.ECONNRESET) {
			t.Errorf("a connection of %s is not reset: %v", h.config.ID, err)
		}
	}
	refused(list[2])
	for _, nonsense := range []string{strings.Repeat("nonsense", 16), strings.Repeat("\xff", 16) + "\x00\x13\x04", strings.Repeat("\xff", 18), strings.Repeat("\xff", 16) + "\x00\x17\x02\x00\x00\xff\xff"} {
		peer, err := dial(list[1])
		if err != nil {
			t.Fatal(err)
		}
		_, _ = peer.Write([]byte(nonsense))
		peer.Close()
	}
	list[1].start(t)
	converged(t, list[:2])
	refused(list[1])
	if s := list[0].speaker.Sessions()[0]; s.Peer.Down {
		t.Errorf("another connection of the peer ended the session: %v", s.Why)
	}
}

func BenchmarkMeshOf20(b *testing.B) {
	for b.Loop() {
		b.StopTimer()
		list := hosts(b, 20)
		mesh(list)
		before, goroutines := memory(), runtime.NumGoroutine()
		b.StartTimer()
		start(b, list)
		converged(b, list)
		b.StopTimer()
		b.ReportMetric(float64(memory()-before)/20/1024, "kB/speaker")
		b.ReportMetric(float64(runtime.NumGoroutine()-goroutines)/20, "goroutines/speaker")
		for _, h := range list {
			h.speaker.Close()
			h.ns.Close() // neighbour tables are shared by the whole machine, and have 1024 entries
		}
		b.StartTimer()
	}
}

// memory is what is in use: the heap and all stacks.
func memory() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapInuse + m.StackInuse
}
