package topology

// Where policies are made so: on the node of the pod that they are about, between the
// two translations. A packet that a pod of the node sends or gets is judged after its
// destination was replaced and before its source is, so that
//
//   - rules never see the address or port of a service that has endpoints;
//   - a client of a node port is seen as himself where the endpoint is on the node that
//     he dialed, and as that node where it is on another one;
//   - a pod that dials another node is judged as itself by its own egress policies, and
//     is a node to everybody after that.
//
// What processes of a node send is never judged there: the node reaches its pods. And
// what IPVS gives to a process of the node itself, an endpoint on the host's network, is
// not judged either, even where egress to the node is: IPVS chooses it after the rules
// of INPUT, and it does not pass OUTPUT.

// barred reports whether a packet on a node is denied there, and ends it if so. Both
// sides count when both pods are of the node.
func (j *journeys) barred(n *Node, p packet) bool {
	if p.self || p.past || len(j.lab.Policies) == 0 && len(j.lab.ClusterPolicies) == 0 {
		return false
	}
	from, to := j.lab.PolicyEndAt(p.src), j.lab.PolicyEndAt(p.dst)
	if j.lab.holds(n, p.dst) {
		to = PolicyEnd{Node: n, Addr: p.dst}
	}
	here := func(e PolicyEnd) bool { return e.Pod != nil && e.Pod.Node == n }
	if !here(from) && !here(to) {
		return false
	}
	said := Allowed(j.lab, from, to, j.protocol, p.port)
	if (!here(from) || said.Egress.Allowed) && (!here(to) || said.Ingress.Allowed) {
		return false
	}
	if j.lab.PolicyOptions.Deny == denyReject {
		j.refuse(n, p)
	} else {
		j.silence(false)
	}
	return true
}

// denyReject is the way to deny that tells the dialer.
const denyReject = "reject"
