package probe_test

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"slices"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/netlab/netlab/datapath/flow"
	"github.com/netlab/netlab/datapath/netns"
	"github.com/netlab/netlab/datapath/probe"
)

// serveTCP opens an ordinary listener in a namespace and gives each connection to
// handle, in the connection's own goroutine.
func (l *lab) serveTCP(name, addr string, handle func(*net.TCPConn)) {
	l.Helper()
	var ln net.Listener
	err := l.in(name, func(netns.Here) (err error) {
		ln, err = net.Listen("tcp", addr)
		return err
	})
	if err != nil {
		l.Fatal(err)
	}
	l.Cleanup(func() { ln.Close() })
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			go handle(c.(*net.TCPConn))
		}
	}()
}

func TestOutcomes(t *testing.T) {
	l := pair(t)
	l.waitIPv6()
	both := []probe.Socket{{Protocol: flow.TCP, Port: 8080}, {Protocol: flow.UDP, Port: 8080}}
	l.listen("server", probe.Agent{Name: "web-0", Node: "node1", IPv6: true, Listen: both})
	l.serveTCP("server", "10.0.2.2:9001", func(c *net.TCPConn) { c.SetLinger(0); c.Close() })
	l.serveTCP("server", "10.0.2.2:9002", func(c *net.TCPConn) { c.Write([]byte("SSH-2.0-x\r\n")); c.Close() })
	l.serveTCP("server", "10.0.2.2:9003", func(c *net.TCPConn) { c.CloseWrite() })
	held := make(chan *net.TCPConn, 10)
	l.serveTCP("server", "10.0.2.2:9004", func(c *net.TCPConn) { held <- c })
	l.ip("client", "route add blackhole 10.0.8.1", "route add unreachable 10.0.8.2", "route add prohibit 10.0.8.3")

	tests := []struct {
		name     string
		to       string
		protocol flow.Protocol
		want     flow.Outcome
		answer   string
		source   string
	}{
		{"tcp", "10.0.2.2:8080", flow.TCP, flow.Connected, "web-0", "10.0.1.2"},
		{"udp", "10.0.2.2:8080", flow.UDP, flow.Connected, "web-0", "10.0.1.2"},
		{"tcp to a second address", "10.0.2.3:8080", flow.TCP, flow.Connected, "web-0", "10.0.1.2"},
		{"udp to a second address", "10.0.2.3:8080", flow.UDP, flow.Connected, "web-0", "10.0.1.2"},
		{"tcp over IPv6", "[fd02::2]:8080", flow.TCP, flow.Connected, "web-0", "fd01::2"},
		{"udp over IPv6", "[fd02::2]:8080", flow.UDP, flow.Connected, "web-0", "fd01::2"},
		{"tcp to a closed port", "10.0.2.2:81", flow.TCP, flow.Refused, "", ""},
		{"udp to a closed port", "10.0.2.2:81", flow.UDP, flow.Refused, "", ""},
		{"tcp to a closed IPv6 port", "[fd02::2]:81", flow.TCP, flow.Refused, "", ""},
		{"udp to a closed IPv6 port", "[fd02::2]:81", flow.UDP, flow.Refused, "", ""},
		{"tcp discarded", "10.0.9.1:80", flow.TCP, flow.Timeout, "", ""},
		{"udp discarded", "10.0.9.1:80", flow.UDP, flow.Timeout, "", ""},
		{"tcp host unreachable", "10.0.9.2:80", flow.TCP, flow.Unreachable, "", ""},
		{"udp host unreachable", "10.0.9.2:80", flow.UDP, flow.Unreachable, "", ""},
		{"tcp prohibited", "10.0.9.3:80", flow.TCP, flow.Unreachable, "", ""},
		{"udp prohibited", "10.0.9.3:80", flow.UDP, flow.Unreachable, "", ""},
		{"own blackhole", "10.0.8.1:80", flow.TCP, flow.Unreachable, "", ""},
		{"own unreachable", "10.0.8.2:80", flow.UDP, flow.Unreachable, "", ""},
		{"own prohibit", "10.0.8.3:80", flow.TCP, flow.Unreachable, "", ""},
		{"reset after the connect", "10.0.2.2:9001", flow.TCP, flow.Reset, "", ""},
		{"a banner of another protocol", "10.0.2.2:9002", flow.TCP, flow.Connected, "", ""},
		{"closed without data", "10.0.2.2:9003", flow.TCP, flow.Connected, "", ""},
		{"accepted but silent", "10.0.2.2:9004", flow.TCP, flow.Timeout, "", ""},
		{"unknown protocol", "10.0.2.2:8080", "dccp", flow.Failed, "", ""},
	}
	flows := make([]flow.Flow, len(tests))
	for i, tt := range tests {
		flows[i] = flow.Flow{From: "client", To: to(tt.to), Protocol: tt.protocol, Within: 2 * time.Second}
	}
	for i, seen := range l.dial(flows...) {
		tt := tests[i]
		t.Run(tt.name, func(t *testing.T) {
			if seen.Flow != flows[i] {
				t.Errorf("flow %v, want %v", seen.Flow, flows[i])
			}
			if seen.Outcome != tt.want || seen.Answer != tt.answer {
				t.Errorf("%s by %q (%s), want %s by %q", seen.Outcome, seen.Answer, seen.Err, tt.want, tt.answer)
			}
			if tt.source == "" {
				return
			}
			if seen.Source.Addr() != netip.MustParseAddr(tt.source) || seen.Source != seen.Local || seen.Node != "node1" {
				t.Errorf("source %v, local %v, node %q; want both %s, node1", seen.Source, seen.Local, seen.Node, tt.source)
			}
		})
	}
	for range len(held) {
		(<-held).Close()
	}
}

func TestASourceThatCannotBeEnteredFailsAlone(t *testing.T) {
	l := pair(t)
	l.listen("server", probe.Agent{Name: "a", Listen: []probe.Socket{{flow.TCP, 80}}})
	good := flow.Flow{From: "client", To: to("10.0.2.2:80"), Protocol: flow.TCP}
	bad := flow.Flow{From: "nowhere", To: good.To, Protocol: flow.TCP}
	seen := l.dial(bad, good, bad)
	for i, want := range []flow.Outcome{flow.Failed, flow.Connected, flow.Failed} {
		if seen[i].Outcome != want || (want == flow.Failed) != (seen[i].Err != "") {
			t.Errorf("flow %d: %s %q, want %s", i, seen[i].Outcome, seen[i].Err, want)
		}
	}
}

// Each flow to the blackhole waits for its deadline; 64 at a time would take more than
// thirty deadlines.
func TestManyDroppedFlowsCostAboutOneDeadline(t *testing.T) {
	l := pair(t)
	l.listen("server", probe.Agent{Name: "a", Listen: []probe.Socket{{flow.TCP, 80}}})
	const within = 2 * time.Second
	var flows []flow.Flow
	for range 2000 {
		flows = append(flows, flow.Flow{From: "client", To: to("10.0.9.1:80"), Protocol: flow.TCP, Within: within})
	}
	flows = append(flows, flow.Flow{From: "client", To: to("10.0.2.2:80"), Protocol: flow.TCP, Within: within})
	began := time.Now()
	seen := l.dial(flows...)
	if took := time.Since(began); took > 8*within {
		t.Errorf("%d dropped flows took %v, that is %.1f deadlines", len(flows)-1, took, took.Seconds()/within.Seconds())
	}
	for i, s := range seen {
		want := flow.Timeout
		if i == len(seen)-1 {
			want = flow.Connected
		}
		if s.Outcome != want {
			t.Fatalf("flow %d: %s %s, want %s", i, s.Outcome, s.Err, want)
		}
		if want == flow.Timeout && s.Took < within {
			t.Fatalf("flow %d gave up after %v, before its deadline", i, s.Took)
		}
	}
}

// A program on the way that takes connections one by one, as on a busy machine, gets no more of
// them than it can serve: all at once would take twice the deadline.
func TestConnectionsWaitForAProgramThatIsSlow(t *testing.T) {
	l := pair(t)
	const within, many = time.Second, 400
	var one sync.Mutex
	l.serveTCP("server", "10.0.2.2:9001", func(c *net.TCPConn) {
		one.Lock()
		defer one.Unlock()
		time.Sleep(2 * within / many)
		c.Write([]byte("SSH-2.0-x\r\n"))
		c.Close()
	})
	flows := slices.Repeat([]flow.Flow{{From: "client", To: to("10.0.2.2:9001"), Protocol: flow.TCP, Within: within}}, many)
	for i, s := range l.dial(flows...) {
		if s.Outcome != flow.Connected {
			t.Fatalf("flow %d: %s %s after %v", i, s.Outcome, s.Err, s.Took)
		}
	}
}

func TestDialReturnsWhenItsContextEnds(t *testing.T) {
	l := pair(t)
	f := flow.Flow{From: "client", To: to("10.0.9.1:80"), Protocol: flow.TCP, Within: time.Hour}
	ctx, cancel := context.WithCancel(context.Background())
	entered := make(chan struct{})
	go func() { <-entered; cancel() }()
	seen := probe.Dial(ctx, []flow.Flow{f, f}, func(name string) (*netns.NS, error) {
		close(entered)
		return l.enter(name)
	})
	for _, s := range seen {
		if s.Outcome != flow.Failed || s.Err != "dial: context canceled" {
			t.Errorf("%s %q, want failed by the context", s.Outcome, s.Err)
		}
	}
}

func descriptorsOpen(t *testing.T) int {
	t.Helper()
	files, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(files)
}

func TestDialLeavesNoDescriptor(t *testing.T) {
	l := pair(t)
	l.listen("server", probe.Agent{Name: "a", Listen: []probe.Socket{{flow.TCP, 80}, {flow.UDP, 80}}})
	var flows []flow.Flow
	for _, p := range []flow.Protocol{flow.TCP, flow.UDP, "sctp"} {
		for _, addr := range []string{"10.0.2.2:80", "10.0.2.2:81", "10.0.9.1:80", "10.0.9.2:80"} {
			for _, from := range []string{"client", "nowhere"} {
				flows = append(flows, flow.Flow{From: from, To: to(addr), Protocol: p, Within: 50 * time.Millisecond})
			}
		}
	}
	l.dial(flows...)
	before := descriptorsOpen(t)
	for range 5 {
		l.dial(flows...)
		ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
		probe.Dial(ctx, flows, l.enter)
		cancel()
	}
	// The server closes its side once it has received the reset.
	deadline := time.Now().Add(10 * time.Second)
	for descriptorsOpen(t) > before && time.Now().Before(deadline) {
		time.Sleep(time.Millisecond)
	}
	if after := descriptorsOpen(t); after > before {
		t.Errorf("%d descriptors before, %d after", before, after)
	}
}

// fewPorts limits a network namespace to that many source ports.
func (l *lab) fewPorts(name string, n int) {
	l.Helper()
	err := l.in(name, func(netns.Here) error {
		return os.WriteFile("/proc/sys/net/ipv4/ip_local_port_range", fmt.Appendf(nil, "40000 %d", 40000+n-1), 0)
	})
	if err != nil {
		l.Fatal(err)
	}
}

// discarded are flows alternating between two ports of a blackholed address.
func discarded(n int) []flow.Flow {
	flows := make([]flow.Flow, n)
	for i := range flows {
		flows[i] = flow.Flow{From: "client", To: to([]string{"10.0.9.1:80", "10.0.9.1:81"}[i%2]), Protocol: flow.TCP, Within: 300 * time.Millisecond}
	}
	return flows
}

// Otherwise IPVS confuses two connections to one real server.
func TestConcurrentConnectionsHaveDifferentSourcePorts(t *testing.T) {
	l := pair(t)
	l.fewPorts("client", 40)
	flowOf := map[uint16]int{}
	for i, s := range l.dial(discarded(32)...) {
		if other, taken := flowOf[s.Local.Port()]; taken {
			t.Errorf("flows %d and %d have port %d", other, i, s.Local.Port())
		}
		flowOf[s.Local.Port()] = i
	}
}

func TestMoreConnectionsThanSourcePorts(t *testing.T) {
	l := pair(t)
	l.fewPorts("client", 20)
	for i, s := range l.dial(discarded(30)...) {
		if s.Outcome != flow.Timeout {
			t.Errorf("flow %d: %s (%s), want timeout", i, s.Outcome, s.Err)
		}
	}
}

// limitDescriptors limits the process to that many more descriptors than it has.
func limitDescriptors(t *testing.T, more int) {
	t.Helper()
	var was unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &was); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &was); err != nil {
			t.Error(err)
		}
	})
	few := unix.Rlimit{Cur: uint64(descriptorsOpen(t) + more), Max: was.Max}
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &few); err != nil {
		t.Fatal(err)
	}
}

// With few descriptors the dialer is slower; it does not fail.
func TestDialWaitsForDescriptors(t *testing.T) {
	l := pair(t)
	l.listen("server", probe.Agent{Name: "a", Listen: []probe.Socket{{flow.UDP, 80}}})
	limitDescriptors(t, 12)
	flows := make([]flow.Flow, 200)
	for i := range flows {
		flows[i] = flow.Flow{From: "client", To: to("10.0.2.2:80"), Protocol: flow.UDP}
	}
	for i, s := range l.dial(flows...) {
		if s.Outcome != flow.Connected {
			t.Fatalf("flow %d: %s %s", i, s.Outcome, s.Err)
		}
	}
}

// The kernel reports a REJECT on its own host to connect only with the next SYN, after
// a second; the dialer queries the socket error.
func TestALocalRejectIsDetectedImmediately(t *testing.T) {
	l := agentOnLoopback(t)
	var out []byte
	err := l.in("host", func(netns.Here) (err error) {
		out, err = exec.Command("iptables", "-w", "-A", "OUTPUT", "-p", "tcp", "--dport", "80", "-j", "REJECT").CombinedOutput()
		return err
	})
	if err != nil {
		t.Skipf("this machine lacks iptables: %v: %s", err, out)
	}
	// The deadline is before the next SYN.
	seen := l.dial(flow.Flow{From: "host", To: to("127.0.0.1:80"), Protocol: flow.TCP, Within: 500 * time.Millisecond})[0]
	if seen.Outcome != flow.Refused {
		t.Errorf("%s (%s), want refused", seen.Outcome, seen.Err)
	}
}

// Its first packet is lost, a second later it is sent again.
func TestAConnectionThatIsDialedAgainByTCP(t *testing.T) {
	for _, once := range []bool{false, true} {
		l := pair(t)
		l.listen("server", probe.Agent{Name: "web", Listen: []probe.Socket{{flow.TCP, 80}}})
		// On the way there: a lost answer is sent again by the server, often before the client
		// sends anything again.
		l.ip("router", "route add blackhole 10.0.2.2/32")
		back := time.AfterFunc(400*time.Millisecond, func() { l.ip("router", "route del blackhole 10.0.2.2/32") })
		seen := l.dial(flow.Flow{From: "client", To: netip.MustParseAddrPort("10.0.2.2:80"), Protocol: flow.TCP, Within: 5 * time.Second, Once: once})[0]
		back.Stop()
		if want := map[bool]flow.Outcome{false: flow.Connected, true: flow.Timeout}[once]; seen.Outcome != want || seen.Took < 900*time.Millisecond {
			t.Errorf("once %v: %s after %v, want %s", once, seen.Outcome, seen.Took, want)
		}
	}
}
