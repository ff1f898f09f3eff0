package httproute

import (
	"net"
	"net/url"
	"path"
	"slices"
	"strings"
)

// Table is the routes of a controller. The zero Table has none.
type Table struct {
	hosts  map[string][]Route // by host, the one that is asked first at the front
	others *Route             // the default one
}

// New returns a table of routes.
func New(routes []Route) *Table {
	t := &Table{hosts: map[string][]Route{}}
	for _, r := range routes {
		if r.Default {
			t.others = &r
			continue
		}
		t.hosts[r.Host] = append(t.hosts[r.Host], r)
	}
	for _, list := range t.hosts {
		slices.SortStableFunc(list, precedence)
	}
	return t
}

// precedence puts the longer path first, and of two equal ones that which matches exactly.
func precedence(a, b Route) int {
	if n := len(b.elements()) - len(a.elements()); n != 0 {
		return n
	}
	return strings.Compare(string(a.Match), string(b.Match))
}

// elements is the path of a route as it is compared: a slash at the end of a prefix counts for
// nothing.
func (r *Route) elements() string {
	if r.Match == Prefix {
		return strings.TrimSuffix(r.Path, "/")
	}
	return r.Path
}

// Choose returns the route of a request, by its host, with a port or without, and its path as
// it is sent; false: none. A host that is written takes precedence over a wildcard, and that
// over any host; among the paths of a host the longest does (IngressRule in
// k8s.io/api/networking/v1). Where no path of a host matches, those of less specific hosts are
// asked.
func (t *Table) Choose(host, target string) (*Route, bool) {
	asked := Clean(target)
	for _, h := range candidates(host) {
		for i := range t.hosts[h] {
			if r := &t.hosts[h][i]; r.takes(asked) {
				return r, true
			}
		}
	}
	return t.others, t.others != nil
}

// Certificate is the name in the certificate for a host: the host itself, or its wildcard;
// false: it has none.
func (t *Table) Certificate(host string) (string, bool) {
	for _, h := range candidates(host) {
		if h != "" && slices.ContainsFunc(t.hosts[h], func(r Route) bool { return r.TLS }) {
			return h, true
		}
	}
	return "", false
}

// candidates are the hosts of routes that a host matches, the most specific first.
func candidates(host string) []string {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	list := []string{host}
	if _, rest, dotted := strings.Cut(host, "."); dotted {
		list = append(list, "*."+rest)
	}
	if host != "" {
		list = append(list, "")
	}
	return list
}

func (r *Route) takes(asked string) bool {
	of := r.elements()
	if r.Match == Exact {
		return asked == of
	}
	return asked == of || strings.HasPrefix(asked, of+"/")
}

// Clean is the path of a request as it is compared: without query, escapes, double slashes and
// dots, as a server will take it. What is no path is "/".
func Clean(target string) string {
	target, _, _ = strings.Cut(target, "?")
	if plain, err := url.PathUnescape(target); err == nil {
		target = plain
	}
	clean := path.Clean("/" + target)
	if strings.HasSuffix(target, "/") && clean != "/" {
		clean += "/"
	}
	return clean
}
