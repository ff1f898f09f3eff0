package trace

import (
	"net/netip"

	"github.com/netlab/netlab/datapath/plan"
)

// Leg is a part of a conversation.
type Leg string

// The legs: the first packet, the first answer (which may be a reset or an ICMP error),
// and, where it differs, the rest of the open connection.
const (
	Request Leg = "request"
	Reply   Leg = "reply"
	Data    Leg = "data"
	Answer  Leg = "answer"
)

// Kind is what happens in a step.
type Kind string

// The kinds of steps.
const (
	Send      Kind = "send"      // a process or the kernel sends the packet
	Route     Kind = "route"     // a routing decision
	RuleHit   Kind = "rule"      // a rule matched
	Policy    Kind = "policy"    // the end of a built-in chain whose policy is not ACCEPT
	Conntrack Kind = "conntrack" // the connection's NAT, without a rule
	Balance   Kind = "ipvs"      // IPVS, without a rule
	Relay     Kind = "proxy"     // a proxy in user space makes another connection
	Hop       Kind = "hop"       // from one link to the next
	Encap     Kind = "encap"     // into a tunnel
	Decap     Kind = "decap"     // out of it
	Deliver   Kind = "deliver"   // to a socket
	Drop      Kind = "drop"      // the end, silently
	Rejected  Kind = "reject"    // the end, with an answer
	Broken    Kind = "error"     // the walker cannot continue
)

// Step is one thing that happens to a packet.
type Step struct {
	Leg    Leg    `json:"leg"`
	Kind   Kind   `json:"kind"`
	Netns  string `json:"netns"`
	Hook   string `json:"hook,omitempty"` // PREROUTING, INPUT, FORWARD, OUTPUT or POSTROUTING
	Table  string `json:"table,omitempty"`
	Chain  string `json:"chain,omitempty"`
	Rule   int    `json:"rule,omitempty"`  // its position in the chain, from 1
	Depth  int    `json:"depth,omitempty"` // chains that jumped to this one
	Tunnel int    `json:"tunnel,omitempty"`
	In     string `json:"in,omitempty"` // links
	Out    string `json:"out,omitempty"`
	// Text is the rule in iptables syntax, the route in ip syntax, or a description.
	Text    string   `json:"text,omitempty"`
	Origin  Origin   `json:"origin,omitzero"` // the object that the rule serves
	Verdict string   `json:"verdict,omitempty"`
	Rewrite *Rewrite `json:"rewrite,omitempty"`
	Chance  float64  `json:"chance,omitempty"` // probability of a rule that matches at random
	Idle    bool     `json:"idle,omitempty"`   // a jump to a chain in which nothing matched
	Packet  Packet   `json:"packet"`           // after the step
}

// Rewrite is a changed address.
type Rewrite struct {
	Field string         `json:"field"` // src or dst
	From  netip.AddrPort `json:"from"`
	To    netip.AddrPort `json:"to"`
}

// String is the rewrite as the traces write it: dst 10.96.0.1:80 => 10.244.1.2:8080.
func (w Rewrite) String() string {
	return w.Field + " " + Endpoint(w.From) + " => " + Endpoint(w.To)
}

// Origin is the object that a rule serves, and where it is written.
type Origin struct {
	Object string `json:"object,omitempty"`
	File   string `json:"file,omitempty"`
	Line   int    `json:"line,omitempty"`
}

// String is the place and the object: local-policy.hcl:40 service default/web.
func (o Origin) String() string { return plan.Origin(o).String() }

// Hit is a rule that a packet meets.
type Hit struct {
	Netns        string
	IPv6         bool   // the packet
	Table, Chain string // of nf_tables with its family
	Rule         int    // its position in the chain, from 1
	Tunnel       bool   // the packet is around another
}
