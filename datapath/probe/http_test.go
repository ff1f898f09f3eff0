package probe

import "testing"

func FuzzParseRequest(f *testing.F) {
	for _, seed := range []string{
		"", "\n", "GET / HTTP/1.1\r\n\r\n", "GET / HTTP/1.1\n\nrest", "POST / HTTP/1.0\r\nContent-Length: 3\r\n\r\nabc",
		"GET x\n", "GET / HTTP/1.1\r\n:\r\n\r", "PUT a b c HTTP/1.1\n\n", "HEAD / HTTP/1.1\nConnection: CLOSE\n\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		is, more := httpPrefix(b)
		if is && more {
			t.Error("decided and undecided at once")
		}
		r, ok := parseRequest(b)
		if ok && (r.length <= 0 || r.length > len(b)) {
			t.Errorf("a head of %d bytes in %d", r.length, len(b))
		}
		if ok && b[r.length-1] != '\n' {
			t.Errorf("the head ends with %q", b[r.length-1])
		}
	})
}

func TestResponsesArriveInPieces(t *testing.T) {
	const whole = "HTTP/1.1 503 Service Unavailable\r\nX-A:  b \r\nContent-Length: 3\r\n\r\nabc"
	for n := range len(whole) {
		if r, done := parseResponse([]byte(whole[:n])); done {
			t.Errorf("done after %d bytes: %+v", n, r)
		}
	}
	r, done := parseResponse([]byte(whole))
	if !done || r.status != 503 || r.header["x-a"] != "b" || r.body != "abc" {
		t.Errorf("got %+v, done %v", r, done)
	}
	if r, done := parseResponse([]byte("SSH-2.0")); !done || r.status != 0 {
		t.Errorf("another protocol: %+v, done %v", r, done)
	}
}
