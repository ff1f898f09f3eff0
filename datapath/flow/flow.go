// Package flow holds the words that prediction and observation share: a flow
// that somebody dials, and what came of it. Standard library only; it knows
// neither the lab nor the kernel.
package flow

import (
	"net/netip"
	"time"
)

// Protocol is what is spoken over a flow.
type Protocol string

// The protocols that a flow can have.
const (
	TCP Protocol = "tcp"
	UDP Protocol = "udp"
)

// Outcome says how a connection attempt ended, in the words of Kubernetes'
// agnhost connect.
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
	From     string // network namespace of the dialer, as in the plan
	To       netip.AddrPort
	Protocol Protocol
	// Path makes the flow an HTTP GET request for it, over TCP; empty: the dialer
	// asks who answers, in a line.
	Path string
	// Upload makes the dialer of a stream send so many bytes before the answer; 0: only
	// its question.
	Upload int
	// Within is how long to wait for the answer.
	Within time.Duration
}

// Seen is what happened to a Flow.
type Seen struct {
	Flow    Flow
	Outcome Outcome
	// Answer is who answered, as the server named itself: a pod, client or node.
	Answer string
	// Node is where the answering pod runs; empty for clients.
	Node string
	// Source is the dialer's address as the server saw it.
	Source netip.AddrPort
	// Local is the dialer's own address.
	Local netip.AddrPort
	// Status is that of an HTTP response; 0: there was none.
	Status int
	// Header are the fields of an HTTP response, their names in lower case.
	Header map[string]string
	// Body is that of an HTTP response, or the beginning of a long one.
	Body string
	// Took is the time from the dial to the answer or the error.
	Took time.Duration
	// RoundTrip is the shortest time from a packet to its acknowledgement that TCP
	// measured, or what a datagram and its answer took. 0: unknown.
	RoundTrip time.Duration
	// Rate is how fast an upload was, in bits per second, from the first byte to the
	// answer to the last one.
	Rate uint64
	// MTU is the length of the longest packets that TCP sent, in bytes, headers included.
	MTU int
	Err string
}
