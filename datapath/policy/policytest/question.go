package policytest

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/netlab/netlab/datapath/flow"
	"github.com/netlab/netlab/topology"
)

// end is a host that can dial or be dialed.
type end struct {
	name  string // x/a, node1, outside
	netns string
	agent string // the name with which it answers
	node  int    // 0: outside
	pod   bool
	addr  netip.Addr
}

// allEnds are all ends of the lab by name.
func (r *testLab) allEnds() map[string]*end {
	ends := map[string]*end{}
	for _, p := range r.base.Pods {
		node := int(p.Node.Name[len(p.Node.Name)-1] - '0')
		e := &end{name: p.Namespace + "/" + p.Name, netns: p.Netns(), agent: p.AgentName(), node: node, pod: true, addr: topology.OfFamily(p.Addrs, r.IPv6)}
		if p.HostNetwork {
			e.name, e.pod = p.Node.Name, false
		}
		ends[e.name] = e
	}
	c := r.base.Clients[0]
	ends[c.Name] = &end{name: c.Name, netns: c.Netns(), agent: c.Name, addr: topology.OfFamily(c.Addrs, r.IPv6)}
	return ends
}

// order is the order of ends in tables.
func order() []string {
	return []string{"x/a", "x/b", "x/c", "y/a", "y/b", "y/c", "z/a", "z/b", "z/c", "node1", "node2", "outside"}
}

// plane is a protocol and a port on which all ends answer.
type plane struct {
	protocol flow.Protocol
	port     uint16
}

// planes are all protocols and ports. Differences between them show in every lab, so
// labs that are not Full take turns with two of them.
func (s *Setup) planes(turn int) []plane {
	list := []plane{{flow.TCP, 80}, {flow.TCP, 81}, {flow.UDP, 80}, {flow.UDP, 81}}
	if s.SCTP {
		list = append(list, plane{flow.SCTP, 80})
	}
	if s.Full {
		return list
	}
	return []plane{list[turn%2], list[2+turn%(len(list)-2)]}
}

// question asks whether a connection succeeds; each side may see other addresses.
type question struct {
	name string
	from *end
	to   *end // the end that answers
	flow flow.Flow
	port int // on which it listens
	// asEgress is the destination that the dialer's side sees, asIngress the source
	// that the other side sees; nil: the end itself.
	asEgress, asIngress *far
	egressPort          int // as the dialer's side sees it; 0: port
	via                 int // the last node before the answering end's; 0: none
}

// questions are the table: all pairs on some planes, and connections via services.
func (r *testLab) questions(planes []plane) []question {
	var list []question
	for _, from := range order() {
		for _, to := range order() {
			f, t := r.ends[from], r.ends[to]
			if f == t && !f.pod {
				continue
			}
			for _, p := range planes {
				list = append(list, r.question(f, t, p))
			}
		}
	}
	list = append(list, r.serviceQuestions()...)
	if r.base.Network.Mode.Routed {
		return list
	}
	// Without a route a connection says nothing about policies.
	return slices.DeleteFunc(list, func(q question) bool { return q.to.pod && q.via != 0 && q.via != q.to.node })
}

// question asks whether one end reaches the other directly.
func (r *testLab) question(from, to *end, p plane) question {
	q := question{name: from.name + " to " + to.name, from: from, to: to, port: int(p.port), via: from.node,
		flow: flow.Flow{From: from.netns, To: netip.AddrPortFrom(to.addr, p.port), Protocol: p.protocol}}
	if from.node != 0 && !from.pod && to.pod && to.node != from.node {
		q.asIngress = &far{addr: r.egress(from.node, to.node)}
	}
	return q
}

// serviceQuestions go to the services y/web and y/web-local, whose endpoint is y/b on
// node1.
func (r *testLab) serviceQuestions() []question {
	var list []question
	b := r.ends["y/b"]
	ask := func(name, from string, to netip.Addr, port uint16) *question {
		via := r.ends[from].node
		if to == r.ends["node1"].addr || to == r.ends["node2"].addr {
			via = int(name[len("node")] - '0')
		}
		list = append(list, question{name: from + " to " + name, from: r.ends[from], to: b, port: 80, via: via,
			flow: flow.Flow{From: r.ends[from].netns, To: netip.AddrPortFrom(to, port), Protocol: flow.TCP}})
		return &list[len(list)-1]
	}
	i := slices.IndexFunc(r.base.Services, func(s *topology.Service) bool { return s.Name == "web" })
	ip := topology.OfFamily(r.base.Services[i].ClusterIPs, r.IPv6)
	for _, from := range order() {
		switch e := r.ends[from]; {
		case e.pod:
			ask("the cluster IP of y/b", from, ip, 8080)
		case e.node == 2:
			ask("the cluster IP of y/b", from, ip, 8080).asIngress = &far{addr: r.egress(2, 1)}
		case e.node == 1:
			ask("the cluster IP of y/b", from, ip, 8080)
		}
	}
	node1, node2 := r.ends["node1"].addr, r.ends["node2"].addr
	masqueraded := &far{addr: r.egress(2, 1)}
	// The node of the pod filters before it masquerades, another after.
	ask("node1:30080, policy Cluster", "outside", node1, 30080)
	ask("node2:30080, policy Cluster", "outside", node2, 30080).asIngress = masqueraded
	ask("node1:30081, policy Local", "outside", node1, 30081)
	ask("node1:30080, policy Cluster", "x/a", node1, 30080)
	ask("node2:30080, policy Cluster", "x/b", node2, 30080).asIngress = masqueraded
	q := ask("node2:30080, policy Cluster", "x/a", node2, 30080)
	q.asIngress, q.asEgress, q.egressPort = masqueraded, &far{addr: node2}, 30080
	return list
}

// right reports whether the connection should succeed.
func (r *testLab) right(j *judge, q *question) bool {
	if q.from == q.to && q.from.pod {
		return true
	}
	specOf := func(e *end) *topology.PodSpec {
		if !e.pod {
			return nil
		}
		ns, name, _ := strings.Cut(e.name, "/")
		i := slices.IndexFunc(j.spec.Pods, func(p topology.PodSpec) bool { return p.Namespace.Value == ns && p.Name() == name })
		return &j.spec.Pods[i]
	}
	source, target := specOf(q.from), specOf(q.to)
	if source != nil {
		exempt := !q.to.pod && q.to.node == q.from.node && j.spec.PolicyOptions.HostEgress.Value != "enforce"
		seen, w := far{q.to.addr, target}, packet{string(q.flow.Protocol), q.port, target}
		if q.asEgress != nil {
			seen, w.port, w.target = *q.asEgress, q.egressPort, nil
		}
		if !exempt && !j.allows(source, true, seen, w) {
			return false
		}
	}
	if target == nil {
		return true
	}
	ownNode := !q.from.pod && q.from.node == q.to.node
	seen := far{q.from.addr, source}
	if q.asIngress != nil {
		seen = *q.asIngress
	}
	return ownNode || j.allows(target, false, seen, packet{string(q.flow.Protocol), q.port, target})
}
