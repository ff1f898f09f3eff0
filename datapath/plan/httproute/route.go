package httproute

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/netlab/netlab/datapath/plan/coder"
	"github.com/netlab/netlab/datapath/plan/ordered"
	"github.com/netlab/netlab/datapath/plan/origin"
)

// Match says how the path of a route is compared with that of a request.
type Match string

// The ways to compare paths (PathType of networking.k8s.io/v1).
const (
	Exact  Match = "Exact"  // the whole path
	Prefix Match = "Prefix" // its first elements, between slashes
	// Regular is a regular expression (RE2) for the whole path, as only the Gateway API has it.
	Regular Match = "RegularExpression"
)

// Scheme is how a request comes.
type Scheme string

// The schemes.
const (
	HTTP  Scheme = "http"
	HTTPS Scheme = "https"
)

// Attempts is how many endpoints a controller tries before it answers with an error, as nginx
// does for ingress-nginx (proxy-next-upstream-tries).
const Attempts = 3

// Route leads requests for a host and a path to endpoints of services.
type Route struct {
	Host string `json:"host,omitempty"` // shop.example, or *.example for one label more; "": any
	// Deep makes the wildcard stand for any number of labels, as in the Gateway API.
	Deep bool `json:"deep,omitempty"`
	// Only says that the route is for requests of one scheme; empty: of both.
	Only  Scheme `json:"only,omitempty"`
	Path  string `json:"path"`
	Match Match  `json:"match"`
	// Method, Headers and Query are what requests must have besides.
	Method  string      `json:"method,omitempty"`
	Headers []Condition `json:"headers,omitempty"`
	Query   []Condition `json:"query,omitempty"`
	// Order is the place of the route in its object: of two that nothing else tells apart, the
	// first takes a request.
	Order int `json:"order,omitempty"`
	// Default makes it the route of requests that match no other one.
	Default  bool      `json:"default,omitempty"`
	TLS      bool      `json:"tls,omitempty"` // the host has a certificate
	Filters  Filters   `json:"filters,omitzero"`
	Backends []Backend `json:"backends"` // none of a redirect; else none is status 500
	// Object is what the route is part of: ingress default/shop.
	Object string     `json:"object"`
	Origin origin.Ref `json:"origin,omitzero"`
}

// Condition is a value that a header field or a query parameter must have.
type Condition struct {
	Name    string `json:"name"`
	Value   string `json:"value"`
	Pattern bool   `json:"pattern,omitempty"` // the value is a regular expression for all of it
}

// String is the condition in one word: name=value, or name~pattern.
func (c Condition) String() string {
	if c.Pattern {
		return c.Name + " ~ " + c.Value
	}
	return c.Name + ": " + c.Value
}

// Header is a field of a request.
type Header struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Backend is a port of a service, with the share of a route's requests that it gets.
type Backend struct {
	Service   string           `json:"service"` // default/web:http
	Weight    int              `json:"weight"`
	Refused   bool             `json:"refused,omitempty"` // of another namespace, and not granted
	Endpoints []netip.AddrPort `json:"endpoints"`
}

// Key is what no two routes of a controller share.
type Key struct {
	Host, Path string
	Match      Match
	Default    bool
	Deep       bool
	Method     string
	Conditions string
	Only       Scheme
}

// Key is what tells the route from others.
func (r Route) Key() Key {
	return Key{r.Host, r.Path, r.Match, r.Default, r.Deep, r.Method, r.conditions(), r.Only}
}

// conditions are the values that requests must have, as text.
func (r *Route) conditions() string {
	var list []string
	for _, h := range r.Headers {
		list = append(list, h.String())
	}
	for _, q := range r.Query {
		list = append(list, "?"+q.String())
	}
	return strings.Join(list, ", ")
}

// Equal reports whether two of the same key differ in nothing but their origin.
func (r Route) Equal(b Route) bool {
	return r.TLS == b.TLS && r.Object == b.Object && r.Order == b.Order && r.Filters.equal(&b.Filters) && slices.EqualFunc(r.Backends, b.Backends, func(x, y Backend) bool {
		return x.Service == y.Service && x.Weight == y.Weight && x.Refused == y.Refused && slices.Equal(x.Endpoints, y.Endpoints)
	})
}

// Compare orders routes by host and path.
func (r Route) Compare(b Route) int {
	return cmp.Or(cmp.Compare(r.Host, b.Host), cmp.Compare(r.Path, b.Path), cmp.Compare(r.Match, b.Match), ordered.Bools(r.Default, b.Default),
		ordered.Bools(r.Deep, b.Deep), cmp.Compare(r.Method, b.Method), cmp.Compare(r.conditions(), b.conditions()), cmp.Compare(r.Only, b.Only))
}

// Where describes the requests of the route: shop.example/api (Prefix), or **.example/api for
// any number of labels.
func (r *Route) Where() string {
	if r.Default {
		return "all other requests"
	}
	host := cmp.Or(r.Host, "*")
	if r.Deep {
		host = "*" + host
	}
	if r.Only != "" {
		host = string(r.Only) + "://" + host
	}
	text := fmt.Sprintf("%s%s (%s", host, r.Path, r.Match)
	if r.Method != "" {
		text += ", " + r.Method
	}
	if more := r.conditions(); more != "" {
		text += ", " + more
	}
	return text + ")"
}

// Words describes the route, for plans and findings.
func (r *Route) Words() string {
	text := fmt.Sprintf("%s of %s", r.Where(), r.Object)
	if r.TLS && r.Only == "" {
		text += ", also with TLS"
	}
	if filters := r.Filters.Words(); filters != "" {
		text += ", " + filters
	}
	if len(r.Backends) == 0 && r.Filters.Redirect == nil {
		text += ": no backend"
	}
	for i, b := range r.Backends {
		text += [...]string{": ", "; "}[min(i, 1)] + b.Service
		if len(r.Backends) > 1 {
			text += fmt.Sprintf(" (weight %d)", b.Weight)
		}
		if b.Refused {
			text += " is not granted"
			continue
		}
		if len(b.Endpoints) == 0 {
			text += " has no endpoint"
			continue
		}
		var list []string
		for _, e := range b.Endpoints {
			list = append(list, e.String())
		}
		text += " at " + strings.Join(list, ", ")
	}
	return text
}

// Code codes a route.
func Code(c *coder.Coder, r *Route) {
	c.Origin(&r.Origin)
	coder.String(c, &r.Host)
	coder.String(c, &r.Path)
	coder.String(c, &r.Match)
	coder.String(c, &r.Only)
	c.Bool(&r.Default)
	c.Bool(&r.TLS)
	c.Bool(&r.Deep)
	coder.String(c, &r.Method)
	coder.List(c, &r.Headers, codeCondition)
	coder.List(c, &r.Query, codeCondition)
	coder.Int(c, &r.Order)
	codeFilters(c, &r.Filters)
	coder.String(c, &r.Object)
	coder.List(c, &r.Backends, func(c *coder.Coder, b *Backend) {
		coder.String(c, &b.Service)
		coder.Int(c, &b.Weight)
		c.Bool(&b.Refused)
		coder.List(c, &b.Endpoints, (*coder.Coder).AddrPort)
	})
}
