package meaning

import (
	"net/netip"
	"slices"

	"github.com/netlab/netlab/datapath/flow"
	"github.com/netlab/netlab/topology"
)

// Verdict lists all ways in which a connection can end: which of them happens depends on the
// endpoint or the node that is picked at random. They are sorted and unique, without what
// only a path tells (flow.Result.Core). A host reports a neighbour that does not resolve
// only after some seconds; until then that is a Timeout, too.
type Verdict []flow.Result

// Reach says how a connection ends by the meaning of Kubernetes services and of the pod
// network, not by any rules: rules are tested against it. It is about a first
// connection, which no session affinity binds.
//
// Its sources are the API's documentation of services, and where that is silent,
// kube-proxy 1.35 in mode iptables (pkg/proxy/topology.go and
// pkg/proxy/iptables/proxier.go) and flannel (pkg/trafficmngr/iptables).
//
// Where two services share an address, a port and a protocol, the API leaves open which one is
// meant: here the first by namespace and name. Nor does Reach know that kube-proxy's
// filter mistakes a packet to an endpoint for one to a service when both have the same
// address and port, as a pod on the host's network may have with a load balancer
// address that is its node's.
//
// The zero dialer, and one without an address of the destination's family, ends
// Unreachable. A program listens on the ports of its pod,
// and on no other.
func Reach(lab *topology.Lab, from topology.Dialer, to netip.AddrPort, protocol topology.Protocol) Verdict {
	ps := &paths{lab: network{lab}, protocol: protocol}
	ps.dial(from, netip.AddrPortFrom(to.Addr().Unmap(), to.Port()))
	slices.SortFunc(ps.results, flow.Result.Compare)
	return slices.Compact(ps.results)
}
