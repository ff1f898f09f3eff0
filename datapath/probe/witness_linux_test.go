package probe_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/netlab/netlab/datapath/flow"
	"github.com/netlab/netlab/datapath/netns"
	"github.com/netlab/netlab/datapath/probe"
)

// watch lets the server look for what reaches a program.
func (l *lab) watch(name string, a probe.Agent) {
	l.Helper()
	if err := l.in(name, func(h netns.Here) error { return l.server.Watch(h, name, a) }); err != nil {
		l.Fatal(err)
	}
}

// Programs say nothing that an agent would: what they saw is known all the same.
func TestProgramsAreIdentifiedByWhatReachesThem(t *testing.T) {
	l := pair(t)
	l.waitIPv6()
	held := make(chan *net.TCPConn, 10)
	l.serveTCP("server", "[::]:9001", func(c *net.TCPConn) { held <- c })
	l.serveTCP("server", "[::]:9002", func(c *net.TCPConn) { io.WriteString(c, "220 welcome\r\n"); c.Close() })
	l.serveTCP("server", "[::]:9003", func(c *net.TCPConn) { c.Read(make([]byte, 1)); c.Close() }) // which resets
	l.serveTCP("server", "[::]:9004", func(c *net.TCPConn) { held <- c })
	l.serveTCP("server", "[::]:9005", func(c *net.TCPConn) {
		line, _ := bufio.NewReader(c).ReadString('\n')
		fmt.Fprintf(c, "%q is not a command\n", line)
	})
	var deaf net.PacketConn
	err := l.in("server", func(netns.Here) (err error) {
		deaf, err = net.ListenPacket("udp", "[::]:9001")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { deaf.Close() })
	var ports []probe.Socket
	for _, p := range []uint16{9001, 9002, 9003, 9005, 9006} {
		ports = append(ports, probe.Socket{Protocol: flow.TCP, Port: p}, probe.Socket{Protocol: flow.UDP, Port: p})
	}
	l.watch("server", probe.Agent{Name: "db-0", Node: "node1", IPv6: true, Listen: ports})

	rows := []struct {
		name     string
		port     uint16
		protocol flow.Protocol
		want     flow.Outcome
	}{
		{"silent", 9001, flow.TCP, flow.Connected},
		{"a banner, then the end", 9002, flow.TCP, flow.Connected},
		{"closed with data unread", 9003, flow.TCP, flow.Connected},
		{"an answer in its own words", 9005, flow.TCP, flow.Connected},
		{"nothing listens", 9006, flow.TCP, flow.Refused},
		{"a datagram without answer", 9001, flow.UDP, flow.Connected},
		{"a datagram to a closed port", 9006, flow.UDP, flow.Refused},
		{"silent, and not watched", 9004, flow.TCP, flow.Timeout},
	}
	servers := []netip.Addr{netip.MustParseAddr("10.0.2.2"), netip.MustParseAddr("fd02::2")}
	for _, server := range servers {
		var flows []flow.Flow
		for _, row := range rows {
			flows = append(flows, flow.Flow{From: "client", To: netip.AddrPortFrom(server, row.port), Protocol: row.protocol, Within: time.Second})
		}
		for i, seen := range l.server.Dial(t.Context(), flows, l.enter) {
			t.Run(fmt.Sprint(rows[i].name, " ", server), func(t *testing.T) {
				if seen.Outcome != rows[i].want {
					t.Fatalf("%s (%s), want %s", seen.Outcome, seen.Err, rows[i].want)
				}
				if seen.Outcome != flow.Connected {
					if seen.Answer != "" {
						t.Errorf("%s by %s", seen.Outcome, seen.Answer)
					}
					return
				}
				if silent := rows[i].protocol == flow.UDP; silent != (seen.RoundTrip == 0) {
					t.Errorf("the round trip took %v", seen.RoundTrip)
				}
				if seen.Answer != "db-0" || seen.Node != "node1" || seen.Source != seen.Local || seen.TTL != 63 {
					t.Errorf("answered by %q on %q, seen as %v of %v with TTL %d", seen.Answer, seen.Node, seen.Source, seen.Local, seen.TTL)
				}
			})
		}
	}
	// Without the server that watches, silence is silence.
	f := flow.Flow{From: "client", To: to("10.0.2.2:9001"), Protocol: flow.TCP, Within: 200 * time.Millisecond}
	if seen := probe.Dial(t.Context(), []flow.Flow{f}, l.enter)[0]; seen.Outcome != flow.Timeout {
		t.Errorf("not watched: %s", seen.Outcome)
	}
	l.server.Unlisten("server", "db-0")
	if seen := l.server.Dial(t.Context(), []flow.Flow{f}, l.enter)[0]; seen.Outcome != flow.Timeout {
		t.Errorf("no longer watched: %s", seen.Outcome)
	}
	for range len(held) {
		(<-held).Close()
	}
}

// A proxy of TCP passes on what it is asked, and an HTTP proxy most of it: the program that
// was dialed is the first that it reaches.
func TestAProxyIsNotTakenForWhatIsBehindIt(t *testing.T) {
	l := pair(t)
	l.serveTCP("server", "10.0.2.2:81", func(c *net.TCPConn) { io.Copy(c, c) })
	l.serveTCP("server", "10.0.2.2:80", func(c *net.TCPConn) {
		defer c.Close()
		var back net.Conn
		ns := l.ns["server"]
		if ns.Do(func() (err error) { back, err = net.Dial("tcp", "10.0.2.2:81"); return err }) != nil {
			return
		}
		defer back.Close()
		line, _ := bufio.NewReader(c).ReadString('\n')
		io.WriteString(back, line)
		answer, _ := bufio.NewReader(back).ReadString('\n')
		io.WriteString(c, answer)
	})
	l.watch("server", probe.Agent{Name: "behind", Listen: []probe.Socket{{Protocol: flow.TCP, Port: 81}}})
	l.watch("server", probe.Agent{Name: "proxy", Listen: []probe.Socket{{Protocol: flow.TCP, Port: 80}}})
	flows := make([]flow.Flow, 50)
	for i := range flows {
		flows[i] = flow.Flow{From: "client", To: to("10.0.2.2:80"), Protocol: flow.TCP, Within: time.Second}
	}
	flows[0].To = to("10.0.2.2:81")
	for i, seen := range l.server.Dial(t.Context(), flows, l.enter) {
		want := "proxy"
		if i == 0 {
			want = "behind"
		}
		if seen.Outcome != flow.Connected || seen.Answer != want || seen.Source.Addr() != netip.MustParseAddr("10.0.1.2") {
			t.Errorf("%s by %q, seen as %v; want %s", seen.Outcome, seen.Answer, seen.Source, want)
		}
	}
}
