// Package flow holds the vocabulary that prediction and observation share: a flow to
// dial, and its result. Standard library only; it knows neither the lab nor the kernel.
package flow

import (
	"iter"
	"net/netip"
	"slices"
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
	// Look are the header fields of the response that its Result holds, and Seen what it holds of
	// the request as the server saw it: header fields, SeenHost and SeenPath.
	Look, Seen Names
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

// Set makes a value the only one of a field; "" removes it.
func (f *Fields) Set(name, value string) {
	f.Del(name)
	f.Add(name, value)
}

// Add adds a value to those of a field, as a list (RFC 9110, 5.3).
func (f *Fields) Add(name, value string) {
	if before := f.Get(name); before != "" {
		value = before + ", " + value
	}
	f.Del(name)
	if value != "" {
		*f += Fields(name + ": " + value + "\n")
	}
}

// Del removes a field.
func (f *Fields) Del(name string) {
	var rest Fields
	for line := range strings.Lines(string(*f)) {
		if n, _, _ := strings.Cut(line, ": "); !strings.EqualFold(n, name) {
			rest += Fields(line)
		}
	}
	*f = rest
}

// Names are names in lower case, each on a line of its own, in their order.
type Names string

// What a server sees of a request beside header fields, as HTTP/2 names it.
const (
	SeenHost = ":authority"
	SeenPath = ":path"
)

// NamesOf are names, which may be in any case and order.
func NamesOf(list iter.Seq[string]) (out Names) {
	var lower []string
	for n := range list {
		lower = append(lower, strings.ToLower(n))
	}
	slices.Sort(lower)
	for _, n := range slices.Compact(lower) {
		out += Names(n + "\n")
	}
	return out
}

// Pick are the values of these names, each on a line "name: value", with no value where there is
// none, or "name" where get does not know.
func (n Names) Pick(get func(name string) (value string, known bool)) (out Picked) {
	for line := range strings.Lines(string(n)) {
		name := strings.TrimSuffix(line, "\n")
		out += Picked(name)
		if value, known := get(name); known {
			out += Picked(": " + strings.ReplaceAll(value, "\n", " "))
		}
		out += "\n"
	}
	return out
}

// Picked are values by name, as Pick returns them.
type Picked string

// Get is the value of a name in lower case, which may not be known, or not be there at all.
func (p Picked) Get(name string) (value string, known, there bool) {
	for line := range strings.Lines(string(p)) {
		if n, value, known := strings.Cut(strings.TrimSuffix(line, "\n"), ": "); n == name {
			return value, known, true
		}
	}
	return "", false, false
}

// All are the names and values that are known.
func (p Picked) All() iter.Seq2[string, string] {
	return func(yield func(name, value string) bool) {
		for line := range strings.Lines(string(p)) {
			if name, value, known := strings.Cut(strings.TrimSuffix(line, "\n"), ": "); known && !yield(name, value) {
				return
			}
		}
	}
}

// within reports whether all that is known here is the same there.
func (p Picked) within(other Picked) bool {
	for name, value := range p.All() {
		if v, known, _ := other.Get(name); !known || v != value {
			return false
		}
	}
	return true
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
	// Asked is the request as the server tells that it saw it: header fields by their names in
	// lower case, SeenHost and SeenPath; nil: it does not say.
	Asked map[string]string
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
