//go:build linux

package kernel

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/netlab/netlab/datapath/debian"
	"github.com/netlab/netlab/datapath/kernel/socket"
	"github.com/netlab/netlab/datapath/kernel/virtual"
	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/datapath/plan/feature"
	"github.com/netlab/netlab/datapath/plan/ipvs"
)

func addrPortOf(s string) netip.AddrPort { return netip.MustParseAddrPort(s) }

// balanced is small with a node that serves addresses with IPVS:
//
//	10.96.0.10:80 ── node.n1 ┬─ pod.a 10.244.11.2:80
//	 (kube-ipvs0)            └─ no pod 10.244.11.9:80, weight 0
func balanced() *plan.Plan {
	p := small()
	n1 := &p.Netns[1]
	n1.Links = append(n1.Links, plan.Link{Name: "kube-ipvs0", Type: plan.Dummy, MTU: 1500, MAC: mac(77)})
	n1.Addrs = append(n1.Addrs, plan.Addr{Link: "kube-ipvs0", Prefix: pfx("10.96.0.10/32")})
	n1.Sysctls = append(n1.Sysctls, plan.Sysctl{Key: "net.ipv4.vs.conntrack", Value: "1"}, plan.Sysctl{Key: "net.ipv4.vs.expire_nodest_conn", Value: "1"})
	n1.Virtual = []ipvs.Server{{Addr: addrPortOf("10.96.0.10:80"), Proto: "tcp", Scheduler: "rr", Real: []ipvs.Real{
		{Addr: addrPortOf("10.244.11.2:80"), Weight: 1}, {Addr: addrPortOf("10.244.11.9:80"), Weight: 0}}}}
	p.Sort()
	return p
}

// everyVirtual is balanced with virtual servers of all kinds.
func everyVirtual() *plan.Plan {
	p := balanced()
	n1 := &p.Netns[1]
	for i, scheduler := range []string{"rr", "wrr", "lc", "wlc", "sh", "dh", "sed", "nq", "mh", "lblc", "lblcr", "fo", "ovf"} {
		n1.Virtual = append(n1.Virtual, ipvs.Server{Addr: netip.AddrPortFrom(ip("10.96.1.1"), uint16(i+1)), Proto: "tcp", Scheduler: scheduler,
			Real: []ipvs.Real{{Addr: addrPortOf("10.244.11.2:80"), Weight: i}, {Addr: addrPortOf("10.244.11.3:80"), Weight: 1}}})
	}
	n1.Virtual = append(n1.Virtual,
		ipvs.Server{Addr: addrPortOf("10.96.2.1:53"), Proto: "udp", Scheduler: "rr", Persistent: 10800},
		ipvs.Server{Addr: addrPortOf("10.96.2.1:9"), Proto: "sctp", Scheduler: "wrr", Real: []ipvs.Real{{Addr: addrPortOf("10.244.11.2:9"), Weight: 65535}}},
		ipvs.Server{Addr: addrPortOf("10.96.2.1:80"), Proto: "tcp", Scheduler: "mh", Flags: []string{"mh-port"}, Persistent: 5},
		ipvs.Server{Addr: addrPortOf("10.96.2.1:81"), Proto: "tcp", Scheduler: "sh", Flags: []string{"sh-fallback", "sh-port"}},
		ipvs.Server{Addr: addrPortOf("[fd00::10]:80"), Proto: "tcp", Scheduler: "rr", Persistent: 60,
			Real: []ipvs.Real{{Addr: addrPortOf("[fd00::2]:80"), Weight: 1}}})
	p.Sort()
	return p
}

func requiresIPVS(t testing.TB) { requires(t, feature.IPVS, feature.Dummy) }

func TestVirtualServersAreAppliedAndReadBack(t *testing.T) {
	requiresIPVS(t)
	k := applied(t, everyVirtual())
	noDrift(t, k, everyVirtual())
	if again := mustApply(t, k, everyVirtual()); !again.Empty() {
		t.Errorf("the second apply changed %s", strings.Join(again.Lines(), "\n"))
	}
	mustApply(t, k, balanced())
	mustApply(t, k, everyVirtual())
	without := small()
	mustApply(t, k, without)
	debian.Require(t, "ipvsadm")
	if left := output(t, k, "node.n1", "ipvsadm", "-Sn"); left != "" {
		t.Errorf("left:\n%s", left)
	}
}

// crowd is balanced with so many virtual servers that reading them takes several reads.
func crowd() *plan.Plan {
	p := balanced()
	n1 := &p.Netns[1]
	for i := range 400 {
		real := ipvs.Real{Addr: netip.AddrPortFrom(ip("10.244.12.1"), uint16(i+1)), Weight: 1}
		n1.Virtual = append(n1.Virtual, ipvs.Server{Addr: netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 97, byte(i / 200), byte(i % 200)}), 80),
			Proto: "tcp", Scheduler: "rr", Real: []ipvs.Real{real}})
	}
	p.Sort()
	return p
}

// The kernel keeps the virtual servers of all namespaces in one table.
// Virtual servers where the plan has none are drift, and go with the next apply.
func TestVirtualServersThatNobodyPlannedAreDrift(t *testing.T) {
	requiresIPVS(t)
	k := applied(t, small())
	ns, err := k.Namespace("node.n2")
	if err != nil {
		t.Fatal(err)
	}
	foreign := []ipvs.Server{{Addr: addrPortOf("10.9.0.1:80"), Proto: "tcp", Scheduler: "rr"}}
	err = ns.Do(func() error { return new(virtual.Drains).Run(ipvs.Create(nil, foreign), socket.NewMemory()) })
	if err != nil {
		t.Fatal(err)
	}
	have, err := k.Read(t.Context(), small())
	if err != nil {
		t.Fatal(err)
	}
	if drift := plan.Drift(have, small()); len(drift) != 1 || !strings.Contains(drift[0], "virtual server") || !strings.HasSuffix(drift[0], "not in the plan") {
		t.Errorf("drift: %q", drift)
	}
	mustApply(t, k, small())
	noDrift(t, k, small())
}

func TestVirtualServersBesideThoseOfOtherLabsAreReadBack(t *testing.T) {
	requiresIPVS(t)
	labs := []*Kernel{applied(t, crowd()), applied(t, crowd()), applied(t, everyVirtual())}
	for i, want := range []*plan.Plan{crowd(), crowd(), everyVirtual()} {
		noDrift(t, labs[i], want)
		if again := mustApply(t, labs[i], want); !again.Empty() {
			t.Errorf("the second apply of lab %d changed %d things: %s", i, len(again.Lines()), again.Lines()[0])
		}
	}
}

// The plan's text is what ipvsadm -Sn prints and ipvsadm -R reads.
func TestVirtualServersAreWrittenAsIpvsadmPrintsThem(t *testing.T) {
	requiresIPVS(t)
	debian.Require(t, "ipvsadm")
	k := applied(t, everyVirtual())
	_, text, _ := strings.Cut(string((&plan.Plan{Netns: []plan.Netns{everyVirtual().Netns[1]}}).Text()), "<<'EOF' | ip netns exec node.n1 ipvsadm -R\n")
	text, _, _ = strings.Cut(text, "EOF\n")
	if text == "" {
		t.Fatal("the text has no input for ipvsadm")
	}
	want := strings.Fields(strings.ReplaceAll(strings.TrimSpace(text), " ", "_"))
	compare := func(node string) {
		got := strings.Fields(strings.ReplaceAll(strings.TrimSpace(output(t, k, node, "ipvsadm", "-Sn")), " ", "_"))
		for _, w := range want {
			if !slices.Contains(got, w) {
				t.Errorf("%s: ipvsadm -Sn does not print %s", node, w)
			}
		}
		if len(got) != len(want) {
			t.Errorf("%s: %d lines, want %d:\n%s", node, len(got), len(want), strings.Join(got, "\n"))
		}
	}
	compare("node.n1")
	ns, err := k.Namespace("node.n2")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("ipvsadm", "-R")
	cmd.Stdin = strings.NewReader(text)
	if _, err := run(ns, cmd); err != nil {
		t.Fatal(err)
	}
	compare("node.n2")
}

func TestDamagedVirtualServersAreDriftAndRepaired(t *testing.T) {
	requiresIPVS(t)
	debian.Require(t, "ipvsadm")
	k := applied(t, balanced())
	for _, row := range []struct{ command, drift string }{
		{"ipvsadm -D -t 10.96.0.10:80", "node.n1: virtual server -t 10.96.0.10:80 -s rr missing"},
		{"ipvsadm -A -u 10.96.0.11:53 -s rr", "node.n1: virtual server -u 10.96.0.11:53 -s rr not in the plan"},
		{"ipvsadm -E -t 10.96.0.10:80 -s sh", "node.n1: virtual server -t 10.96.0.10:80 changed: want -t 10.96.0.10:80 -s rr"},
		{"ipvsadm -d -t 10.96.0.10:80 -r 10.244.11.2", "node.n1: virtual server -t 10.96.0.10:80: real server 10.244.11.2:80 weight 1 missing"},
		{"ipvsadm -e -t 10.96.0.10:80 -r 10.244.11.2 -m -w 7", "node.n1: virtual server -t 10.96.0.10:80: real server 10.244.11.2:80 weight 1 changed"},
		{"ipvsadm -a -t 10.96.0.10:80 -r 10.244.11.8 -m", "node.n1: virtual server -t 10.96.0.10:80: real server 10.244.11.8:80 weight 1 not in the plan"},
	} {
		output(t, k, "node.n1", strings.Fields(row.command)...)
		have, err := k.Read(context.Background(), balanced())
		if err != nil {
			t.Fatal(err)
		}
		if drift := plan.Drift(have, balanced()); !slices.Contains(drift, row.drift) {
			t.Errorf("after %s: drift\n%s\nwant\n%s", row.command, strings.Join(drift, "\n"), row.drift)
		}
		mustApply(t, k, balanced())
	}
}

// echo answers on an address in a namespace of the lab until the test ends.
func echo(t *testing.T, k *Kernel, name, addr string) {
	t.Helper()
	ns, err := k.Namespace(name)
	if err != nil {
		t.Fatal(err)
	}
	var l net.Listener
	if err := ns.Do(func() (err error) { l, err = net.Listen("tcp", addr); return err }); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() { _, _ = io.Copy(c, c); c.Close() }()
		}
	}()
}

func dial(t *testing.T, k *Kernel, name, addr string) *net.TCPConn {
	t.Helper()
	ns, err := k.Namespace(name)
	if err != nil {
		t.Fatal(err)
	}
	var c net.Conn
	if err := ns.Do(func() (err error) { c, err = net.DialTimeout("tcp", addr, 10*time.Second); return err }); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c.(*net.TCPConn)
}

func mustEcho(t *testing.T, c net.Conn) {
	t.Helper()
	_ = c.SetDeadline(time.Now().Add(10 * time.Second))
	buf := make([]byte, 4)
	if _, err := c.Write([]byte("ping")); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(c, buf); err != nil || string(buf) != "ping" {
		t.Fatalf("the connection answers %q, %v", buf, err)
	}
}

// A TCP real server removed from the plan keeps its connection, gets no new one, is not
// drift, can be added again, and is deleted when its last connection has ended.
func TestRealServersDrain(t *testing.T) {
	requiresIPVS(t)
	ctx := context.Background()
	gone := func() *plan.Plan {
		p := balanced()
		p.Netns[1].Virtual[0].Real = p.Netns[1].Virtual[0].Real[1:]
		return p
	}
	k := applied(t, balanced())
	echo(t, k, "pod.a", "10.244.11.2:80")
	c := dial(t, k, "node.n1", "10.96.0.10:80")
	mustEcho(t, c)

	for range 2 { // draining, restored, and draining again
		mustApply(t, k, gone())
		left := k.Draining()
		if len(left) != 1 || left[0].Real != addrPortOf("10.244.11.2:80") || left[0].Netns != "node.n1" || left[0].Active < 1 {
			t.Fatalf("draining: %+v, want pod.a with its connection", left)
		}
		mustEcho(t, c)
		if again := mustApply(t, k, gone()); !again.Empty() {
			t.Errorf("the second apply changed %s", again.Summary())
		}
		if n, err := k.Reap(ctx); n != 0 || err != nil {
			t.Errorf("reaped %d, %v, while there is a connection", n, err)
		}
		if err := tryDial(k, "10.96.0.10:80"); err == nil {
			t.Error("a new connection reached a draining server")
		}
		mustApply(t, k, balanced())
		if left := k.Draining(); len(left) != 0 {
			t.Errorf("draining after it was added again: %+v", left)
		}
		again := dial(t, k, "node.n1", "10.96.0.10:80")
		mustEcho(t, again)
		reset(again)
	}

	mustApply(t, k, gone())
	reset(c)
	deadline := time.Now().Add(5 * time.Minute)
	for len(k.Draining()) > 0 && time.Now().Before(deadline) {
		if _, err := k.Reap(ctx); err != nil {
			t.Fatal(err)
		}
		time.Sleep(100 * time.Millisecond)
	}
	if left := k.Draining(); len(left) != 0 {
		t.Fatalf("still draining: %+v", left)
	}
	noDrift(t, k, gone())
	debian.Require(t, "ipvsadm")
	if got := output(t, k, "node.n1", "ipvsadm", "-Sn"); strings.Contains(got, "10.244.11.2") {
		t.Errorf("not deleted:\n%s", got)
	}
}

// reset ends a connection so that IPVS expires it after ten seconds; after a FIN it
// keeps it for two minutes.
func reset(c *net.TCPConn) {
	_ = c.SetLinger(0)
	c.Close()
}

func tryDial(k *Kernel, addr string) error {
	ns, err := k.Namespace("node.n1")
	if err != nil {
		return err
	}
	return ns.Do(func() error {
		c, err := net.DialTimeout("tcp", addr, 2*time.Second)
		if err == nil {
			c.Close()
		}
		return err
	})
}

func TestRealServersWithoutConnectionsAreDeletedImmediately(t *testing.T) {
	requiresIPVS(t)
	k := applied(t, balanced())
	gone := balanced()
	gone.Netns[1].Virtual[0].Real = nil
	mustApply(t, k, gone)
	if left := k.Draining(); len(left) != 0 {
		t.Errorf("draining: %+v", left)
	}
}

func TestImpairedLinksAreAppliedAndReadBack(t *testing.T) {
	requires(t, feature.Netem, feature.TBF)
	p := small()
	n1 := &p.Netns[1]
	k := applied(t, p)
	for _, q := range []plan.Qdisc{
		{Delay: 50 * time.Millisecond},
		{Delay: 50 * time.Millisecond, Jitter: 1500 * time.Microsecond, Loss: 0.01},
		{Delay: 60 * time.Millisecond, Rate: 100_000_000},
		{Rate: 5_000_000},
		{Loss: 0.5},
	} {
		q.Link = "eth0"
		n1.Qdiscs = []plan.Qdisc{q}
		mustApply(t, k, p)
		if again := mustApply(t, k, p); !again.Empty() {
			t.Errorf("%+v: the second apply changed %s", q, strings.Join(again.Lines(), "\n"))
		}
		if q.Delay > 0 && q.Loss == 0 {
			start := time.Now()
			output(t, k, "node.n1", "ping", "-c1", "-W9", "192.168.0.12")
			if took := time.Since(start); took < q.Delay {
				t.Errorf("%+v: a ping took %v", q, took)
			}
		}
	}
	n1.Qdiscs = nil
	mustApply(t, k, p)
}

// TestImpairmentsAreAcceptedByTc pastes the commands of a plan's text.
func TestImpairmentsAreAcceptedByTc(t *testing.T) {
	requires(t, feature.Netem, feature.TBF)
	k := applied(t, small())
	want := small()
	want.Netns[1].Qdiscs = []plan.Qdisc{{Link: "eth0", Delay: 50 * time.Millisecond, Jitter: 1500 * time.Microsecond, Loss: 0.01, Rate: 10_000_000}}
	for _, line := range plan.Diff(small(), want).Lines() {
		if strings.HasPrefix(line, "tc -n ") {
			argv := strings.Fields(line)
			output(t, k, argv[2], append([]string{"tc"}, argv[3:]...)...)
		}
	}
	have, err := k.Read(context.Background(), want)
	if err != nil {
		t.Fatal(err)
	}
	if drift := plan.Drift(have, want); len(drift) != 0 {
		t.Errorf("drift:\n%s", strings.Join(drift, "\n"))
	}
}

func BenchmarkVirtualServers(b *testing.B) {
	requiresIPVS(b)
	for _, services := range []int{1000, 10_000} {
		p := &plan.Plan{Netns: []plan.Netns{{Name: "node.a", Kind: plan.Node}}}
		n := &p.Netns[0]
		for i := range services {
			v := ipvs.Server{Addr: netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 96, byte(i >> 8), byte(i)}), 80), Proto: "tcp", Scheduler: "rr"}
			for j := range 3 {
				v.Real = append(v.Real, ipvs.Real{Addr: netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, byte(200 + j), byte(i >> 8), byte(i)}), 80), Weight: 1})
			}
			n.Virtual = append(n.Virtual, v)
		}
		p.Sort()
		benchApply(b, fmt.Sprintf("%d services", services), p, func(p *plan.Plan) {
			v := &p.Netns[0].Virtual[services/2]
			v.Real = v.Real[1:]
		})
	}
}

func TestAMissingSchedulerIsNamed(t *testing.T) {
	requiresIPVS(t)
	for name, start := range map[string]*plan.Plan{"new": nil, "changed": balanced()} {
		k := New(agents{}.hooks())
		t.Cleanup(func() { k.Close("") })
		if start != nil {
			mustApply(t, k, start)
		}
		p := balanced()
		p.Netns[1].Virtual[0].Scheduler = "guess"
		_, err := k.Apply(context.Background(), p)
		if err == nil || !strings.Contains(err.Error(), "node.n1: ipvsadm -") || !strings.Contains(err.Error(), "the kernel has no scheduler guess (module ip_vs_guess)") {
			t.Errorf("%s: got %v", name, err)
		}
	}
}
