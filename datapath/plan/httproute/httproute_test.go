package httproute

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/netlab/netlab/datapath/plan/coder"
)

func TestTheMostSpecificRouteTakesARequest(t *testing.T) {
	table := New([]Route{
		{Object: "any", Path: "/any", Match: Prefix},
		{Object: "root", Host: "shop.example", Path: "/", Match: Prefix},
		{Object: "api", Host: "shop.example", Path: "/api/", Match: Prefix},
		{Object: "exact", Host: "shop.example", Path: "/api", Match: Exact},
		{Object: "login", Host: "shop.example", Path: "/api/login", Match: Exact},
		{Object: "wild", Host: "*.example", Path: "/w", Match: Prefix},
		{Object: "default", Default: true},
	})
	for _, row := range []struct{ host, target, want string }{
		{"shop.example", "/", "root"},
		{"SHOP.example.:8080", "/x?/api", "root"},
		{"shop.example", "/api", "exact"},
		{"shop.example", "/api/", "api"},
		{"shop.example", "/api/v1", "api"},
		{"shop.example", "/apis", "root"}, // elements, not letters
		{"shop.example", "/api/login", "login"},
		{"shop.example", "/api/login/", "api"},
		{"shop.example", "/x/../api/v1", "api"},
		{"shop.example", "/%61pi/v1", "api"},
		{"shop.example", "//api//v1", "api"},
		{"other.example", "/w/1", "wild"},
		{"other.example", "/any", "any"}, // no path of its host
		{"a.other.example", "/w", "default"},
		{"example", "/w", "default"},
		{"", "/any/1", "any"},
		{"[fd00::1]:80", "/any", "any"},
		{"10.0.0.1", "*", "default"},
		{"10.0.0.1", "%zz", "default"},
	} {
		if r, ok := table.Choose(Request{Host: row.host, Target: row.target}); !ok || r.Object != row.want {
			t.Errorf("%s %s: got %+v, want %s", row.host, row.target, r, row.want)
		}
	}
	if r, ok := New(nil).Choose(Request{Host: "shop.example", Target: "/"}); ok {
		t.Errorf("an empty table has %+v", r)
	}
	if r, ok := new(Table).Choose(Request{Host: "shop.example", Target: "/"}); ok {
		t.Errorf("the zero table has %+v", r)
	}
}

func TestMethodsAndHeadersComeAfterPaths(t *testing.T) {
	beta := []Condition{{"X-Version", "beta", false}}
	table := New([]Route{
		{Object: "plain", Host: "*.example", Deep: true, Path: "/", Match: Prefix},
		{Object: "post", Host: "*.example", Deep: true, Path: "/", Match: Prefix, Method: "POST"},
		{Object: "beta", Host: "*.example", Deep: true, Path: "/", Match: Prefix, Headers: beta},
		{Object: "path", Host: "*.example", Deep: true, Path: "/x", Match: Prefix},
		{Object: "near", Host: "*.b.example", Path: "/near", Match: Prefix},
	})
	for _, row := range []struct{ host, target, method, version, want string }{
		{"a.example", "/", "", "", "plain"},
		{"a.b.c.example", "/", "GET", "", "plain"},
		{"a.example", "/", "POST", "beta", "post"},
		{"a.example", "/", "GET", "beta", "beta"},
		{"a.example", "/", "GET", "gamma", "plain"},
		{"a.example", "/x/1", "POST", "beta", "path"},
		{"a.b.example", "/near", "", "", "near"},
		{"c.a.b.example", "/near", "", "", "plain"},
		{"example", "/", "", "", ""},
	} {
		r, ok := table.Choose(Request{Host: row.host, Target: row.target, Method: row.method, Header: func(string) string { return row.version }})
		if ok != (row.want != "") || ok && r.Object != row.want {
			t.Errorf("%+v: got %+v", row, r)
		}
	}
}

func TestCertificatesAreForTheHostsOfRoutes(t *testing.T) {
	table := New([]Route{{Host: "shop.example", Path: "/", TLS: true}, {Host: "*.example", Path: "/", TLS: true}, {Host: "plain.example", Path: "/"}, {Path: "/", TLS: true},
		{Host: "*.deep", Deep: true, Path: "/", TLS: true}})
	for host, want := range map[string]string{"a.deep": "*.deep", "A.deep.:443": "*.deep", "a.b.deep": "", "deep": "", "shop.example": "shop.example", "plain.example": "*.example", "a.b.example": "", "": ""} {
		if got, ok := table.Certificate(host); got != want || ok != (want != "") {
			t.Errorf("%q: got %q, want %q", host, got, want)
		}
	}
}

// The order of HTTPRouteRule in the Gateway API, whatever the order of the routes is.
func TestPrecedenceIsThatOfTheGatewayAPI(t *testing.T) {
	yes := func(name string) Condition { return Condition{Name: name, Value: "1"} }
	routes := []Route{
		{Object: "http_route a", Path: "/x/y", Match: Exact},
		{Object: "http_route regular", Path: "/x/[xyz]", Match: Regular, Query: []Condition{yes("q")}},
		{Object: "http_route long", Path: "/x/y", Match: Prefix, Query: []Condition{yes("r")}},
		{Object: "http_route method", Path: "/x", Match: Prefix, Method: "GET", Query: []Condition{yes("s")}},
		{Object: "http_route headers", Path: "/x", Match: Prefix, Headers: []Condition{yes("A"), yes("B")}, Query: []Condition{yes("t")}},
		{Object: "http_route header", Path: "/x", Match: Prefix, Headers: []Condition{yes("A")}, Query: []Condition{yes("u"), yes("t")}},
		{Object: "http_route queries", Path: "/x", Match: Prefix, Query: []Condition{yes("v"), {Name: "w", Value: "1+", Pattern: true}}},
		{Object: "http_route z/a", Path: "/x", Match: Prefix, Headers: []Condition{yes("C")}},
		{Object: "http_route b/b", Path: "/x", Match: Prefix, Query: []Condition{yes("x")}},
		{Object: "http_route a", Path: "/x", Match: Prefix, Query: []Condition{yes("y")}, Order: 1},
		{Object: "http_route a", Path: "/x", Match: Prefix, Query: []Condition{yes("z")}, Order: 2},
	}
	header := func(has string) func(string) string {
		return func(name string) string {
			if strings.Contains(has, name) {
				return "1"
			}
			return ""
		}
	}
	for _, row := range []struct{ target, method, headers, want string }{
		{"/x/y?q=1&r=1&s=1", "", "ABC", "http_route a"},
		{"/x/z?q=1&r=1&s=1&t=1", "", "ABC", "http_route regular"},
		{"/x/y/z?q=1&r=1&s=1&t=1", "", "ABC", "http_route long"},
		{"/x/xx?q=1&r=1&s=1&t=1", "GET", "ABC", "http_route method"},
		{"/x?s=1&t=1&u=1", "PUT", "ABC", "http_route headers"},
		{"/x?t=1&u=1", "", "AC", "http_route header"},
		{"/x?v=1&w=11&x=1", "", "", "http_route queries"},
		{"/x?v=1&w=12&x=1&y=1", "", "", "http_route b/b"}, // before default/a
		{"/x?v=1&w=11", "", "C", "http_route z/a"},        // headers before query parameters
		{"/x?y=0&y=1", "", "", ""},
		{"/x?%zz=1&y=1&y=0", "", "", "http_route a"},
		{"/x", "", "", ""},
	} {
		for range routes {
			routes = append(routes[1:], routes[0])
			r, ok := New(routes).Choose(Request{Target: row.target, Method: row.method, Header: header(row.headers)})
			if ok != (row.want != "") || ok && r.Object != row.want {
				t.Errorf("%+v: got %+v", row, r)
			}
		}
	}
	for range routes {
		routes = append(routes[1:], routes[0])
		if r, _ := New(routes).Choose(Request{Target: "/x?y=1&z=1"}); r.Order != 1 {
			t.Errorf("got %+v", r)
		}
	}
}

func TestRoutesOfOneSchemeAreForNoOther(t *testing.T) {
	table := New([]Route{{Object: "plain", Path: "/", Match: Prefix, Only: HTTP}, {Object: "secure", Path: "/s", Match: Prefix, Only: HTTPS}, {Object: "both", Path: "/b", Match: Prefix}})
	for _, row := range []struct {
		target, plain, secure string
	}{{"/", "plain", ""}, {"/s", "plain", "secure"}, {"/b", "both", "both"}} {
		for secure, want := range map[bool]string{false: row.plain, true: row.secure} {
			r, ok := table.Choose(Request{Target: row.target, Secure: secure})
			if ok != (want != "") || ok && r.Object != want {
				t.Errorf("%s over TLS %v: got %+v, want %q", row.target, secure, r, want)
			}
		}
	}
}

func TestRoutesAreCoded(t *testing.T) {
	want := Route{Host: "*.example", Path: "/a", Match: Prefix, TLS: true, Object: "ingress a", Deep: true, Only: HTTPS, Method: "GET", Headers: []Condition{{"a", "b", false}}, Query: []Condition{{"c", "d", true}}, Order: 7, Backends: []Backend{
		{Service: "default/web:80", Weight: 3, Endpoints: []netip.AddrPort{netip.MustParseAddrPort("10.0.0.1:80"), netip.MustParseAddrPort("[fd00::1]:80")}}, {Service: "b", Weight: 1, Refused: true}}}
	w := coder.Writer(nil, 100)
	Code(w, &want)
	var got Route
	r := coder.Reader(string(w.Bytes()), new(coder.Memory))
	Code(r, &got)
	if r.Err() != nil || r.Left() > 0 || got.Key() != want.Key() || !got.Equal(want) || got.Words() != want.Words() {
		t.Errorf("%v: got %s\nwant %s", r.Err(), got.Words(), want.Words())
	}
}

func FuzzRequests(f *testing.F) {
	f.Add("shop.example", "/api")
	filters := Filters{Rewrite: Rewrite{Path: Replace{Prefix, "/new"}}, Redirect: &Redirect{Path: Replace{Prefix, ""}, Port: 8080}}
	table := New([]Route{{Host: "shop.example", Path: "/api", Match: Prefix, Filters: filters}, {Host: "*.example", Path: "/x", Match: Exact},
		{Path: "/[a-z]+", Match: Regular, Query: []Condition{{"q", "[0-9]+", true}}}, {Path: "/f", Match: Prefix, Filters: filters}})
	f.Fuzz(func(t *testing.T, host, target string) {
		r, ok := table.Choose(Request{Host: host, Target: target})
		if ok && r.Path == "/x" && Clean(target) != "/x" {
			t.Errorf("%q %q took %s", host, target, r.Words())
		}
		if ok && r.Filters.Redirect != nil {
			q := Request{Host: host, Target: target}
			if _, to := r.Rewritten(q); !strings.HasPrefix(to, "/new") {
				t.Errorf("%q is rewritten to %q", target, to)
			}
			if to := r.Location(q); !strings.HasPrefix(to, "http://"+hostname(host)+":8080/") {
				t.Errorf("%q of %q is redirected to %q", target, host, to)
			}
		}
		if c := Clean(target); c == "" || c[0] != '/' {
			t.Errorf("%q is %q", target, c)
		}
	})
}
