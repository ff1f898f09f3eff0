package httproute

import (
	"cmp"
	"net"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/netlab/netlab/datapath/plan/ordered"
)

// Table is the routes of a controller. The zero Table has none.
type Table struct {
	hosts map[string][]Route // by host, the one that is asked first at the front
	// patterns are the regular expressions of the routes; nil: it is none.
	patterns map[string]*regexp.Regexp
	others   *Route // the default one
}

// New returns a table of routes.
func New(routes []Route) *Table {
	t := &Table{hosts: map[string][]Route{}, patterns: map[string]*regexp.Regexp{}}
	for _, r := range routes {
		if r.Default {
			t.others = &r
			continue
		}
		t.compile(&r)
		host := r.Host
		if r.Deep {
			host = "*" + host
		}
		t.hosts[host] = append(t.hosts[host], r)
	}
	for _, list := range t.hosts {
		slices.SortStableFunc(list, precedence)
	}
	return t
}

// compile compiles the regular expressions of a route.
func (t *Table) compile(r *Route) {
	add := func(text string) { t.patterns[text], _ = regexp.Compile(`^(?:` + text + `)$`) }
	if r.Match == Regular {
		add(r.Path)
	}
	for _, c := range slices.Concat(r.Headers, r.Query) {
		if c.Pattern {
			add(c.Value)
		}
	}
}

// fits reports whether a regular expression matches all of a text.
func (t *Table) fits(pattern, text string) bool {
	p := t.patterns[pattern]
	return p != nil && p.MatchString(text)
}

// matches are the ways to compare paths, that which takes precedence first. Where regular
// expressions come is a matter of the implementation.
var matches = []Match{Exact, Regular, Prefix}

// precedence puts the exact path first, then the longer prefix, then what wants a method, then
// what wants more headers, then more query parameters (HTTPRouteRule in the Gateway API). Of
// others the first by namespace and name takes the request: the objects of a lab are of one age.
func precedence(a, b Route) int {
	return cmp.Or(cmp.Compare(slices.Index(matches, a.Match), slices.Index(matches, b.Match)), cmp.Compare(len(b.elements()), len(a.elements())),
		ordered.Bools(a.Method == "", b.Method == ""), cmp.Compare(len(b.Headers), len(a.Headers)), cmp.Compare(len(b.Query), len(a.Query)),
		cmp.Compare(a.name(), b.name()), cmp.Compare(a.Order, b.Order))
}

// name is the object of a route with its namespace.
func (r *Route) name() string {
	kind, name, _ := strings.Cut(r.Object, " ")
	if !strings.Contains(name, "/") {
		name = "default/" + name
	}
	return kind + " " + name
}

// Request is what a route is chosen by.
type Request struct {
	Host   string                   // with a port or without
	Target string                   // the path and query as they are sent
	Secure bool                     // it came over TLS
	Method string                   // "": GET
	Header func(name string) string // nil: it has none that routes ask for
}

// elements is the path of a route as it is compared: a slash at the end of a prefix counts for
// nothing.
func (r *Route) elements() string {
	if r.Match == Prefix {
		return strings.TrimSuffix(r.Path, "/")
	}
	return r.Path
}

// Choose returns the route of a request; false: none. A host that is written takes precedence
// over a wildcard, and that over any host; among the paths of a host the longest does
// (IngressRule in k8s.io/api/networking/v1). Where no path of a host matches, those of less
// specific hosts are asked.
func (t *Table) Choose(q Request) (*Route, bool) {
	asked := Clean(q.Target)
	for _, h := range candidates(q.Host) {
		for i := range t.hosts[h] {
			if r := &t.hosts[h][i]; t.takes(r, asked) && t.wants(r, q) {
				return r, true
			}
		}
	}
	return t.others, t.others != nil
}

// scheme is how the request comes.
func (q *Request) scheme() Scheme {
	if q.Secure {
		return HTTPS
	}
	return HTTP
}

// wants reports whether a request has the scheme, the method, the headers and the query of a route.
// Of a query parameter that is there twice the first counts.
func (t *Table) wants(r *Route, q Request) bool {
	if r.Only != "" && r.Only != q.scheme() {
		return false
	}
	if r.Method != "" && r.Method != cmp.Or(q.Method, "GET") {
		return false
	}
	has := func(c Condition, value string) bool {
		return c.Pattern && value != "" && t.fits(c.Value, value) || !c.Pattern && value == c.Value
	}
	if slices.ContainsFunc(r.Headers, func(c Condition) bool { return q.Header == nil || !has(c, q.Header(c.Name)) }) {
		return false
	}
	if len(r.Query) == 0 {
		return true
	}
	_, text, _ := strings.Cut(q.Target, "?")
	query, _ := url.ParseQuery(text) // what is valid of it
	return !slices.ContainsFunc(r.Query, func(c Condition) bool { return !has(c, query.Get(c.Name)) })
}

// Certificate is the name in the certificate for a host: the host itself, or its wildcard;
// false: it has none.
func (t *Table) Certificate(host string) (string, bool) {
	all := candidates(host)
	for _, h := range all {
		if h == "" || !slices.ContainsFunc(t.hosts[h], func(r Route) bool { return r.TLS }) {
			continue
		}
		name, deep := strings.CutPrefix(h, "*")
		if deep = deep && name[0] == '*'; !deep {
			return h, true
		}
		if name == all[1] { // of any number of labels, a certificate covers one
			return name, true
		}
	}
	return "", false
}

// maxLabels bounds the labels of a host that are looked at: no name has more.
const maxLabels = 128

// candidates are the hosts of routes that a host matches, the most specific first.
func candidates(host string) []string {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	list := []string{host}
	for rest, first := host, true; ; first = false {
		var dotted bool
		if _, rest, dotted = strings.Cut(rest, "."); !dotted || len(list) > maxLabels {
			break
		}
		if first {
			list = append(list, "*."+rest)
		}
		list = append(list, "**."+rest)
	}
	if host != "" {
		list = append(list, "")
	}
	return list
}

func (t *Table) takes(r *Route, asked string) bool {
	if r.Match == Regular {
		return t.fits(r.Path, asked)
	}
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
