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
// not know it. So such connections get the error.
func (v *View) Deny(ipv6 bool) []plan.Rule {
	if v.Options.Deny != Reject {
		return []plan.Rule{{Target: plan.Drop{}}}
	}
	var other plan.Reject
	if ipv6 {
		other.With = "icmp6-port-unreachable"
	}
	translated := plan.CTState{States: []string{"DNAT"}, Not: true}
	return []plan.Rule{
		{Matches: []plan.Match{plan.Proto{Name: string(topology.TCP)}, translated}, Target: plan.Reject{With: "tcp-reset"}},
		{Target: other},
	}
}

// Established matches packets of connections that are known and errors about them.
// Every style lets them pass first: a policy that changes does not hold for connections
// that were there before, unless the lab wants them cut; then their entries go.
func Established() plan.Match { return plan.CTState{States: []string{"RELATED", "ESTABLISHED"}} }

// Invalid matches packets that belong to no connection.
func Invalid() plan.Match { return plan.CTState{States: []string{"INVALID"}} }
