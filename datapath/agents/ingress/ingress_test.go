package ingress

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/pires/go-proxyproto"

	"github.com/netlab/netlab/datapath/plan/httproute"
)

// start starts a controller on two ports of loopback.
func start(t *testing.T, c Config, routes ...httproute.Route) (x *Controller, plain, secure string) {
	t.Helper()
	var at [2]net.Listener
	for i := range at {
		l, err := net.Listen("tcp4", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		at[i] = l
	}
	a, err := NewAuthority("test")
	if err != nil {
		t.Fatal(err)
	}
	c.Name, c.Authority = "controller", a
	c.Identity = func(local, peer netip.AddrPort) []byte { return fmt.Appendf(nil, "controller sees %s", peer.Addr()) }
	if c.Patience == 0 {
		c.Patience = time.Second
	}
	if c.Dial == nil {
		c.Dial = func(to netip.AddrPort, within time.Duration) (net.Conn, error) {
			return net.DialTimeout("tcp", to.String(), within)
		}
	}
	x = Serve(c, at[0], at[1])
	t.Cleanup(x.Close)
	x.Route(routes)
	return x, at[0].Addr().String(), at[1].Addr().String()
}

// echo is a server that tells the request that it got.
func echo(t *testing.T) netip.AddrPort {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = json.NewEncoder(w).Encode(map[string]any{"host": r.Host, "path": r.URL.Path, "header": r.Header})
	}))
	t.Cleanup(s.Close)
	return netip.MustParseAddrPort(s.Listener.Addr().String())
}

func to(endpoints ...netip.AddrPort) []httproute.Backend {
	return []httproute.Backend{{Service: "default/web:80", Weight: 1, Endpoints: endpoints}}
}

func get(t *testing.T, at, host, path string, header ...string) (int, string) {
	t.Helper()
	r, _ := http.NewRequest("GET", "http://"+at+path, nil)
	r.Host = host
	for _, h := range header {
		name, value, _ := strings.Cut(h, ": ")
		r.Header.Add(name, value)
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, _ := io.ReadAll(res.Body)
	return res.StatusCode, string(b)
}

func TestRequestsArePassedOnByHostAndPath(t *testing.T) {
	e := echo(t)
	x, at, _ := start(t, Config{}, httproute.Route{Host: "shop.example", Path: "/api", Match: httproute.Prefix, Backends: to(e)},
		httproute.Route{Host: "empty.example", Path: "/", Match: httproute.Prefix, Backends: to()},
		httproute.Route{Host: "gone.example", Path: "/", Match: httproute.Prefix})
	if status, body := get(t, at, "shop.example", "/api/v1?x=1", "X-Forwarded-For: 192.0.2.1"); status != 200 || !strings.Contains(body, `"X-Forwarded-For":["127.0.0.1"]`) ||
		!strings.Contains(body, `"host":"shop.example"`) || !strings.Contains(body, `"path":"/api/v1"`) || strings.Contains(body, "192.0.2.1") {
		t.Errorf("%d %s", status, body)
	}
	for _, row := range []struct {
		host, path string
		status     int
	}{{"shop.example", "/apis", 404}, {"other.example", "/api", 404}, {"empty.example", "/", 503}, {"gone.example", "/", 500}} {
		if status, body := get(t, at, row.host, row.path); status != row.status || body != "controller sees 127.0.0.1" {
			t.Errorf("%s%s: %d %s", row.host, row.path, status, body)
		}
	}
	x.Route([]httproute.Route{{Default: true, Backends: to(e)}})
	if status, _ := get(t, at, "other.example", "/"); status != 200 {
		t.Errorf("after a change: %d", status)
	}
}

func TestAnotherEndpointIsTriedIfOneTakesNoConnection(t *testing.T) {
	closed, _ := net.Listen("tcp4", "127.0.0.1:0")
	closed.Close()
	refuses := netip.MustParseAddrPort(closed.Addr().String())
	x, at, _ := start(t, Config{}, httproute.Route{Default: true, Backends: to(refuses, echo(t), refuses)})
	for range 20 {
		if status, body := get(t, at, "a", "/"); status != 200 {
			t.Fatalf("%d %s", status, body)
		}
	}
	x.Route([]httproute.Route{{Default: true, Backends: to(refuses)}})
	if status, _ := get(t, at, "a", "/"); status != 502 {
		t.Errorf("refused: %d", status)
	}
	tried := 0
	_, at, _ = start(t, Config{Dial: func(netip.AddrPort, time.Duration) (net.Conn, error) { tried++; return nil, os.ErrDeadlineExceeded }},
		httproute.Route{Default: true, Backends: to(refuses, refuses, refuses, refuses)})
	if status, _ := get(t, at, "a", "/"); status != 504 || tried != httproute.Attempts {
		t.Errorf("no answer: %d after %d", status, tried)
	}
}

func TestARequestThatComesBackGoesNowhere(t *testing.T) {
	x, at, _ := start(t, Config{})
	x.Route([]httproute.Route{{Default: true, Backends: to(netip.MustParseAddrPort(at))}})
	if status, _ := get(t, at, "a", "/"); status != 508 {
		t.Errorf("got %d", status)
	}
}

func TestHostsWithACertificateAreTrusted(t *testing.T) {
	x, _, at := start(t, Config{}, httproute.Route{Host: "*.example", Path: "/", Match: httproute.Prefix, TLS: true, Backends: to(echo(t))})
	for host, trusted := range map[string]bool{"shop.example": true, "a.shop.example": false, "other": false} {
		c := http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: x.Authority.Pool()}, DisableKeepAlives: true,
			DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return net.Dial("tcp", at) }}}
		res, err := c.Get("https://" + host + "/")
		if (err == nil) != trusted {
			t.Errorf("%s: %v", host, err)
		}
		if err == nil {
			b, _ := io.ReadAll(res.Body)
			res.Body.Close()
			if !bytes.Contains(b, []byte(`"X-Forwarded-Proto":["https"]`)) {
				t.Errorf("%s", b)
			}
		}
	}
}

func TestTheClientIsWhomTheProxyProtocolNames(t *testing.T) {
	_, at, _ := start(t, Config{ProxyProtocol: true}, httproute.Route{Host: "a", Path: "/", Match: httproute.Prefix, Backends: to(echo(t))})
	for _, row := range []struct {
		version byte
		host    string
		want    []string
	}{
		{1, "a", []string{"200 OK", `"X-Forwarded-For":["192.0.2.7"]`}},
		{2, "a", []string{"200 OK", `"X-Forwarded-For":["192.0.2.7"]`}},
		{2, "b", []string{"404 Not Found", "controller sees 127.0.0.1"}},
		{0, "a", nil},
	} {
		c, err := net.Dial("tcp", at)
		if err != nil {
			t.Fatal(err)
		}
		if row.version > 0 {
			h := proxyproto.HeaderProxyFromAddrs(row.version, &net.TCPAddr{IP: net.IPv4(192, 0, 2, 7), Port: 1}, &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 80})
			if _, err := h.WriteTo(c); err != nil {
				t.Fatal(err)
			}
		}
		fmt.Fprintf(c, "GET / HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n", row.host)
		b, err := io.ReadAll(c)
		c.Close()
		if row.want == nil && (err != nil || len(b) > 0) {
			t.Errorf("without a header: %v %s", err, b)
		}
		for _, want := range row.want {
			if !strings.Contains(string(b), want) {
				t.Errorf("version %d: %v %s, want %q", row.version, err, b, want)
			}
		}
	}
}

func TestFiltersChangeRequestsAndResponses(t *testing.T) {
	change := func(set, add, remove string) httproute.Change {
		return httproute.Change{Set: []httproute.Header{{Name: set, Value: "1"}}, Add: []httproute.Header{{Name: add, Value: "1"}}, Remove: []string{remove}}
	}
	_, at, _ := start(t, Config{},
		httproute.Route{Path: "/a", Match: httproute.Prefix, Backends: to(echo(t)), Filters: httproute.Filters{
			Request: change("X-Set", "X-Add", "X-Remove"), Response: change("X-Set", "X-Add", "Content-Type"),
			Rewrite: httproute.Rewrite{Host: "inside", Path: httproute.Replace{Match: httproute.Prefix, With: "/b"}}}},
		httproute.Route{Path: "/r", Match: httproute.Prefix, Filters: httproute.Filters{Response: change("X-Set", "X-Add", "Content-Type"),
			Redirect: &httproute.Redirect{Scheme: "https", Status: 308}}})
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	ask := func(path string) (*http.Response, string) {
		r, _ := http.NewRequest("GET", "http://"+at+path, nil)
		r.Host = "outside"
		for _, name := range []string{"X-Set", "X-Add", "X-Remove"} {
			r.Header.Set(name, "0")
		}
		res, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		b, _ := io.ReadAll(res.Body)
		if _, typed := res.Header["Content-Type"]; res.Header.Get("X-Set") != "1" || res.Header.Get("X-Add") != "1" || typed {
			t.Errorf("%s: got %v", path, res.Header)
		}
		return res, string(b)
	}
	res, body := ask("/a/x")
	for _, want := range []string{`"host":"inside"`, `"path":"/b/x"`, `"X-Set":["1"]`, `"X-Add":["0","1"]`} {
		if !strings.Contains(body, want) {
			t.Errorf("no %s in %s", want, body)
		}
	}
	if res.StatusCode != 200 || strings.Contains(body, "X-Remove") {
		t.Errorf("%d %s", res.StatusCode, body)
	}
	if res, _ := ask("/r/x?y"); res.StatusCode != 308 || res.Header.Get("Location") != "https://outside/r/x?y" {
		t.Errorf("%d %v", res.StatusCode, res.Header)
	}
}

func TestClosingEndsWhatIsOpen(t *testing.T) {
	hangs, _ := net.Listen("tcp4", "127.0.0.1:0")
	defer hangs.Close()
	x, at, _ := start(t, Config{}, httproute.Route{Default: true, Backends: to(netip.MustParseAddrPort(hangs.Addr().String()))})
	c, err := net.Dial("tcp", at)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	fmt.Fprint(c, "GET / HTTP/1.1\r\nHost: a\r\n\r\n")
	b, err := hangs.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	ended := make(chan bool)
	go func() { x.Close(); close(ended) }()
	select {
	case <-ended:
	case <-time.After(time.Second):
		t.Fatal("it does not end")
	}
	_ = b.SetReadDeadline(time.Now().Add(time.Second))
	if _, err := io.ReadAll(b); err == nil || os.IsTimeout(err) {
		t.Errorf("the endpoint's connection: %v", err)
	}
}
