package topology

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
)

// Dialer is who connects: a pod, a node or a client. One field is set.
type Dialer struct {
	Pod    *Pod // of the host's network: the same as its node
	Node   *Node
	Client *Client
}

// Netns is the name of the dialer's network namespace in a plan.
func (d Dialer) Netns() string {
	switch {
	case d.Pod != nil:
		return d.Pod.Netns()
	case d.Node != nil:
		return d.Node.Netns()
	case d.Client != nil:
		return d.Client.Netns()
	}
	return ""
}

// Dialers are all who can connect in a lab: nodes, clients and pods with a network
// of their own.
func (lab *Lab) Dialers() []Dialer {
	var out []Dialer
	for _, n := range lab.Nodes {
		out = append(out, Dialer{Node: n})
	}
	for _, c := range lab.Clients {
		out = append(out, Dialer{Client: c})
	}
	for _, p := range lab.Pods {
		if !p.HostNetwork {
			out = append(out, Dialer{Pod: p})
		}
	}
	return out
}

// Outcome is what comes of a connection.
type Outcome string

// The outcomes. A host that finds no neighbour with an address says so after some
// seconds only; until then that is a Timeout, too.
const (
	Connected   Outcome = "connected"
	Refused     Outcome = "refused"
	Timeout     Outcome = "timeout"
	Unreachable Outcome = "unreachable" // the dialer's own host does not send it
)

// End is one way that a connection can end. Ends can be compared with ==.
type End struct {
	Outcome Outcome
	Answer  string     // who answered, of a connection: the agent of a pod or client
	Node    string     // on which it runs; empty for clients
	Source  netip.Addr // the dialer as it saw it
}

// String says it in words: connected, answered by web-0 on node1, seen as 10.0.0.1.
func (e End) String() string {
	if e.Outcome != Connected {
		return string(e.Outcome)
	}
	on := ""
	if e.Node != "" {
		on = " on " + e.Node
	}
	return fmt.Sprintf("%s, answered by %s%s, seen as %s", e.Outcome, e.Answer, on, e.Source)
}

// Verdict are all ways that a connection can end: which of them depends on the
// endpoint or the node that chance picks. They are sorted, each is there once.
type Verdict []End

// Reach says what comes of a connection by the meaning of Kubernetes services and of
// the pod network, not by any rules: it is what rules are judged by. It is of a
// first connection, which no session affinity binds.
//
// The sources of what it says are the API's documentation of services, and where
// that is silent kube-proxy 1.35 in mode iptables (pkg/proxy/topology.go and
// pkg/proxy/iptables/proxier.go) and flannel (pkg/trafficmngr/iptables).
//
// Where two services share an address, a port and a protocol, nobody says which one is
// meant: here the first by namespace and name. Nor does Reach know that kube-proxy's
// filter takes a packet to an endpoint for one to a service when both have the same
// address and port, as a pod on the host's network may have with a load balancer
// address that is its node's.
//
// A dialer of no kind, and one without an address of the destination's family, ends
// Unreachable. What a pod with a command listens on nobody knows: it counts as
// nothing.
func Reach(lab *Lab, from Dialer, to netip.AddrPort, protocol Protocol) Verdict {
	j := &journeys{lab: lab, protocol: protocol}
	j.dial(from, netip.AddrPortFrom(to.Addr().Unmap(), to.Port()))
	slices.SortFunc(j.ends, func(a, b End) int {
		return cmp.Or(cmp.Compare(a.Outcome, b.Outcome), cmp.Compare(a.Answer, b.Answer),
			cmp.Compare(a.Node, b.Node), a.Source.Compare(b.Source))
	})
	return slices.Compact(j.ends)
}
