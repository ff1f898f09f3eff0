// Package flow holds the vocabulary that prediction and observation share: a flow to
// dial, and its result. Standard library only; it knows neither the lab nor the kernel.
package flow

import (
	"net/netip"
	"strings"
	"time"
)

// Protocol is the transport protocol of a flow.
type Protocol string

// The protocols that a flow can have.
const (
	TCP  Protocol = "tcp"
	UDP  Protocol = "udp"
	SCTP Protocol = "sctp"
)

// Outcome says how a connection attempt ended, in the terms of Kubernetes' agnhost
// connect.
type Outcome string

// The outcomes.
const (
	Connected   Outcome = "connected"
	Refused     Outcome = "refused"     // TCP reset on SYN, or ICMP port unreachable
	Timeout     Outcome = "timeout"     // no answer before the deadline
	Unreachable Outcome = "unreachable" // no route, or ICMP host, net or admin unreachable
	Reset       Outcome = "reset"       // connected, then reset before the answer
	DNS         Outcome = "dns"         // the name did not resolve
	Failed      Outcome = "failed"      // the probe itself broke; Err says how
)

// Flow is one connection attempt.
type Flow struct {
	From string // network namespace of the dialer, as in the plan
	To   netip.AddrPort
	// Lookup is how the dialer finds the address of To, if it has a name; nil: it knows it. If
	// the answer has other addresses, the first of these is dialed.
	Lookup   *Lookup
	Protocol Protocol
	// Path makes the flow an HTTP GET request for it, over TCP; empty: the dialer sends
	// a line asking for the server's identity.
	Path string
	// Host is that of the request; empty: the address. TLS makes it HTTPS: the dialer
	// trusts the lab's certificates, and expects one for the host.
	Host string
	TLS  bool
	// Sends are more header fields of the request.
	Sends Fields
	// Proxied is the PROXY protocol's header that comes first, as a load balancer sends
	// it; zero: none.
	Proxied Proxied
	// Upload makes the dialer of a stream send that many bytes before the answer; 0:
	// only its request.
	Upload int
	// Within is how long to wait for the answer.
	Within time.Duration
	// Once counts a TCP connection as timed out whose first packet had to be sent again,
	// as happens a second after it was dropped: what the rules choose at random, they then
	// choose anew.
	Once bool
}

// Fields are header fields of a request, each "Name: value" on a line of its own.
type Fields string

// Get is the value of a field, whose name is compared without case; "": there is none.
func (f Fields) Get(name string) string {
	for line := range strings.Lines(string(f)) {
		if n, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": "); strings.EqualFold(n, name) {
			return value
		}
	}
	return ""
}

// Proxied is a header of the PROXY protocol: the client for which a load balancer has made a
// connection, and the version of the protocol, 1 or 2.
type Proxied struct {
	Version int
	Client  netip.AddrPort
}

// Lookup is how a dialer resolves a name: it asks the servers, in turn until there is an
// answer, for each name, until one has an address.
type Lookup struct {
	Servers []netip.AddrPort
	Names   []string
	IPv6    bool // of the addresses that are asked for
}

// Observation is what happened to a Flow.
type Observation struct {
	Flow    Flow
	Outcome Outcome
	// Answer is the server's own name: a pod, client or node.
	Answer string
	// Node is where the answering pod runs; empty for clients.
	Node string
	// Source is the dialer's address as the server saw it.
	Source netip.AddrPort
	// Forwarded is the client for whom a proxy in front of the server says that it asks.
	Forwarded netip.Addr
	// TTL, or hop limit, of the first packet when it arrived, as reported by the
	// server. 0: unknown.
	TTL int
	// Local is the dialer's own address.
	Local netip.AddrPort
	// Status is the HTTP status; 0: there was no response.
	Status int
	// Header are the fields of an HTTP response, their names in lower case.
	Header map[string]string
	// Body is the HTTP response body, or the beginning of a long one.
	Body string
	// Took is the time from the dial to the answer or the error.
	Took time.Duration
	// RoundTrip is the minimum RTT that TCP measured, or the time of a datagram and its
	// answer. 0: unknown.
	RoundTrip time.Duration
	// Rate is the speed of an upload in bits per second, from the first byte to the
	// answer to the last one.
	Rate uint64
	// MTU is the length of the longest packets that TCP sent, in bytes, including
	// headers.
	MTU int
	// Segments and Payload are how many TCP segments the dialer sent, and how many bytes
	// of data in them, all that was sent again included. 0: unknown.
	Segments int
	Payload  uint64
	Err      string
}
