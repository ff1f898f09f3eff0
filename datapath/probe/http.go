package probe

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
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
	r := request{length: end, head: words[0] == "HEAD", close: words[2] == "HTTP/1.0"}
	for _, field := range strings.Split(string(b[len(first)+1:end]), "\n") {
		name, value, _ := strings.Cut(field, ":")
		value = strings.ToLower(strings.TrimSpace(value))
		switch strings.ToLower(name) {
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
	header map[string]string // names in lower case; for a repeated field the last one
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
			r.header[strings.ToLower(strings.TrimSpace(name))] = strings.TrimSpace(value)
		}
	}
	r.body = string(b[end:])
	length, err := strconv.Atoi(r.header["content-length"])
	return r, err == nil && len(r.body) >= length
}
