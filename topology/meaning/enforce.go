package meaning

import "github.com/netlab/netlab/topology"

// Policies are enforced on the node of the pod that they apply to, between DNAT and
// SNAT. A packet that a pod of the node sends or receives is judged after its
// destination was replaced and before its source is, so that
//
//   - rules never see the address or port of a service that has endpoints;
//   - a client of a node port keeps its address where the endpoint is on the node that it
//     dialed, and has that node's where the endpoint is on another one;
//   - a pod that dials another node is judged as itself by its own egress policies, and
//     counts as a node after that.
//
// Packets from processes of a node are never judged there: the node reaches its pods. Nor
// are those that IPVS delivers to a process of the node itself, an endpoint on the host's
// network, even where egress to the node is judged: IPVS chooses it after the rules of
// INPUT, and they do not pass OUTPUT.

// denied reports whether a packet on a node is denied there, and ends it if so. Both
// sides count when both pods are of the node.
func (ps *paths) denied(n *topology.Node, p packet) bool {
	if p.self || p.past || !ps.lab.Enforces() {
		return false
	}
	from, to := EndAt(ps.lab.Lab, p.src), EndAt(ps.lab.Lab, p.dst)
	if ps.lab.holds(n, p.dst) {
		to = PolicyEnd{Node: n, Addr: p.dst}
	}
	here := func(e PolicyEnd) bool { return e.Pod != nil && e.Pod.Node == n }
	if !here(from) && !here(to) {
		return false
	}
	said := Allowed(ps.lab.Lab, from, to, ps.protocol, p.port)
	if (!here(from) || said.Egress.Allowed) && (!here(to) || said.Ingress.Allowed) {
		return false
	}
	if ps.lab.PolicyOptions.Deny == topology.DenyReject {
		ps.refuse(n, p)
	} else {
		ps.silence()
	}
	return true
}
