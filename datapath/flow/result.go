package flow

import (
	"cmp"
	"fmt"
	"net/netip"
)

// Result is how a flow ended, as far as both the walk on paper and the probe can know:
// the outcome and, for a connection, who answered and what the server saw of the
// client. Results can be compared with ==. Source ports are not part of it: the kernel
// chooses them.
type Result struct {
	Outcome Outcome    `json:"outcome"`
	Answer  string     `json:"answer,omitempty"` // as the server named itself
	Node    string     `json:"node,omitempty"`   // where it runs
	Source  netip.Addr `json:"source,omitzero"`  // the dialer's address as the server saw it
	// Forwarded is the client as a proxy in front of the server has told it, in the header
	// X-Forwarded-For of a request; not valid: there is none, or the server does not say.
	Forwarded netip.Addr `json:"forwarded,omitzero"`
	// TTL, or hop limit, of the flow's first packet when it arrived at the server. 0:
	// unknown.
	TTL    int `json:"ttl,omitempty"`
	Status int `json:"status,omitempty"` // of an HTTP response; 0: there was none; or AnyStatus
	// Header are the fields of the response that the flow looks for, and Seen what it wants to
	// know of the request as the server saw it; empty: nobody tells.
	Header Picked `json:"header,omitempty"`
	Seen   Picked `json:"seen,omitempty"`
}

// AnyStatus is the predicted status of a response that a program writes as it pleases.
const AnyStatus = -1

// Result is the observation without what differs from one connection to the next.
func (o Observation) Result() Result {
	r := Result{Outcome: o.Outcome, Answer: o.Answer, Node: o.Node, Source: o.Source.Addr().Unmap(), Forwarded: o.Forwarded, TTL: o.TTL, Status: o.Status}
	if o.Status != 0 {
		r.Header = o.Flow.Look.Pick(func(name string) (string, bool) { return o.Header[name], true })
		if o.Asked != nil {
			r.Seen = o.Flow.Seen.Pick(func(name string) (string, bool) { return o.Asked[name], true })
		}
	}
	return r
}

// Core is the part of the result that services and policies decide: without what the
// path and the application add.
func (r Result) Core() Result {
	r.TTL, r.Status, r.Forwarded, r.Header, r.Seen = 0, 0, netip.Addr{}, "", ""
	return r
}

// Agrees reports whether an observation is as predicted: equal, except for a TTL that
// the server does not report, and a status and header fields that are not predicted.
func (r Result) Agrees(predicted Result) bool {
	if r.TTL == 0 {
		predicted.TTL = 0
	}
	if predicted.Status == AnyStatus {
		predicted.Status = r.Status
	}
	if predicted.Header.within(r.Header) && predicted.Seen.within(r.Seen) {
		predicted.Header, predicted.Seen = r.Header, r.Seen
	}
	return r == predicted
}

// Compare orders results as they read.
func (r Result) Compare(other Result) int {
	return cmp.Or(cmp.Compare(r.String(), other.String()), cmp.Compare(r.TTL, other.TTL), cmp.Compare(r.Status, other.Status),
		cmp.Compare(r.Header, other.Header), cmp.Compare(r.Seen, other.Seen))
}

// String describes the result: connected, answered by web-0 on node1, seen as 10.0.0.1.
func (r Result) String() string {
	text := string(r.Outcome)
	if r.Answer != "" {
		text += ", answered by " + r.Answer
		if r.Node != "" {
			text += " on " + r.Node
		}
	}
	if r.Source.IsValid() {
		text += ", seen as " + r.Source.String()
	}
	if r.Forwarded.IsValid() {
		text += ", forwarded for " + r.Forwarded.String()
	}
	return text
}

// Full describes all of it, including the TTL and the HTTP status.
func (r Result) Full() string {
	text := r.String()
	if r.TTL != 0 {
		text += fmt.Sprintf(", arriving with TTL %d", r.TTL)
	}
	if r.Status > 0 {
		text += fmt.Sprintf(", status %d", r.Status)
	}
	for name, value := range r.Header.All() {
		text += fmt.Sprintf(", %s: %q", name, value)
	}
	for name, value := range r.Seen.All() {
		text += fmt.Sprintf(", asked for %s: %q", name, value)
	}
	return text
}
