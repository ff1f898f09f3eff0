package occupant

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/netlab/netlab/datapath/plan/origin"
)

// Agent is a set of sockets in a namespace that answer on all its addresses, or on some, with
// their own name and the client address that they saw.
type Agent struct {
	Name   string   `json:"name"`           // web-0, laptop; outside the namespace default: db/web-0
	Node   string   `json:"node,omitempty"` // the node that it runs on; empty for clients
	Listen []Listen `json:"listen"`
	// At is the only address that it answers at; not valid: all of the namespace.
	At netip.Addr `json:"at,omitzero"`
	// Health makes the agent answer as a health check node port does, over HTTP on
	// its only socket.
	Health Health `json:"health,omitzero"`
	// DNS makes the agent a name server: it answers queries from the records of its
	// namespace, and nothing else.
	DNS bool `json:"dns,omitempty"`
	// Ingress makes the agent an ingress controller: it passes HTTP requests on as the routes
	// of its namespace say.
	Ingress Ingress    `json:"ingress,omitzero"`
	Origin  origin.Ref `json:"origin,omitzero"`
}

// Health is the answer of a health check node port: 200 when LocalEndpoints is not 0,
// else 503 (kubernetes pkg/proxy/healthcheck). The zero Health means an ordinary agent.
type Health struct {
	Namespace      string `json:"namespace"`
	Service        string `json:"service"`
	LocalEndpoints int    `json:"localEndpoints"`
}

// Ingress is where an ingress controller listens. The zero Ingress means an agent that is none.
type Ingress struct {
	HTTP  uint16 `json:"http"`
	HTTPS uint16 `json:"https"`
	// ProxyProtocol says that every connection begins with a header of the PROXY protocol, by
	// which a load balancer names its client.
	ProxyProtocol bool `json:"proxyProtocol,omitempty"`
}

// Listen is one listening socket of an agent.
type Listen struct {
	Protocol string // tcp, udp or sctp
	Port     uint16
}

func listenWords(list []Listen) string {
	ports := make([]string, 0, len(list))
	for _, l := range list {
		ports = append(ports, fmt.Sprintf("%s/%d", l.Protocol, l.Port))
	}
	return strings.Join(ports, ", ")
}

// Words describes the agent, for plans and findings.
func (a Agent) Words() string {
	s := a.Name + " (" + listenWords(a.Listen) + ")"
	if a.At.IsValid() {
		s += " at " + a.At.String()
	}
	if a.Node != "" {
		s += " on " + a.Node
	}
	if a.Health != (Health{}) {
		s += fmt.Sprintf(" answers health checks of %s/%s: local endpoints %d", a.Health.Namespace, a.Health.Service, a.Health.LocalEndpoints)
	}
	if a.DNS {
		s += " answers DNS queries"
	}
	if a.Ingress != (Ingress{}) {
		s += " passes HTTP requests on"
		if a.Ingress.ProxyProtocol {
			s += ", behind the PROXY protocol"
		}
	}
	return s
}

// Equal reports whether two agents differ in nothing but their origin.
func (a Agent) Equal(b Agent) bool {
	return a.Node == b.Node && a.At == b.At && a.Health == b.Health && a.DNS == b.DNS && a.Ingress == b.Ingress && slices.Equal(a.Listen, b.Listen)
}

// MarshalText returns the socket as tcp/80.
func (l Listen) MarshalText() ([]byte, error) {
	return fmt.Appendf(nil, "%s/%d", l.Protocol, l.Port), nil
}

// MarshalJSON lists what the agent listens on, even if it is nothing.
func (a Agent) MarshalJSON() ([]byte, error) {
	type bare Agent
	a.Listen = append([]Listen{}, a.Listen...)
	return json.Marshal(bare(a))
}
