package probe_test

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/netlab/netlab/datapath/flow"
	"github.com/netlab/netlab/datapath/netns"
	"github.com/netlab/netlab/datapath/probe"
)

// mesh is 100 pods on 10 nodes. A pod has one link, to its node, and the nodes
// reach each other over an underlay:
//
//	pod.0.0 … pod.0.9     pod.1.0 … pod.1.9
//	  10.1.0.10 …           10.1.1.10 …
//	  │ … │                 │ … │
//	  node.0 10.0.0.10 ──── node.1 10.0.0.11 ── …
//
// Pods that share a bridge would be neighbours of each other, more than 1000 of
// them, and all network namespaces of the machine share gc_thresh3 (1024).
func mesh(b testing.TB) (*lab, []string, []netip.Addr) {
	const nodes, pods = 10, 10
	l := newLab(b)
	// IPv6 off before adding links: its neighbour discovery floods the bridges.
	add := func(name string) {
		l.add(name)
		if err := l.in(name, noIPv6); err != nil {
			b.Fatal(err)
		}
	}
	add("underlay")
	l.ip("underlay", "link add br0 type bridge", "link set br0 up")
	var names []string
	var addrs []netip.Addr
	for n := range nodes {
		node := fmt.Sprint("node.", n)
		add(node)
		uplink := []string{
			fmt.Sprintf("link add eth0 type veth peer name n%d netns NS(underlay)", n),
			fmt.Sprintf("addr add 10.0.0.%d/24 dev eth0", 10+n), "link set eth0 up",
			fmt.Sprintf("addr add 10.1.%d.1/32 dev lo", n),
		}
		for other := range nodes {
			if other != n {
				uplink = append(uplink, fmt.Sprintf("route add 10.1.%d.0/24 via 10.0.0.%d", other, 10+other))
			}
		}
		l.ip(node, uplink...)
		l.ip("underlay", fmt.Sprintf("link set n%d master br0 up", n))
		for p := range pods {
			name := fmt.Sprintf("pod.%d.%d", n, p)
			addr := fmt.Sprintf("10.1.%d.%d", n, 10+p)
			add(name)
			l.ip(name, fmt.Sprintf("link add eth0 type veth peer name p%d netns NS(%s)", p, node),
				"addr add "+addr+"/32 dev eth0", "link set eth0 up",
				fmt.Sprintf("route add 10.1.%d.1 dev eth0", n), fmt.Sprintf("route add default via 10.1.%d.1", n))
			l.ip(node, fmt.Sprintf("link set p%d up", p), fmt.Sprintf("route add %s dev p%d", addr, p))
			names, addrs = append(names, name), append(addrs, netip.MustParseAddr(addr))
		}
	}
	return l, names, addrs
}

func noIPv6(netns.Here) error {
	err := os.WriteFile("/proc/sys/net/ipv6/conf/all/disable_ipv6", []byte("1"), 0)
	if err == nil || errors.Is(err, os.ErrNotExist) {
		err = os.WriteFile("/proc/sys/net/ipv4/ip_forward", []byte("1"), 0)
	}
	return err
}

// BenchmarkMesh repeatedly dials every pod from every other. Each round is followed by
// a round of the floor: the least that a program can do to learn that 9,900 connections
// work. The ratio is that of the medians.
func BenchmarkMesh(b *testing.B) {
	l, names, addrs := mesh(b)
	floor := newFloor(b, l, names)
	var flows []flow.Flow
	for i, name := range names {
		l.listen(name, probe.Agent{Name: name, Node: "node", Listen: []probe.Socket{{flow.TCP, 8080}}})
		for j := range names {
			if i != j {
				flows = append(flows, flow.Flow{From: name, To: netip.AddrPortFrom(addrs[j], 8080), Protocol: flow.TCP, Within: 5 * time.Second})
			}
		}
	}
	all := func() time.Duration {
		began := time.Now()
		for _, s := range l.dial(flows...) {
			if s.Outcome != flow.Connected {
				b.Fatalf("%s to %s: %s %s", s.Flow.From, s.Flow.To, s.Outcome, s.Err)
			}
		}
		return time.Since(began)
	}
	all() // resolve neighbours
	floor.mesh(names, addrs)
	var ours, bare []time.Duration
	for b.Loop() {
		ours = append(ours, all())
		bare = append(bare, floor.mesh(names, addrs))
	}
	per := func(d []time.Duration) float64 {
		slices.Sort(d)
		return d[len(d)/2].Seconds() * 1e6 / float64(len(flows))
	}
	b.ReportMetric(per(ours), "µs/probe")
	b.ReportMetric(per(bare), "floor-µs/probe")
	b.ReportMetric(per(ours)/per(bare), "ratio")
}

// floor is the bare loop: one thread echoes, one connects, sends 16 bytes, reads
// them back and closes, 64 at a time.
type floor struct {
	testing.TB
	lab *lab
}

const floorPort = 9090

func newFloor(b testing.TB, l *lab, names []string) *floor {
	f := &floor{TB: b, lab: l}
	epoll, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	f.must(err)
	listeners := map[int]bool{}
	for _, name := range names {
		f.must(l.in(name, func(netns.Here) error {
			fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_NONBLOCK, 0)
			if err != nil {
				return err
			}
			listeners[fd] = true
			return errors.Join(unix.Bind(fd, &unix.SockaddrInet4{Port: floorPort}), unix.Listen(fd, 1024),
				unix.EpollCtl(epoll, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(fd)}))
		}))
	}
	stop, err := unix.Eventfd(0, 0)
	f.must(err)
	f.must(unix.EpollCtl(epoll, unix.EPOLL_CTL_ADD, stop, &unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(stop)}))
	done := make(chan struct{})
	b.Cleanup(func() {
		unix.Write(stop, []byte{1, 0, 0, 0, 0, 0, 0, 0})
		<-done
		for fd := range listeners {
			unix.Close(fd)
		}
		unix.Close(epoll)
		unix.Close(stop)
	})
	go func() {
		defer close(done)
		echo(epoll, stop, listeners)
	}()
	return f
}

func (f *floor) must(err error) {
	if err != nil {
		f.Helper()
		f.Fatal(err)
	}
}

func echo(epoll, stop int, listeners map[int]bool) {
	events := make([]unix.EpollEvent, 128)
	var buf [64]byte
	for {
		n, _ := unix.EpollWait(epoll, events, -1)
		for i := range max(n, 0) {
			fd := int(events[i].Fd)
			if fd == stop {
				return
			}
			if !listeners[fd] {
				if n, _ := unix.Read(fd, buf[:]); n > 0 {
					unix.Write(fd, buf[:n])
				} else {
					unix.Close(fd)
				}
				continue
			}
			for {
				c, _, err := unix.Accept4(fd, unix.SOCK_NONBLOCK)
				if err != nil {
					break
				}
				unix.EpollCtl(epoll, unix.EPOLL_CTL_ADD, c, &unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(c)})
			}
		}
	}
}

// mesh connects every pod to every other and returns how long that took.
func (f *floor) mesh(names []string, addrs []netip.Addr) time.Duration {
	began := time.Now()
	f.must(f.lab.thread.Run(func(h netns.Here) error {
		epoll, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
		if err != nil {
			return err
		}
		defer unix.Close(epoll)
		events := make([]unix.EpollEvent, 128)
		flying := 0
		for i, name := range names {
			if err := h.Enter(f.lab.ns[name]); err != nil {
				return err
			}
			for j, addr := range addrs {
				if i == j {
					continue
				}
				if err := drain(epoll, events, &flying, 63); err != nil {
					return err
				}
				if err := join(epoll, addr); err != nil {
					return err
				}
				flying++
			}
		}
		return drain(epoll, events, &flying, 0)
	}))
	return time.Since(began)
}

func join(epoll int, addr netip.Addr) error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	if err := unix.SetsockoptLinger(fd, unix.SOL_SOCKET, unix.SO_LINGER, &unix.Linger{Onoff: 1}); err != nil {
		return err
	}
	err = unix.Connect(fd, &unix.SockaddrInet4{Addr: addr.As4(), Port: floorPort})
	if err != nil && !errors.Is(err, unix.EINPROGRESS) {
		return err
	}
	e := unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLOUT | unix.EPOLLET, Fd: int32(fd)}
	return unix.EpollCtl(epoll, unix.EPOLL_CTL_ADD, fd, &e)
}

// drain handles what is ready until at most that many connections are left.
func drain(epoll int, events []unix.EpollEvent, flying *int, left int) error {
	const text = "sixteen bytes ok"
	var buf [64]byte
	for *flying > left {
		n, err := unix.EpollWait(epoll, events, 5000)
		if err == nil && n == 0 {
			return errors.New("the floor got no answer")
		}
		for i := range max(n, 0) {
			fd := int(events[i].Fd)
			if events[i].Events&unix.EPOLLIN == 0 {
				if _, err := unix.Write(fd, []byte(text)); err != nil {
					return err
				}
				continue
			}
			n, err := unix.Read(fd, buf[:])
			if err != nil || string(buf[:n]) != text {
				return fmt.Errorf("the floor got %q, %w", buf[:n], err)
			}
			if err := unix.Close(fd); err != nil {
				return err
			}
			*flying--
		}
	}
	return nil
}

// The benchmark is worthless if its network does not work.
func TestMeshNetworkWorks(t *testing.T) {
	if testing.Short() {
		t.Skip("100 network namespaces; run without -short")
	}
	l, names, addrs := mesh(t)
	var flows []flow.Flow
	for i, name := range names {
		l.listen(name, probe.Agent{Name: name, Listen: []probe.Socket{{flow.UDP, 53}}})
		for j := range 20 {
			flows = append(flows, flow.Flow{From: name, To: netip.AddrPortFrom(addrs[(i+j*7)%len(addrs)], 53), Protocol: flow.UDP, Within: 2 * time.Second})
		}
	}
	seen := l.dial(flows...)
	for i, s := range seen {
		// The kernel has one neighbour table for all namespaces of the machine. When
		// others fill it, a datagram is lost, and is not retransmitted.
		for again := 0; again < 5 && s.Outcome == flow.Timeout; again++ {
			s = l.dial(flows[i])[0]
		}
		if want := names[(i/20+i%20*7)%len(names)]; s.Outcome != flow.Connected || s.Answer != want {
			t.Fatalf("%s to %s: %s by %q, want %q (%s)", s.Flow.From, s.Flow.To, s.Outcome, s.Answer, want, s.Err)
		}
	}
}
