package policy

import (
	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/topology"
)

// Denied packets end by these.
const (
	Drop   = "drop"
	Reject = "reject"
)

// Deny returns how denied packets end, each row with the condition that comes before
// it; every packet meets one of them.
//
// A reset is what ends a TCP connection at once: after an ICMP error, which comes
// back while connect still holds the socket, the kernel waits for its second try. But
// the reset for a packet that came in by a bridge goes out as it is made, past NAT
// (nf_send_reset in net/ipv4/netfilter/nf_reject_ipv4.c): who dialed a service would
// not know it. So such connections get the error. IPVS translates without connection
// tracking, so what it sends is told by the mark Balanced.
func (v *View) Deny(ipv6 bool) []plan.Rule {
	if v.Options.Deny != Reject {
		return []plan.Rule{{Target: plan.Drop{}}}
	}
	var other plan.Reject
	if ipv6 {
		other.With = "icmp6-port-unreachable"
	}
	reset := []plan.Match{plan.Proto{Name: string(topology.TCP)}, plan.CTState{States: []string{"DNAT"}, Not: true}}
	if v.MarksBalanced() {
		reset = append(reset, plan.Mark{Mask: Balanced})
	}
	return []plan.Rule{
		{Matches: reset, Target: plan.Reject{With: "tcp-reset"}},
		{Target: other},
	}
}

// Balanced is the mark of packets that IPVS sends to an endpoint, which are those at
// OUTPUT that the node did not make itself. No style uses the bit for anything else.
const Balanced = 0x80000

// MarksBalanced reports whether packets at OUTPUT get the mark Balanced, for Deny to ask.
func (v *View) MarksBalanced() bool {
	return v.Options.Deny == Reject && v.Lab.Proxy.Mode == "ipvs"
}

// Established matches packets of connections that are known and errors about them.
// Every style lets them pass first: a policy that changes does not hold for connections
// that were there before, unless the lab wants them cut; then their entries go.
func Established() plan.Match { return plan.CTState{States: []string{"RELATED", "ESTABLISHED"}} }

// Invalid matches packets that belong to no connection.
func Invalid() plan.Match { return plan.CTState{States: []string{"INVALID"}} }
