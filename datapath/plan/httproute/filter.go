package httproute

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/netlab/netlab/datapath/plan/coder"
)

// Filters are what a controller changes of the requests of a route and of their responses, or
// that it answers them itself with a redirect (HTTPRouteFilter in sigs.k8s.io/gateway-api/apis/v1).
type Filters struct {
	Request  Change    `json:"request,omitzero"`
	Response Change    `json:"response,omitzero"`
	Redirect *Redirect `json:"redirect,omitempty"`
	Rewrite  Rewrite   `json:"rewrite,omitzero"`
}

// Change is one of header fields. A field that is set loses the values that it had, and one that
// is added keeps them.
type Change struct {
	Set    []Header `json:"set,omitempty"`
	Add    []Header `json:"add,omitempty"`
	Remove []string `json:"remove,omitempty"`
}

// Fields are the header fields of a message.
type Fields interface {
	Set(name, value string)
	Add(name, value string)
	Del(name string)
}

// Apply changes the header fields of a message.
func (c Change) Apply(to Fields) {
	for _, h := range c.Set {
		to.Set(h.Name, h.Value)
	}
	for _, h := range c.Add {
		to.Add(h.Name, h.Value)
	}
	for _, name := range c.Remove {
		to.Del(name)
	}
}

// IsZero reports whether nothing is changed.
func (c Change) IsZero() bool { return len(c.Set)+len(c.Add)+len(c.Remove) == 0 }

func (c Change) words(of string) (list []string) {
	for _, h := range c.Set {
		list = append(list, fmt.Sprintf("sets %s %s: %q", of, h.Name, h.Value))
	}
	for _, h := range c.Add {
		list = append(list, fmt.Sprintf("adds %s %s: %q", of, h.Name, h.Value))
	}
	for _, name := range c.Remove {
		list = append(list, fmt.Sprintf("removes %s %s", of, name))
	}
	return list
}

// Replace is what stands for the path of a request, or for its part that the route compares. The
// zero Replace leaves it as it is.
type Replace struct {
	Match Match  `json:"match"` // Exact: all of the path
	With  string `json:"with"`
}

// in is the path and query of a request with the path replaced.
func (p Replace) in(r *Route, target string) string {
	asked, query, queried := strings.Cut(target, "?")
	switch p.Match {
	case Exact:
		asked = escaped(p.With)
	case Prefix:
		rest := strings.TrimPrefix(Clean(asked), r.elements())
		with := p.With
		if rest != "" {
			with = strings.TrimSuffix(with, "/")
		}
		asked = escaped(cmp.Or(with+rest, "/"))
	}
	if queried {
		asked += "?" + query
	}
	return asked
}

func (p Replace) words() []string {
	switch p.Match {
	case Exact:
		return []string{fmt.Sprintf("path %q", p.With)}
	case Prefix:
		return []string{fmt.Sprintf("path %q instead of its prefix", p.With)}
	}
	return nil
}

func escaped(path string) string { return (&url.URL{Path: path}).EscapedPath() }

// Rewrite is what an endpoint is asked for instead.
type Rewrite struct {
	Host string  `json:"host,omitempty"` // "": that of the request
	Path Replace `json:"path,omitzero"`
}

// Rewritten is the host and the path, with its query, that an endpoint of the route is asked for.
func (r *Route) Rewritten(q Request) (host, target string) {
	return cmp.Or(r.Filters.Rewrite.Host, q.Host), r.Filters.Rewrite.Path.in(r, q.Target)
}

// Redirect is an answer that leads elsewhere.
type Redirect struct {
	Scheme string  `json:"scheme,omitempty"` // "": that of the request
	Host   string  `json:"host,omitempty"`   // "": that of the request
	Port   uint16  `json:"port,omitempty"`   // 0: that of the scheme
	Path   Replace `json:"path,omitzero"`
	Status int     `json:"status"`
}

// Location is where a request is redirected to. A port is named unless it is the one that the
// scheme has anyway (HTTPRequestRedirectFilter); one that is not written is that of the listener,
// 80 or 443, or of the scheme.
func (r *Route) Location(q Request) string {
	d := r.Filters.Redirect
	scheme := cmp.Or(d.Scheme, string(q.scheme()))
	host := cmp.Or(d.Host, hostname(q.Host))
	if d.Port != 0 && d.Port != map[string]uint16{"http": 80, "https": 443}[scheme] {
		host += ":" + strconv.Itoa(int(d.Port))
	}
	return scheme + "://" + host + d.Path.in(r, q.Target)
}

// hostname is a host without its port.
func hostname(host string) string {
	if i := strings.LastIndexByte(host, ':'); i > strings.LastIndexByte(host, ']') {
		return host[:i]
	}
	return host
}

// Words describes what is changed; nothing: nothing.
func (f *Filters) Words() string {
	list := f.Request.words("the header")
	if to := f.Rewrite; to != (Rewrite{}) {
		var parts []string
		if to.Host != "" {
			parts = append(parts, fmt.Sprintf("host %q", to.Host))
		}
		list = append(list, "asks for "+strings.Join(append(parts, to.Path.words()...), " and "))
	}
	if to := f.Redirect; to != nil {
		parts := []string{fmt.Sprintf("redirects with status %d", to.Status)}
		if to.Scheme != "" {
			parts = append(parts, "scheme "+to.Scheme)
		}
		if to.Host != "" {
			parts = append(parts, fmt.Sprintf("host %q", to.Host))
		}
		if to.Port != 0 {
			parts = append(parts, fmt.Sprintf("port %d", to.Port))
		}
		list = append(list, strings.Join(append(parts, to.Path.words()...), ", "))
	}
	return strings.Join(append(list, f.Response.words("the header of the response")...), "; ")
}

// equal reports whether the same is changed.
func (f *Filters) equal(b *Filters) bool {
	same := func(x, y Change) bool {
		return slices.Equal(x.Set, y.Set) && slices.Equal(x.Add, y.Add) && slices.Equal(x.Remove, y.Remove)
	}
	if (f.Redirect == nil) != (b.Redirect == nil) || f.Redirect != nil && *f.Redirect != *b.Redirect {
		return false
	}
	return same(f.Request, b.Request) && same(f.Response, b.Response) && f.Rewrite == b.Rewrite
}

func codeFilters(c *coder.Coder, f *Filters) {
	change := func(v *Change) {
		coder.List(c, &v.Set, codeHeader)
		coder.List(c, &v.Add, codeHeader)
		coder.Strings(c, &v.Remove)
	}
	replace := func(v *Replace) {
		coder.String(c, &v.Match)
		coder.String(c, &v.With)
	}
	change(&f.Request)
	change(&f.Response)
	coder.String(c, &f.Rewrite.Host)
	replace(&f.Rewrite.Path)
	redirects := f.Redirect != nil
	if c.Bool(&redirects); !redirects {
		return
	}
	if c.Reading() {
		f.Redirect = &Redirect{}
	}
	d := f.Redirect
	coder.String(c, &d.Scheme)
	coder.String(c, &d.Host)
	coder.Int(c, &d.Port)
	replace(&d.Path)
	coder.Int(c, &d.Status)
}

func codeCondition(c *coder.Coder, v *Condition) {
	coder.String(c, &v.Name)
	coder.String(c, &v.Value)
	c.Bool(&v.Pattern)
}

func codeHeader(c *coder.Coder, h *Header) {
	coder.String(c, &h.Name)
	coder.String(c, &h.Value)
}
