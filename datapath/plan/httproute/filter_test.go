package httproute

import (
	"net/http"
	"reflect"
	"testing"

	"github.com/netlab/netlab/datapath/plan/coder"
)

// The table of HTTPPathModifier in sigs.k8s.io/gateway-api/apis/v1, and what it leaves open.
func TestThePrefixOfAPathIsReplaced(t *testing.T) {
	for _, row := range []struct{ asked, prefix, with, want string }{
		{"/foo/bar", "/foo", "/xyz", "/xyz/bar"},
		{"/foo/bar", "/foo", "/xyz/", "/xyz/bar"},
		{"/foo/bar", "/foo/", "/xyz", "/xyz/bar"},
		{"/foo/bar", "/foo/", "/xyz/", "/xyz/bar"},
		{"/foo", "/foo", "/xyz", "/xyz"},
		{"/foo/", "/foo", "/xyz", "/xyz/"},
		{"/foo/bar", "/foo", "", "/bar"},
		{"/foo/", "/foo", "", "/"},
		{"/foo", "/foo", "", "/"},
		{"/foo/", "/foo", "/", "/"},
		{"/foo", "/foo", "/", "/"},
		{"/foo?a=b", "/foo", "/xyz", "/xyz?a=b"},
		{"/a/../foo/%20b", "/foo", "/xyz", "/xyz/%20b"},
		{"/", "/", "/xyz", "/xyz/"},
	} {
		r := Route{Path: row.prefix, Match: Prefix, Filters: Filters{Rewrite: Rewrite{Path: Replace{Prefix, row.with}}}}
		if _, got := r.Rewritten(Request{Target: row.asked}); got != row.want {
			t.Errorf("%s with %s instead of %s: got %s, want %s", row.asked, row.with, row.prefix, got, row.want)
		}
	}
	r := Route{Path: "/", Match: Prefix, Filters: Filters{Rewrite: Rewrite{Host: "b", Path: Replace{Exact, "/all of it"}}}}
	if host, path := r.Rewritten(Request{Host: "a:80", Target: "/x/y?z"}); host != "b" || path != "/all%20of%20it?z" {
		t.Errorf("got %s %s", host, path)
	}
	if host, path := new(Route).Rewritten(Request{Host: "a:80", Target: "//x/%2e?z"}); host != "a:80" || path != "//x/%2e?z" {
		t.Errorf("without a filter: got %s %s", host, path)
	}
}

func TestRedirectsLeadElsewhere(t *testing.T) {
	for _, row := range []struct {
		to     Redirect
		host   string
		secure bool
		want   string
	}{
		{Redirect{Scheme: "https"}, "a.example:8080", false, "https://a.example/x/y?q"},
		{Redirect{Scheme: "https", Port: 443}, "a.example", false, "https://a.example/x/y?q"},
		{Redirect{Scheme: "https", Port: 80}, "a.example", false, "https://a.example:80/x/y?q"},
		{Redirect{Port: 8080}, "[fd00::1]:80", true, "https://[fd00::1]:8080/x/y?q"},
		{Redirect{Host: "b.example"}, "a.example", true, "https://b.example/x/y?q"},
		{Redirect{Host: "b.example", Path: Replace{Exact, "/z"}}, "", false, "http://b.example/z?q"},
		{Redirect{Path: Replace{Prefix, "/z"}}, "[fd00::1]", false, "http://[fd00::1]/z/y?q"},
	} {
		r := Route{Path: "/x", Match: Prefix, Filters: Filters{Redirect: &row.to}}
		if got := r.Location(Request{Host: row.host, Target: "/x/y?q", Secure: row.secure}); got != row.want {
			t.Errorf("%+v: got %s, want %s", row, got, row.want)
		}
	}
}

func TestFiltersAreCodedAndCompared(t *testing.T) {
	change := Change{Set: []Header{{"A", "1"}}, Add: []Header{{"B", "2"}}, Remove: []string{"C"}}
	h := http.Header{"A": {"0"}, "B": {"0"}, "C": {"0"}}
	if change.Apply(h); !reflect.DeepEqual(h, http.Header{"A": {"1"}, "B": {"0", "2"}}) {
		t.Errorf("got %v", h)
	}
	all := []Filters{{}, {Request: change}, {Response: change}, {Rewrite: Rewrite{"a", Replace{Exact, "/"}}}, {Redirect: &Redirect{"https", "a", 1, Replace{Prefix, ""}, 301}}, {Redirect: &Redirect{}}}
	for i := range all {
		w := coder.Writer(nil, 100)
		codeFilters(w, &all[i])
		var got Filters
		r := coder.Reader(string(w.Bytes()), new(coder.Memory))
		codeFilters(r, &got)
		for k := range all {
			if same := got.equal(&all[k]); r.Err() != nil || r.Left() > 0 || same != (i == k) || (got.Words() == all[k].Words()) != same {
				t.Errorf("%v: %q is equal to %q: %v", r.Err(), got.Words(), all[k].Words(), same)
			}
		}
	}
}
