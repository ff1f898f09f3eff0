package policy

import (
	"github.com/netlab/netlab/datapath/plan/iptables"
	"github.com/netlab/netlab/topology"
)

// Deny returns how denied packets end, each row with the condition that comes before
// it; every packet meets one of them.
//
// A reset ends a TCP connection immediately: after an ICMP error, which comes back
// while connect still holds the socket, the kernel waits for its second try. But the
// reset for a packet that came in by a bridge goes out untranslated, bypassing NAT
// (nf_send_reset in net/ipv4/netfilter/nf_reject_ipv4.c): a client of a service would
// not recognise it. So such connections get the error. IPVS translates without
// connection tracking, so what it sends is recognised by the mark Balanced.
func (v *View) Deny(ipv6 bool) []iptables.Rule {
	if v.Options.Deny != topology.DenyReject {
		return []iptables.Rule{{Target: iptables.Drop{}}}
	}
	reset := []iptables.Match{iptables.Proto{Name: string(topology.TCP)}, iptables.CTState{States: []string{"DNAT"}, Not: true}}
	if v.MarksBalanced() {
		reset = append(reset, iptables.Mark{Mask: Balanced})
	}
	return []iptables.Rule{
		{Matches: reset, Target: iptables.Reject{With: "tcp-reset"}},
		{Target: iptables.Refuse(ipv6)},
	}
}

// Balanced is the mark of packets that IPVS sends to an endpoint: those at OUTPUT that
// the node did not originate. No style uses the bit for anything else.
const Balanced = 0x200000

// MarksBalanced reports whether packets at OUTPUT get the mark Balanced, for Deny to match.
func (v *View) MarksBalanced() bool {
	return v.Options.Deny == topology.DenyReject && v.Lab.Proxy.Mode.VirtualServers
}

// Established matches packets of connections that are known and errors about them.
// Every style accepts them first: a policy that changes does not apply to existing
// connections, unless the lab cuts them; then their conntrack entries are deleted.
func Established() iptables.Match {
	return iptables.CTState{States: []string{"RELATED", "ESTABLISHED"}}
}

// Invalid matches packets that belong to no connection.
func Invalid() iptables.Match { return iptables.CTState{States: []string{"INVALID"}} }
