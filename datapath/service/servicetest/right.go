package servicetest

import (
	"net/netip"

	"github.com/netlab/netlab/datapath/flow"
	"github.com/netlab/netlab/topology"
)

// client is the client as seen by the node that translates the destination.
type client struct {
	addr netip.Addr
	pod  bool // a pod of the cluster, by its address
	self bool // the node itself
}

// translator is the node that translates: the addressed one for node ports; the
// client's own for all other addresses; for a client outside the one to which the
// address is routed.
func (q question) translator() int {
	switch {
	case q.to.name == nodePort:
		return q.to.node
	case q.from.kind != "outside":
		return q.from.node
	case q.to.name == clusterIP:
		return 1
	}
	return q.sort.via
}

// client is the client as the translating node sees it. Towards another node the pod
// network masquerades a pod with its node's address, unless configured otherwise.
func (r *testLab) client(q question) client {
	here := q.translator() == q.from.node
	switch {
	case q.from.kind == "outside":
		return client{addr: topology.OfFamily(r.lab.Clients[0].Addrs, r.IPv6)}
	case q.from.kind == "node":
		return client{addr: r.node(q.from.node), self: here}
	case here || r.KeepSource:
		return client{addr: r.pod(q.from.name), pod: true}
	}
	return client{addr: r.node(q.from.node)}
}

// chosen are the endpoints that may answer.
//
//   - Policy Cluster, internal or external, means all ready endpoints; if there is
//     none, all terminating ones that still serve.
//   - Policy Local means the same among those of the translating node.
//   - External policy Local does not apply to the node itself, nor to pods if there is
//     a local detector: they get all.
//
// ipvs does not short-circuit. Without a local endpoint it falls back to all endpoints,
// if the service has external addresses.
func (r *testLab) chosen(q question, c client) []server {
	local := q.sort.itp == topology.PolicyLocal
	if q.to.name != clusterIP {
		inside := (c.self || c.pod && !r.NoDetector) && !r.ipvs()
		local = q.sort.etp == topology.PolicyLocal && !inside
	}
	all := serving(q.state.endpoints, 0)
	if !local {
		return all
	}
	here := serving(q.state.endpoints, q.translator())
	if len(here) == 0 && r.ipvs() && q.sort.external {
		return all
	}
	return here
}

func (r *testLab) ipvs() bool { return r.Backend == "ipvs" }

// serving are the endpoints of a node, or of all (0), that get traffic.
func serving(list []server, node int) []server {
	var ready, terminating []server
	for _, e := range list {
		switch {
		case node != 0 && e.node != node:
		case e.terminating:
			terminating = append(terminating, e)
		case !e.unready:
			ready = append(ready, e)
		}
	}
	if len(ready) > 0 {
		return ready
	}
	return terminating
}

// masqueraded reports whether the service rules replace the client's address, hairpins
// aside.
//
//   - To a cluster IP: for all clients except pods; without a local detector for none,
//     with masquerade_all for all.
//   - To an external address: for all clients under policy Cluster; under Local only for
//     the node itself.
//
// With ipvs the source of a process of the node is the service's own address. To a
// cluster IP that is masqueraded even without a local detector; under policy Local it
// is not.
func (r *testLab) masqueraded(q question, c client) bool {
	switch {
	case q.to.name == clusterIP:
		return r.MasqueradeAll || !r.NoDetector && !c.pod || r.ipvs() && c.self
	case q.sort.etp == topology.PolicyCluster:
		return true
	}
	return c.self && !r.ipvs()
}

// right is the possible results of a connection; each of them occurs.
func (r *testLab) right(q question) []flow.Result {
	c := r.client(q)
	if r.userSpace() {
		return r.relayed(q)
	}
	switch list := r.chosen(q, c); {
	case len(serving(q.state.endpoints, 0)) == 0:
		return r.noEndpoints(q, c)
	case len(list) == 0 && r.ipvs():
		return refused // a virtual server without real servers
	case len(list) == 0:
		return timeout // dropped: there are endpoints, but none local
	default:
		return r.answers(q, c, list)
	}
}

var (
	timeout = []flow.Result{{Outcome: flow.Timeout}}
	refused = []flow.Result{{Outcome: flow.Refused}}
)

// noEndpoints is the result without any endpoint: a refusal.
func (r *testLab) noEndpoints(q question, c client) []flow.Result {
	if c.self && (q.to.name == loadBalancer || q.to.name == externalIP) && r.Backend == "iptables" {
		// KUBE-EXTERNAL-SERVICES is not hooked into OUTPUT: the packet leaves by the default
		// route and is lost.
		return timeout
	}
	return refused
}

// answers are the results of a connection to each of the endpoints.
func (r *testLab) answers(q question, c client, list []server) []flow.Result {
	var ends []flow.Result
	node := q.translator()
	masqueraded := r.masqueraded(q, c)
	for _, e := range list {
		end := flow.Result{Outcome: flow.Connected, Answer: e.name(), Node: r.lab.Nodes[e.node-1].Name, Source: c.addr}
		switch {
		case e.node != node && !r.lab.Network.Mode.Routed:
			end = timeout[0] // the node has no route to the endpoint
		case e.node != node && r.unwanted(c):
			end = timeout[0]
		case masqueraded, q.from.name == e.name():
			end.Source = r.egress(node, e.node)
		case !c.pod && e.node != node && !r.lab.Network.Mode.KeepsOutside:
			end.Source = r.egress(node, e.node) // by the pod network
		case !c.self && node != q.from.node && e.node != node:
			// The endpoint replies to the client directly, bypassing the node that could have
			// translated the reply.
			end = timeout[0]
		case r.ipvs() && c.self && q.to.name != nodePort && e.node != node:
			end = timeout[0] // the endpoint's node has the service's address, too: the source is martian
		case r.ipvs() && c.self && q.to.name != nodePort:
			end.Source = q.flow(r, q.service()).To.Addr()
		}
		ends = append(ends, end)
	}
	return ends
}

// unwanted reports whether a client gets no reply that nodes encrypt by policies of the kernel: a
// process of a node that has IPVS, since that gives the reply the service's address before the
// policies are asked.
func (r *testLab) unwanted(c client) bool {
	return r.ipvs() && c.self && r.lab.Network.Mode.Tunnel == topology.ESPTunnel
}
