package servicetest

import (
	"net/netip"

	"github.com/netlab/netlab/datapath/flow"
	"github.com/netlab/netlab/topology"
)

// client is who dials, as the node sees it that translates the destination.
type client struct {
	addr netip.Addr
	pod  bool // of the cluster, by its address
	self bool // the node
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

// client tells how the translating node sees the client. On the way to another node
// the pod network gives a pod its node's address, unless told otherwise.
func (r *room) client(q question) client {
	here := q.translator() == q.from.node
	switch {
	case q.from.kind == "outside":
		return client{addr: pick(r.lab.Clients[0].Addrs, r.IPv6)}
	case q.from.kind == "node":
		return client{addr: r.node(q.from.node), self: here}
	case here || r.KeepSource:
		return client{addr: r.pod(q.from.name), pod: true}
	}
	return client{addr: r.node(q.from.node)}
}

// chosen are the endpoints of which one answers.
//
//   - Policy Cluster, internal or external, is all ready endpoints; if there is
//     none, all that terminate but still serve.
//   - Policy Local is the same among those of the translating node.
//   - External policy Local does not apply to the node itself, nor to pods as far as
//     they are told apart: they get all.
//
// ipvs lets nobody take that short cut. Without a local endpoint, it takes all where it
// knows them: of services with external addresses.
func (r *room) chosen(q question, c client) []server {
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

func (r *room) ipvs() bool { return r.Backend == "ipvs" }

// serving are the endpoints of a node, or of all (0), that get traffic.
func serving(list []server, node int) []server {
	var ready, leaving []server
	for _, e := range list {
		switch {
		case node != 0 && e.node != node:
		case e.terminating:
			leaving = append(leaving, e)
		case !e.unready:
			ready = append(ready, e)
		}
	}
	if len(ready) > 0 {
		return ready
	}
	return leaving
}

// masqueraded tells whether the service rules replace the client's address, other
// than of an endpoint that reaches itself.
//
//   - To a cluster IP: of all that are not pods. Where pods are not told apart, of
//     nobody; if everything shall be masqueraded, of everybody.
//   - To an external address: of everybody under policy Cluster; under Local only of
//     the node itself.
//
// With ipvs a process of the node dials from the service's own address. To a cluster IP
// that is masqueraded even where pods are not told apart; under policy Local it is not.
func (r *room) masqueraded(q question, c client) bool {
	switch {
	case q.to.name == clusterIP:
		return r.MasqueradeAll || !r.NoDetector && !c.pod || r.ipvs() && c.self
	case q.sort.etp == topology.PolicyCluster:
		return true
	}
	return c.self && !r.ipvs()
}

// right is how a connection may end: with a list of several, each of them happens.
func (r *room) right(q question) []flow.End {
	c := r.client(q)
	switch list := r.chosen(q, c); {
	case len(serving(q.state.endpoints, 0)) == 0:
		return r.nobody(q, c)
	case len(list) == 0 && r.ipvs():
		return refused // a virtual server without real ones
	case len(list) == 0:
		return timeout // dropped: there are endpoints, but not here
	default:
		return r.answers(q, c, list)
	}
}

var (
	timeout = []flow.End{{Outcome: flow.Timeout}}
	refused = []flow.End{{Outcome: flow.Refused}}
)

// nobody is the end without any endpoint: a refusal.
func (r *room) nobody(q question, c client) []flow.End {
	if c.self && (q.to.name == loadBalancer || q.to.name == externalIP) && r.Backend == "iptables" {
		// KUBE-EXTERNAL-SERVICES is not hooked into OUTPUT: the packet goes out to
		// nowhere.
		return timeout
	}
	return refused
}

// answers are the ends of a connection to each of the endpoints.
func (r *room) answers(q question, c client, list []server) []flow.End {
	var ends []flow.End
	node := q.translator()
	masqueraded := r.masqueraded(q, c)
	for _, e := range list {
		end := flow.End{Outcome: flow.Connected, Answer: e.name(), Node: r.lab.Nodes[e.node-1].Name, Source: c.addr}
		switch {
		case masqueraded, q.from.name == e.name():
			end.Source = r.egress(node, e.node)
		case !c.pod && e.node != node:
			end.Source = r.egress(node, e.node) // by the pod network
		case c.pod && node != q.from.node && e.node != node:
			// The endpoint answers the pod directly, past the node that could have
			// translated the answer back.
			end = timeout[0]
		case r.ipvs() && c.self && q.to.name != nodePort:
			end.Source = q.flow(r, q.service()).To.Addr()
		}
		ends = append(ends, end)
	}
	return ends
}
