package probe

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"syscall"

	"github.com/pires/go-proxyproto"

	"github.com/netlab/netlab/datapath/flow"
)

// maxHead is the longest head of an HTTP request that is read, in bytes.
const maxHead = 8 << 10

// httpMethods are the methods with which a request can begin (RFC 9110, 9.1).
var httpMethods = [...]string{"GET ", "HEAD ", "POST ", "PUT ", "PATCH ", "DELETE ", "OPTIONS "}

// httpPrefix reports whether the first bytes of a connection are those of an HTTP
// request. more is set if more bytes are needed to tell.
func httpPrefix(b []byte) (is, more bool) {
	for _, m := range httpMethods {
		if len(b) >= len(m) && string(b[:len(m)]) == m {
			return true, false
		}
		if len(b) < len(m) && m[:len(b)] == string(b) {
			more = true
		}
	}
	return false, more
}

// request is the relevant part of an HTTP request's head.
type request struct {
	length int  // of the head, in bytes, the empty line included
	head   bool // the method is HEAD
	close  bool // the connection ends after the response
	line   bool // not HTTP after all: typed text
	// forwarded is the client for whom a proxy asks; not valid: there is none.
	forwarded netip.Addr
	asked     *Asked
}

// parseRequest reads a request's head. It reports false while the head is
// incomplete.
func parseRequest(b []byte) (request, bool) {
	first, _, ok := bytes.Cut(b, []byte("\n"))
	if !ok {
		return request{}, false
	}
	words := strings.Fields(string(first))
	if n := len(words); n != 3 || !strings.HasPrefix(words[2], "HTTP/1.") {
		return request{length: len(first) + 1, line: true}, true
	}
	end := headEnd(b)
	if end < 0 {
		return request{}, false
	}
	r := request{length: end, head: words[0] == "HEAD", close: words[2] == "HTTP/1.0", asked: &Asked{Path: words[1], Header: map[string]string{}}}
	for _, field := range strings.Split(string(b[len(first)+1:end]), "\n") {
		name, value, _ := strings.Cut(field, ":")
		name, value = strings.ToLower(name), strings.TrimSpace(value)
		r.asked.note(name, value)
		value = strings.ToLower(value)
		switch name {
		case "x-forwarded-for":
			first, _, _ := strings.Cut(value, ",")
			r.forwarded, _ = netip.ParseAddr(strings.TrimSpace(first))
			r.forwarded = r.forwarded.WithZone("")
		case "connection":
			r.close = r.close || strings.Contains(value, "close")
		case "content-length":
			r.close = r.close || value != "0"
		case "transfer-encoding", "upgrade":
			// A body, or another protocol: what follows is not a request.
			r.close = true
		}
	}
	return r, true
}

// note notes a header field; those of one name are a list (RFC 9110, 5.3).
func (a *Asked) note(name, value string) {
	switch before, again := a.Header[name]; {
	case name == "host":
		a.Host = value
	case again:
		a.Header[name] = before + ", " + value
	case strings.TrimSpace(name) != "":
		a.Header[name] = value
	}
}

// headEnd is the length of the head that b begins with, or -1.
func headEnd(b []byte) int {
	for i := 0; ; {
		n := bytes.IndexByte(b[i:], '\n')
		if n < 0 {
			return -1
		}
		if i > 0 && len(bytes.TrimRight(b[i:i+n], "\r")) == 0 {
			return i + n + 1
		}
		i += n + 1
	}
}

// appendResponse appends the response to r with line as body.
func (r request) appendResponse(b, line []byte) []byte {
	b = append(b, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"...)
	return r.appendBody(b, line)
}

// appendBody appends the rest of a response, after its own header fields.
func (r request) appendBody(b, body []byte) []byte {
	b = fmt.Appendf(b, "Content-Length: %d\r\n", len(body))
	if r.close {
		b = append(b, "Connection: close\r\n"...)
	}
	b = append(b, "\r\n"...)
	if r.head {
		return b
	}
	return append(b, body...)
}

// response is the relevant part of an HTTP response.
type response struct {
	status int
	header map[string]string // names in lower case; the values of a repeated field are a list
	body   string
}

// parseResponse parses a response as far as it has arrived; done says that it is
// complete. A status of 0 means that it is not an HTTP response.
func parseResponse(b []byte) (r response, done bool) {
	const version = "HTTP/1."
	if n := min(len(b), len(version)); string(b[:n]) != version[:n] {
		return r, true
	}
	end := headEnd(b)
	if end < 0 {
		return r, false
	}
	lines := strings.Split(string(b[:end]), "\n")
	if words := strings.Fields(lines[0]); len(words) > 1 {
		r.status, _ = strconv.Atoi(words[1])
	}
	r.header = map[string]string{}
	for _, field := range lines[1:] {
		if name, value, ok := strings.Cut(field, ":"); ok {
			name, value = strings.ToLower(strings.TrimSpace(name)), strings.TrimSpace(value)
			if before, again := r.header[name]; again {
				value = before + ", " + value
			}
			r.header[name] = value
		}
	}
	r.body = string(b[end:])
	length, err := strconv.Atoi(r.header["content-length"])
	return r, err == nil && len(r.body) >= length
}

// requestFor is the request of a flow, with more options of the connection.
func requestFor(f *flow.Flow, options string) string {
	head := "GET " + f.Path + " HTTP/1.1\r\nHost: " + cmp.Or(f.Host, f.To.String()) + "\r\nConnection: close" + options + "\r\n"
	for line := range strings.Lines(string(f.Sends)) {
		head += strings.TrimSuffix(line, "\n") + "\r\n"
	}
	return head + "\r\n"
}

// Request sends the request of an observation's flow over a connection that has a deadline, and
// notes how it ends, and the response.
func Request(conn net.Conn, o *flow.Observation) {
	_, err := conn.Write([]byte(requestFor(&o.Flow, "")))
	var got []byte
	var res response
	for buf, done := make([]byte, 4096), false; err == nil && !done && len(got) < maxResponse; {
		var n int
		n, err = conn.Read(buf)
		got = append(got, buf[:n]...)
		res, done = parseResponse(got)
		if done {
			err = nil
		}
	}
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		o.Outcome, o.Err = flow.Timeout, "connected, but no answer"
		return
	case errors.Is(err, syscall.ECONNRESET):
		o.Outcome, o.Err = flow.Reset, err.Error()
		return
	}
	o.Outcome, o.Status, o.Header, o.Body = flow.Connected, res.status, res.header, res.body
	if a, ok := ParseAnswer([]byte(res.body)); ok {
		o.Answer, o.Node, o.Source, o.Forwarded, o.TTL = a.Name, a.Node, a.Peer, a.Forwarded.Unmap(), a.TTL
		o.Asked = a.Asked.fields()
	}
}

// maxResponse is how much of an HTTP response is read, in bytes.
const maxResponse = 64 << 10

// ProxyHeader is what a load balancer sends before a request; "": nothing. The proxies of the
// lab read it with the library that writes it here.
func ProxyHeader(f *flow.Flow) string {
	if f.Proxied == (flow.Proxied{}) {
		return ""
	}
	to := f.To
	if client := f.Proxied.Client.Addr(); client.Is4() != to.Addr().Is4() { // a header has one family
		to = netip.AddrPortFrom(client, to.Port())
	}
	b, err := proxyproto.HeaderProxyFromAddrs(byte(f.Proxied.Version), net.TCPAddrFromAddrPort(f.Proxied.Client), net.TCPAddrFromAddrPort(to)).Format()
	if err != nil {
		return "" // of a version that is not: no claim has one
	}
	return string(b)
}
