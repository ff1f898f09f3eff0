package kubeapi

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
)

// raw sends bytes, and returns the status line of the answer.
func (c *client) raw(request string) string {
	c.Helper()
	conn, err := net.Dial("tcp4", strings.TrimPrefix(c.url, "http://"))
	if err != nil {
		c.Fatal(err)
	}
	defer conn.Close()
	go func() { _, _ = io.WriteString(conn, request) }() // the server may answer before all is sent
	line, err := bufio.NewReader(conn).ReadString('\n')
	if err != nil {
		return ""
	}
	return strings.TrimSpace(line)
}

func TestHostileRequestsAreRefused(t *testing.T) {
	c := serve(t, cluster)
	for request, want := range map[string]string{
		"nonsense\r\n\r\n": "HTTP/1.1 400 ",
		"GET /api/v1/pods HTTP/1.1\r\nHost: x\r\n\r\n":                                                                           "HTTP/1.1 200 ",
		"GET /api/v1/pods HTTP/1.1\r\nHost: x\r\nX: " + strings.Repeat("x", 2*maxHeader) + "\r\n\r\n":                            "HTTP/1.1 431 ",
		"GET /" + strings.Repeat("a/", 2000) + " HTTP/1.1\r\nHost: x\r\n\r\n":                                                    "HTTP/1.1 404 ",
		"GET /api/v1/pods HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000000\r\n\r\n":                                             "HTTP/1.1 400 ",
		"GET /api/v1/pods HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n":                                             "HTTP/1.1 400 ",
		"POST /api/v1/namespaces/x/events HTTP/1.1\r\nHost: x\r\nContent-Length: 2000000\r\n\r\n" + strings.Repeat("x", 2000000): "HTTP/1.1 413 ",
		"DELETE /api/v1/pods HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000000\r\n\r\n":                                          "HTTP/1.1 405 ",
	} {
		if got := c.raw(request); !strings.HasPrefix(got, want) {
			t.Errorf("%.80q: got %q, want %q", request, got, want)
		}
	}
}

// Who holds all connections of a door keeps others out of that door, until one is free.
func TestConnectionsAreBounded(t *testing.T) {
	c := serve(t, cluster)
	address := strings.TrimPrefix(c.url, "http://")
	var held []net.Conn
	for range maxConns {
		conn, err := net.Dial("tcp4", address)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if _, err := io.WriteString(conn, "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		if line, err := bufio.NewReader(conn).ReadString('\n'); err != nil || !strings.Contains(line, "200") {
			t.Fatal(line, err)
		}
		held = append(held, conn)
	}
	answered := make(chan string, 1)
	go func() { answered <- c.raw("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n") }()
	select {
	case got := <-answered:
		t.Errorf("one more was answered: %q", got)
	default:
	}
	held[0].Close()
	if got := <-answered; !strings.Contains(got, "200") {
		t.Errorf("when one was free, the answer was %q", got)
	}
}

// FuzzServe answers anything without a panic.
func FuzzServe(f *testing.F) {
	f.Add("GET", "/api/v1/pods", "labelSelector=app in (a,b),!c&fieldSelector=spec.nodeName!=x&watch=1", asTable)
	f.Add("POST", "/apis/events.k8s.io/v1/namespaces/default/events", "", "")
	f.Add("GET", "/api/v1/namespaces/default/pods/web-0", "includeObject=None", ";;,application/json;as=Table")
	s := New("v1.35.0", born)
	if err := s.Set([]byte(cluster)); err != nil {
		f.Fatal(err)
	}
	over, end := context.WithCancel(context.Background())
	end() // watches end at once
	f.Fuzz(func(t *testing.T, method, path, query, accept string) {
		r := &http.Request{Method: method, URL: &url.URL{Path: path, RawQuery: query}, Header: http.Header{"Accept": {accept}}, Body: http.NoBody}
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r.WithContext(over))
		if w.Code >= 500 && w.Code != http.StatusGatewayTimeout {
			t.Errorf("%s %s?%s: %d %s", method, path, query, w.Code, w.Body)
		}
	})
}
