package occupant

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/netlab/netlab/datapath/plan/coder"
	"github.com/netlab/netlab/datapath/plan/origin"
)

// ProxyPort is a socket of a proxy in user space: a program of the namespace, which the
// engine runs, takes the connections that rules redirect to it and makes another for each,
// from the namespace itself, to the next of some endpoints.
type ProxyPort struct {
	Service   string           `json:"service"`  // default/web:http
	Protocol  string           `json:"protocol"` // tcp or udp
	At        netip.AddrPort   `json:"at"`       // an unspecified address: all of its family
	Endpoints []netip.AddrPort `json:"endpoints,omitempty"`
	// Balancer says that it is a load balancer outside of the cluster, whose endpoints are node
	// ports: it makes one attempt to connect. Check is how it finds those that get connections;
	// zero: all do.
	Balancer bool  `json:"balancer,omitempty"`
	Check    Check `json:"check,omitzero"`
	// Affinity is for how many seconds a client stays with its endpoint; 0: it does not.
	Affinity int        `json:"affinity,omitempty"`
	Origin   origin.Ref `json:"origin,omitzero"`
}

// Check connects to every endpoint, again and again. As many checks in a row as the thresholds
// say change the verdict; after a change of the lab one that succeeds is enough.
type Check struct {
	Interval  time.Duration `json:"interval"`
	Timeout   time.Duration `json:"timeout"`
	Healthy   int           `json:"healthy"`
	Unhealthy int           `json:"unhealthy"`
}

// Takes reports whether the socket receives what is for an address.
func (p *ProxyPort) Takes(proto string, to netip.AddrPort) bool {
	addr := p.At.Addr()
	return p.Protocol == proto && p.At.Port() == to.Port() && (addr == to.Addr() || addr.IsUnspecified() && addr.Is6() == to.Addr().Is6())
}

// Socket is what a proxy port keeps while all else about it changes.
type Socket struct {
	Protocol string
	At       netip.AddrPort
}

// Socket is where the proxy port listens.
func (p ProxyPort) Socket() Socket { return Socket{p.Protocol, p.At} }

// Equal reports whether two of the same socket differ in nothing but their origin.
func (p ProxyPort) Equal(b ProxyPort) bool {
	return p.Service == b.Service && p.Affinity == b.Affinity && p.Balancer == b.Balancer && p.Check == b.Check && slices.Equal(p.Endpoints, b.Endpoints)
}

// Called is the proxy, for a sentence.
func (p *ProxyPort) Called() string {
	if p.Balancer {
		return "the load balancer of " + p.Service
	}
	return "the proxy of " + p.Service
}

// Words describes the proxy port, for plans and findings.
func (p *ProxyPort) Words() string {
	text := fmt.Sprintf("%s %s for %s", p.Protocol, p.At, p.Service)
	if p.Balancer {
		text += " of a load balancer"
	}
	if len(p.Endpoints) == 0 {
		return text + ": no endpoint"
	}
	var list []string
	for _, e := range p.Endpoints {
		list = append(list, e.String())
	}
	text += ": " + strings.Join(list, ", ") + " in turn"
	if p.Affinity > 0 {
		text += fmt.Sprintf(", the same for each client for %d s", p.Affinity)
	}
	if c := p.Check; c != (Check{}) {
		text += fmt.Sprintf(", of those that answer a check every %s within %s, in again after %d, out after %d", c.Interval, c.Timeout, c.Healthy, c.Unhealthy)
	}
	return text
}

// CodeProxyPort reads or writes a proxy port.
func CodeProxyPort(c *coder.Coder, p *ProxyPort) {
	c.Origin(&p.Origin)
	coder.String(c, &p.Service)
	coder.String(c, &p.Protocol)
	c.AddrPort(&p.At)
	coder.List(c, &p.Endpoints, (*coder.Coder).AddrPort)
	coder.Int(c, &p.Affinity)
	c.Bool(&p.Balancer)
	coder.Int(c, &p.Check.Interval)
	coder.Int(c, &p.Check.Timeout)
	coder.Int(c, &p.Check.Healthy)
	coder.Int(c, &p.Check.Unhealthy)
}
