package servicetest

import (
	"fmt"
	"net/netip"

	"github.com/netlab/netlab/datapath/flow"
	"github.com/netlab/netlab/topology"
)

// place is where a client is.
type place struct {
	name  string
	netns string
	kind  string // pod, node or outside
	node  int    // 0: outside
}

func places() []place {
	return []place{
		{"shell-1", "pod.shell-1", "pod", 1},
		{"shell-3", "pod.shell-3", "pod", 3},
		{"node1", "node.node1", "node", 1},
		{"node3", "node.node3", "node", 3},
		{"laptop", "client.laptop", "outside", 0},
	}
}

// target is a kind of address of a service.
type target struct {
	name string
	node int // of a node port
}

// The kinds of addresses.
const (
	clusterIP    = "cluster IP"
	nodePort     = "node port"
	loadBalancer = "load balancer IP"
	externalIP   = "external IP"
)

func (t target) String() string {
	if t.node != 0 {
		return fmt.Sprintf("%s of node%d", t.name, t.node)
	}
	return t.name
}

// question asks for the result of a connection.
type question struct {
	from     place
	to       target
	sort     sort
	state    state
	protocol flow.Protocol
}

func (q question) name() string {
	return fmt.Sprintf("%s %s to %s of %s", q.protocol, q.from.name, q.to, q.service())
}

// questions are all combinations that make sense.
func questions() []question {
	var list []question
	for _, st := range states() {
		for _, so := range sorts() {
			for _, to := range []target{{name: clusterIP}, {name: nodePort, node: 1}, {name: nodePort, node: 3}, {name: loadBalancer}, {name: externalIP}} {
				for _, from := range places() {
					for _, protocol := range []flow.Protocol{flow.TCP, flow.UDP} {
						if q := (question{from, to, so, st, protocol}); q.sensible() {
							list = append(list, q)
						}
					}
				}
			}
		}
	}
	return list
}

func (q question) sensible() bool {
	switch {
	case !q.sort.external && q.to.name != clusterIP:
		return false
	case q.sort.via == 3 && (q.from.kind != "outside" || q.to.name == clusterIP || q.to.name == nodePort):
		return false // all else is as via node1
	case q.protocol == flow.UDP && (q.from.kind == "node" || q.from.name == "shell-3" || q.state.name == "terminating" || q.state.name == "unready"):
		// The rules differ in the protocol only. Rejected datagrams of the node's own sockets
		// are left out: their errors differ.
		return false
	}
	return true
}

// service is the name of the service that is asked about.
func (q question) service() string { return q.sort.name + "-" + q.state.name }

// flow is the connection that is asked about, to a service.
func (q question) flow(r *testLab, service string) flow.Flow {
	svc := r.svc(service)
	port := svc.Ports[0]
	for _, p := range svc.Ports {
		if string(p.Protocol) == string(q.protocol) {
			port = p
		}
	}
	number := port.Port
	var a netip.Addr
	switch q.to.name {
	case clusterIP:
		a = topology.OfFamily(svc.ClusterIPs, r.IPv6)
	case nodePort:
		a, number = r.node(q.to.node), port.NodePort
	case loadBalancer:
		a = topology.OfFamily(vips(svc), r.IPv6)
	case externalIP:
		a = topology.OfFamily(svc.ExternalIPs, r.IPv6)
	}
	return flow.Flow{From: q.from.netns, To: netip.AddrPortFrom(a, number), Protocol: q.protocol}
}

func vips(svc *topology.Service) []netip.Addr {
	var list []netip.Addr
	for _, lb := range svc.LoadBalancers {
		list = append(list, lb.Addr)
	}
	return list
}
