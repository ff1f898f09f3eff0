package probe_test

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/netlab/netlab/datapath/flow"
	"github.com/netlab/netlab/datapath/netns"
	"github.com/netlab/netlab/datapath/probe"
)

// TestMain runs the tests in a user namespace of their own unless they run as root:
// creating network namespaces needs privileges in the user namespace that owns them.
func TestMain(m *testing.M) {
	const inside = "NLAB_TEST_INSIDE"
	if os.Geteuid() == 0 || os.Getenv(inside) != "" {
		os.Exit(m.Run())
	}
	self := exec.Command("/proc/self/exe", os.Args[1:]...)
	self.Stdin, self.Stdout, self.Stderr = os.Stdin, os.Stdout, os.Stderr
	self.Env = append(os.Environ(), inside+"=1")
	self.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNET,
		UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}},
	}
	if err := self.Run(); err != nil {
		fmt.Fprintln(os.Stderr, "tests in a user namespace:", err)
		os.Exit(1)
	}
}

// lab is a few network namespaces of one test, with the agents inside.
type lab struct {
	testing.TB
	thread *netns.Thread
	server *probe.Server
	ns     map[string]*netns.NS
}

func newLab(t testing.TB) *lab {
	t.Helper()
	s, err := probe.NewServer()
	if err != nil {
		t.Fatal(err)
	}
	l := &lab{TB: t, thread: netns.NewThread(), server: s, ns: map[string]*netns.NS{}}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		l.thread.Close()
		for _, ns := range l.ns {
			ns.Close()
		}
	})
	return l
}

// add creates a network namespace and runs lines of "ip -batch" in it. NS(x) in a line
// stands for the network namespace x.
func (l *lab) add(name string, batch ...string) {
	l.Helper()
	err := l.thread.Run(func(h netns.Here) error {
		ns, err := h.Create()
		if err == nil {
			l.ns[name] = ns
		}
		return err
	})
	if err != nil {
		l.Fatal(err)
	}
	l.ip(name, append([]string{"link set lo up"}, batch...)...)
}

func (l *lab) ip(name string, batch ...string) {
	l.Helper()
	text := strings.Join(batch, "\n") + "\n"
	for other, ns := range l.ns {
		text = strings.ReplaceAll(text, "NS("+other+")", fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), ns.FD()))
	}
	err := l.in(name, func(netns.Here) error {
		cmd := exec.Command("ip", "-batch", "-")
		cmd.Stdin = strings.NewReader(text)
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("ip in %s: %w: %s\n%s", name, err, out, text)
		}
		return nil
	})
	if err != nil {
		l.Fatal(err)
	}
}

// in runs fn inside a network namespace.
func (l *lab) in(name string, fn func(netns.Here) error) error {
	return l.thread.Run(func(h netns.Here) error {
		if err := h.Enter(l.ns[name]); err != nil {
			return err
		}
		return fn(h)
	})
}

func (l *lab) listen(name string, a probe.Agent) {
	l.Helper()
	err := l.in(name, func(h netns.Here) error { return l.server.Listen(h, name, a) })
	if err != nil {
		l.Fatal(err)
	}
}

func (l *lab) enter(name string) (*netns.NS, error) {
	ns, ok := l.ns[name]
	if !ok {
		return nil, fmt.Errorf("no network namespace %q", name)
	}
	return ns, nil
}

// dial makes connections. Those without a deadline get one long enough for the
// retransmission of a lost packet.
func (l *lab) dial(flows ...flow.Flow) []flow.Observation {
	for i := range flows {
		flows[i].Within = cmp.Or(flows[i].Within, 10*time.Second)
	}
	return probe.Dial(context.Background(), flows, l.enter)
}

// pair is a client and a server with a router between them:
//
//	client 10.0.1.2 ── 10.0.1.1 router 10.0.2.1 ── 10.0.2.2 server
//	       fd01::2      fd01::1         fd02::1     fd02::2, 10.0.2.3
//
// The router drops packets to 10.0.9.1 silently, and rejects those to 10.0.9.2 (host
// unreachable) and 10.0.9.3 (prohibited).
func pair(t testing.TB) *lab {
	t.Helper()
	l := newLab(t)
	l.add("router")
	ends := []string{
		"link add eth0 type veth peer name %[1]s netns NS(router)",
		"addr add 10.0.%[2]d.2/24 dev eth0", "addr add fd0%[2]d::2/64 dev eth0 nodad",
		"link set eth0 up",
	}
	for i, name := range []string{"client", "server"} {
		l.add(name)
		l.ip(name, strings.Split(fmt.Sprintf(strings.Join(ends, "\n"), name, i+1), "\n")...)
		l.ip("router", fmt.Sprintf("addr add 10.0.%d.1/24 dev %s", i+1, name),
			fmt.Sprintf("addr add fd0%d::1/64 dev %s nodad", i+1, name), "link set "+name+" up")
		l.ip(name, fmt.Sprintf("route add default via 10.0.%d.1", i+1),
			fmt.Sprintf("route add ::/0 via fd0%d::1", i+1))
	}
	l.ip("server", "addr add 10.0.2.3/24 dev eth0")
	l.ip("router", "route add blackhole 10.0.9.1", "route add unreachable 10.0.9.2", "route add prohibit 10.0.9.3")
	err := l.in("router", func(netns.Here) error {
		// /proc/sys/net shows the network namespace of the thread that opens it. No
		// ICMP rate limit: each error is the outcome of a test.
		for key, value := range map[string]string{
			"ipv4/ip_forward": "1", "ipv6/conf/all/forwarding": "1", "ipv4/icmp_ratelimit": "0",
		} {
			if err := os.WriteFile("/proc/sys/net/"+key, []byte(value), 0); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// waitIPv6 waits until the neighbours of a pair can reach each other: the kernel joins
// the multicast groups of neighbour discovery up to a second after the link is up.
func (l *lab) waitIPv6() {
	l.Helper()
	f := flow.Flow{From: "client", To: to("[fd02::2]:1"), Protocol: flow.TCP, Within: 100 * time.Millisecond}
	for deadline := time.Now().Add(20 * time.Second); l.dial(f)[0].Outcome != flow.Refused; {
		if time.Now().After(deadline) {
			l.Fatal("no IPv6 between client and server")
		}
	}
}

func to(addr string) netip.AddrPort { return netip.MustParseAddrPort(addr) }
