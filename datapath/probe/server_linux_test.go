package probe_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/netlab/netlab/datapath/flow"
	"github.com/netlab/netlab/datapath/netns"
	"github.com/netlab/netlab/datapath/probe"
)

// agentOnLoopback is a single agent in a network namespace, on 127.0.0.1:80.
func agentOnLoopback(t *testing.T) *lab {
	t.Helper()
	l := newLab(t)
	l.add("host")
	l.listen("host", probe.Agent{Name: "web-0", Node: "node1", Listen: []probe.Socket{{flow.TCP, 80}, {flow.UDP, 80}}})
	return l
}

// connect opens an ordinary connection to the agent.
func (l *lab) connect(network string) net.Conn {
	l.Helper()
	var c net.Conn
	err := l.in("host", func(netns.Here) (err error) {
		c, err = net.Dial(network, "127.0.0.1:80")
		return err
	})
	if err != nil {
		l.Fatal(err)
	}
	l.Cleanup(func() { c.Close() })
	c.SetDeadline(time.Now().Add(30 * time.Second)) // longer than any answer takes
	return c
}

// wantLine checks an answer to connection c.
func wantLine(t *testing.T, c net.Conn, line string) {
	t.Helper()
	want := fmt.Sprintf(`{"name":"web-0","node":"node1","proto":%q,"local":"127.0.0.1:80","peer":%q,"ttl":64}`+"\n",
		c.LocalAddr().Network(), c.LocalAddr())
	if line != want {
		t.Errorf("got  %s\nwant %s", line, want)
	}
}

func TestASilentPeerIsGreeted(t *testing.T) {
	l := agentOnLoopback(t)
	c := l.connect("tcp")
	line, err := bufio.NewReader(c).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	wantLine(t, c, line)
}

func TestAPeerThatClosesItsSideGetsOneLine(t *testing.T) {
	for name, said := range map[string]string{"nothing": "", "half a line": "hi", "the start of a request": "GE"} {
		t.Run(name, func(t *testing.T) {
			c := agentOnLoopback(t).connect("tcp")
			io.WriteString(c, said)
			c.(*net.TCPConn).CloseWrite()
			all, err := io.ReadAll(c)
			if err != nil {
				t.Fatal(err)
			}
			wantLine(t, c, string(all))
		})
	}
}

func TestEveryLineOfALongConnectionIsAnswered(t *testing.T) {
	c := agentOnLoopback(t).connect("tcp")
	r := bufio.NewReader(c)
	for range 20 {
		io.WriteString(c, "hello\n")
		line, err := r.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		wantLine(t, c, line)
	}
	c.(*net.TCPConn).CloseWrite()
	if rest, err := io.ReadAll(r); err != nil || len(rest) > 0 {
		t.Errorf("after the last line: %q, %v; want a graceful close", rest, err)
	}
}

// More answers than fit into the socket's buffers are pending before any is read.
func TestAPeerThatReadsLateLosesNothing(t *testing.T) {
	c := agentOnLoopback(t).connect("tcp")
	const n = 200_000
	go func() {
		io.WriteString(c, strings.Repeat("x\n", n))
		c.(*net.TCPConn).CloseWrite()
	}()
	all, err := io.ReadAll(c)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(strings.TrimSuffix(string(all), "\n"), "\n")
	if len(lines) != n {
		t.Fatalf("%d answers, want %d", len(lines), n)
	}
	wantLine(t, c, lines[n/2])
	for _, line := range lines[1 : n-1] {
		if line != lines[0] {
			t.Fatalf("answers differ: %q", line)
		}
	}
}

func TestHTTP(t *testing.T) {
	l := agentOnLoopback(t)
	client := http.Client{Transport: &http.Transport{
		DialContext: func(context.Context, string, string) (net.Conn, error) { return l.connect("tcp"), nil },
	}}
	defer client.CloseIdleConnections()
	for _, method := range []string{"GET", "HEAD", "POST", "PUT", "DELETE"} {
		for _, length := range []int{0, 100, 1 << 20} {
			r, _ := http.NewRequest(method, "http://web-0/x?y", bytes.NewReader(make([]byte, length)))
			resp, err := client.Do(r)
			if err != nil {
				if length > 100 {
					continue // the agent answers early: the rest of the body may fail
				}
				t.Fatal(err)
			}
			body, err := io.ReadAll(resp.Body)
			resp.Body.Close()
			if err != nil || resp.StatusCode != 200 || resp.Header.Get("Content-Type") != "application/json" {
				t.Errorf("%s: %s %v %v", method, resp.Status, resp.Header, err)
			}
			a, ok := probe.ParseAnswer(body)
			if ok == (method == "HEAD") || ok && (a.Name != "web-0" || !a.Peer.IsValid()) {
				t.Errorf("%s: body %q", method, body)
			}
		}
	}
}

func TestHTTPIsSpokenInOrder(t *testing.T) {
	tests := []struct{ name, say, want string }{
		{"1.0 closes", "GET / HTTP/1.0\r\n\r\n", "HTTP/1.1 200 OK"},
		{"in pieces", "GE|T / HT|TP/1.0\r\nHos|t: x\r|\n\r\n", "HTTP/1.1 200 OK"},
		{"pipelined", "GET / HTTP/1.1\r\n\r\nGET / HTTP/1.1\r\nConnection: close\r\n\r\n", "HTTP/1.1 200 OK"},
		{"not a request after all", "GET lost\n", `{"name":"web-0"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := agentOnLoopback(t).connect("tcp")
			for _, piece := range strings.Split(tt.say, "|") {
				io.WriteString(c, piece)
			}
			if tt.want[0] == '{' {
				c.(*net.TCPConn).CloseWrite()
			}
			all, err := io.ReadAll(c)
			if err != nil {
				t.Fatal(err)
			}
			requests := max(1, strings.Count(tt.say, " / "))
			if n := strings.Count(string(all), tt.want); n != requests || !strings.HasPrefix(string(all), tt.want) {
				t.Errorf("%d answers in %q, want %d", n, all, requests)
			}
		})
	}
}

func TestAnEndlessRequestHeadIsCutOff(t *testing.T) {
	c := agentOnLoopback(t).connect("tcp")
	var err error
	for i := 0; i < 1000 && err == nil; i++ {
		_, err = io.WriteString(c, "GET / HTTP/1.1\r\nX: "+strings.Repeat("y", 1000)+"\r\n")
	}
	if err == nil {
		_, err = io.ReadAll(c)
	}
	if !errors.Is(err, unix.ECONNRESET) && !errors.Is(err, unix.EPIPE) {
		t.Errorf("got %v, want a reset", err)
	}
}

func TestDatagramsAreAnswered(t *testing.T) {
	for name, said := range map[string]string{"a line": "hello\n", "nothing": "", "garbage": "\x00\xff"} {
		t.Run(name, func(t *testing.T) {
			c := agentOnLoopback(t).connect("udp")
			c.Write([]byte(said))
			var b [1500]byte
			n, err := c.Read(b[:])
			if err != nil {
				t.Fatal(err)
			}
			wantLine(t, c, string(b[:n]))
		})
	}
}

// Two agents with each other's address as source would go on forever.
func TestAnAnswerIsNotAnswered(t *testing.T) {
	c := agentOnLoopback(t).connect("udp")
	c.Write([]byte(`{"name":"web-1","node":"","proto":"udp"}` + "\n"))
	c.Write([]byte("hello\n"))
	var b [1500]byte
	n, err := c.Read(b[:])
	if err != nil {
		t.Fatal(err)
	}
	wantLine(t, c, string(b[:n]))
	c.SetReadDeadline(time.Now())
	if n, err := c.Read(b[:]); err == nil {
		t.Errorf("a second answer: %q", b[:n])
	}
}

func TestListenAgainKeepsWhatStays(t *testing.T) {
	l := agentOnLoopback(t)
	stays := l.connect("tcp")
	io.WriteString(stays, "hello\n")
	r := bufio.NewReader(stays)
	if _, err := r.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	l.listen("host", probe.Agent{Name: "web-0", Node: "node1", Listen: []probe.Socket{{flow.TCP, 80}, {flow.TCP, 81}}})
	io.WriteString(stays, "hello\n")
	line, err := r.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	wantLine(t, stays, line)
	for _, tt := range []struct {
		to   string
		p    flow.Protocol
		want flow.Outcome
	}{
		{"127.0.0.1:80", flow.TCP, flow.Connected}, {"127.0.0.1:81", flow.TCP, flow.Connected},
		{"127.0.0.1:80", flow.UDP, flow.Refused},
	} {
		if s := l.dial(flow.Flow{From: "host", To: to(tt.to), Protocol: tt.p})[0]; s.Outcome != tt.want {
			t.Errorf("%s %s: %s %s, want %s", tt.p, tt.to, s.Outcome, s.Err, tt.want)
		}
	}
}

func TestUnlistenResetsConnectionsAndFreesThePort(t *testing.T) {
	l := agentOnLoopback(t)
	c := l.connect("tcp")
	io.WriteString(c, "hello\n")
	r := bufio.NewReader(c)
	if _, err := r.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	l.server.Unlisten("host", "nobody")
	l.server.Unlisten("host", "web-0")
	if _, err := r.ReadByte(); !errors.Is(err, unix.ECONNRESET) {
		t.Errorf("the connection ended with %v, want a reset", err)
	}
	l.listen("host", probe.Agent{Name: "web-1", Listen: []probe.Socket{{flow.TCP, 80}, {flow.UDP, 80}}})
}

func TestATakenPortIsAnError(t *testing.T) {
	l := agentOnLoopback(t)
	for _, p := range []flow.Protocol{flow.TCP, flow.UDP} {
		err := l.in("host", func(h netns.Here) error {
			return l.server.Listen(h, "host", probe.Agent{Name: "web-1", Listen: []probe.Socket{{p, 81}, {p, 80}}})
		})
		want := fmt.Sprintf(`agent "web-1": listen on %s port 80: bind: address already in use`, p)
		if err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
		if s := l.dial(flow.Flow{From: "host", To: to("127.0.0.1:81"), Protocol: p})[0]; s.Outcome != flow.Refused {
			t.Errorf("%s port 81 is still open: %s", p, s.Outcome)
		}
	}
}

func TestTheServerSurvivesAbuse(t *testing.T) {
	l := agentOnLoopback(t)
	for i := range 300 {
		c := l.connect("tcp").(*net.TCPConn)
		switch i % 4 {
		case 0:
			c.SetLinger(0) // a reset before any data
		case 1:
			c.Write([]byte{0, 255, '\n', '\n', 0x16, 3, 1})
		case 2:
			io.WriteString(c, "POST / HTTP/1.1\r\nContent-Length: 99999999999999999999\r\n\r\n")
		case 3:
			io.WriteString(c, "GET ")
		}
		c.Close()
	}
	c := l.connect("tcp")
	io.WriteString(c, "hello\n")
	line, err := bufio.NewReader(c).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	wantLine(t, c, line)
}

func TestAListenerCostsLittleHeap(t *testing.T) {
	l := newLab(t)
	l.add("host")
	const n = 2000
	heap := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	before := heap()
	err := l.in("host", func(h netns.Here) error {
		for i := range n {
			a := probe.Agent{Name: fmt.Sprint("web-", i), Node: "node1", Listen: []probe.Socket{{flow.TCP, uint16(20000 + i)}}}
			if err := l.server.Listen(h, fmt.Sprint("pod.web-", i), a); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if each := (heap() - before) / n; each > 600 {
		t.Errorf("%d bytes per agent with one listener, want at most 600", each)
	}
}

func TestCloseReleasesEveryDescriptor(t *testing.T) {
	before := descriptorsOpen(t)
	t.Run("use", func(t *testing.T) {
		l := agentOnLoopback(t)
		c := l.connect("tcp")
		io.WriteString(c, "hello\n")
		if _, err := bufio.NewReader(c).ReadString('\n'); err != nil {
			t.Fatal(err)
		}
		if err := l.server.Close(); err != nil {
			t.Fatal(err)
		}
		err := l.in("host", func(h netns.Here) error { return l.server.Listen(h, "host", probe.Agent{Name: "x"}) })
		if !errors.Is(err, os.ErrClosed) {
			t.Errorf("Listen after Close: %v", err)
		}
	})
	if after := descriptorsOpen(t); after != before {
		t.Errorf("%d descriptors before, %d after", before, after)
	}
}

func TestAnswersAreRecognized(t *testing.T) {
	good := `{"name":"db/web-0","node":"","proto":"udp","local":"[fd00::1]:80","peer":"10.0.0.1:4","ttl":62}`
	want := probe.Answer{Name: "db/web-0", Proto: flow.UDP, Local: to("[fd00::1]:80"), Peer: netip.MustParseAddrPort("10.0.0.1:4"), TTL: 62}
	if a, ok := probe.ParseAnswer([]byte(good)); !ok || a != want {
		t.Errorf("got %v %v, want %v", a, ok, want)
	}
	for _, bad := range []string{"", "{", "null", `{"name":""}`, `{"name":"x","peer":"y"}`, "HTTP/1.1 400", good[:40]} {
		if a, ok := probe.ParseAnswer([]byte(bad)); ok {
			t.Errorf("%q is not an answer, got %v", bad, a)
		}
	}
}

// Each connection costs this process two descriptors: there are too few for all.
func TestWithoutDescriptorsTheOldestConnectionIsClosed(t *testing.T) {
	l := agentOnLoopback(t)
	limitDescriptors(t, 20)
	var all []net.Conn
	for i := range 15 {
		c := l.connect("tcp")
		all = append(all, c)
		io.WriteString(c, "hello\n")
		line, err := bufio.NewReader(c).ReadString('\n')
		if err != nil {
			t.Fatalf("connection %d: %v", i, err)
		}
		wantLine(t, c, line)
	}
	if _, err := all[0].Read(make([]byte, 1)); !errors.Is(err, unix.ECONNRESET) {
		t.Errorf("the oldest connection: %v, want a reset", err)
	}
}

// A connected datagram socket receives only from the address that it sent to.
func TestDatagramsAreAnsweredFromTheirDestination(t *testing.T) {
	l := agentOnLoopback(t)
	for _, addr := range []string{"127.0.0.1:80", "127.0.0.2:80", "127.1.2.3:80"} {
		if s := l.dial(flow.Flow{From: "host", To: to(addr), Protocol: flow.UDP})[0]; s.Outcome != flow.Connected {
			t.Errorf("%s: %s %s", addr, s.Outcome, s.Err)
		}
	}
}

func TestHealthChecksAnswerAsKubeProxy(t *testing.T) {
	l := newLab(t)
	l.add("host")
	for port, endpoints := range map[uint16]int{32000: 2, 32001: 0} {
		l.listen("host", probe.Agent{
			Name: fmt.Sprint("health ", port), Listen: []probe.Socket{{flow.TCP, port}},
			Health: &probe.Health{Namespace: "default", Service: "web", LocalEndpoints: endpoints},
		})
	}
	get := func(addr string) flow.Flow {
		return flow.Flow{From: "host", To: to(addr), Path: "/healthz", Within: 10 * time.Second}
	}
	seen := l.dial(get("127.0.0.1:32000"), get("127.0.0.1:32001"), get("127.0.0.1:32002"))
	for i, want := range []struct {
		status int
		weight string
		body   string
	}{{200, "2", `"localEndpoints": 2`}, {503, "0", `"localEndpoints": 0`}} {
		s := seen[i]
		if s.Outcome != flow.Connected || s.Status != want.status || s.Header["x-load-balancing-endpoint-weight"] != want.weight ||
			s.Header["x-content-type-options"] != "nosniff" || !strings.Contains(s.Body, want.body) || s.Answer != "" {
			t.Errorf("got %+v, want %+v", s, want)
		}
		var body struct {
			Service             struct{ Namespace, Name string }
			ServiceProxyHealthy bool
		}
		if err := json.Unmarshal([]byte(s.Body), &body); err != nil || body.Service.Name != "web" || !body.ServiceProxyHealthy {
			t.Errorf("body %q: %v", s.Body, err)
		}
	}
	if seen[2].Outcome != flow.Refused {
		t.Errorf("closed port: %+v", seen[2])
	}
}

func TestHTTPFlowsLearnTheServer(t *testing.T) {
	l := agentOnLoopback(t)
	s := l.dial(flow.Flow{From: "host", To: to("127.0.0.1:80"), Path: "/", Within: 10 * time.Second})[0]
	if s.Status != 200 || s.Answer != "web-0" || s.Source.Addr() != to("127.0.0.1:80").Addr() {
		t.Errorf("got %+v", s)
	}
}
