package plan

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/netlab/netlab/datapath/plan/coder"
)

// ProxyPort is a socket of a proxy in user space: a program of the namespace, which the
// engine runs, takes the connections that rules redirect to it and makes another for each,
// from the namespace itself, to the next of some endpoints.
type ProxyPort struct {
	Service   string           `json:"service"`  // default/web:http
	Protocol  string           `json:"protocol"` // tcp or udp
	At        netip.AddrPort   `json:"at"`       // an unspecified address: all of its family
	Endpoints []netip.AddrPort `json:"endpoints,omitempty"`
	// Affinity is for how many seconds a client stays with its endpoint; 0: it does not.
	Affinity int    `json:"affinity,omitempty"`
	Origin   Origin `json:"origin,omitzero"`
}

// Takes reports whether the socket receives what is for an address.
func (p *ProxyPort) Takes(proto string, to netip.AddrPort) bool {
	addr := p.At.Addr()
	return p.Protocol == proto && p.At.Port() == to.Port() && (addr == to.Addr() || addr.IsUnspecified() && addr.Is6() == to.Addr().Is6())
}

// socket is what a proxy port keeps while all else about it changes.
type socket struct {
	protocol string
	at       netip.AddrPort
}

func (p *ProxyPort) socket() socket { return socket{p.Protocol, p.At} }

func sameProxyPort(a, b ProxyPort) bool {
	return a.Service == b.Service && a.Affinity == b.Affinity && slices.Equal(a.Endpoints, b.Endpoints)
}

func (p *ProxyPort) words() string {
	text := fmt.Sprintf("%s %s for %s", p.Protocol, p.At, p.Service)
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
	return text
}

func codeProxyPort(c *coder.Coder, p *ProxyPort) {
	c.Origin(&p.Origin)
	coder.String(c, &p.Service)
	coder.String(c, &p.Protocol)
	c.AddrPort(&p.At)
	coder.List(c, &p.Endpoints, (*coder.Coder).AddrPort)
	coder.Int(c, &p.Affinity)
}
