package flow

import "net/netip"

// SCTP is the third transport protocol that Kubernetes services speak.
const SCTP Protocol = "sctp"

// End is how a flow ended, as far as both can know who follow the packet on paper
// and who send it: the outcome, and of a connection who answered and whom the
// server saw. Ends can be compared with ==. Source ports are not part of it: the
// kernel chooses them.
type End struct {
	Outcome Outcome    `json:"outcome"`
	Answer  string     `json:"answer,omitempty"` // as the server named itself
	Node    string     `json:"node,omitempty"`   // where it runs
	Source  netip.Addr `json:"source,omitzero"`  // the dialer as the server saw it
}

// End is what is seen without what differs from one connection to the next.
func (s Seen) End() End {
	return End{Outcome: s.Outcome, Answer: s.Answer, Node: s.Node, Source: s.Source.Addr().Unmap()}
}

// String says it in words: connected, answered by web-0 on node1, seen as 10.0.0.1.
func (e End) String() string {
	text := string(e.Outcome)
	if e.Answer != "" {
		text += ", answered by " + e.Answer
		if e.Node != "" {
			text += " on " + e.Node
		}
	}
	if e.Source.IsValid() {
		text += ", seen as " + e.Source.String()
	}
	return text
}
