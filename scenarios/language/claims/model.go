package claims

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/hashicorp/hcl/v2"

	"github.com/netlab/netlab/datapath/flow"
	"github.com/netlab/netlab/scenarios/expect"
	"github.com/netlab/netlab/scenarios/expect/state"
	"github.com/netlab/netlab/scenarios/language/blocks"
	"github.com/netlab/netlab/scenarios/language/functions"
	"github.com/netlab/netlab/scenarios/language/names"
	"github.com/netlab/netlab/topology"
)

// kubernetesModel is the only network model that an expectation can claim.
const kubernetesModel = "kubernetes"

// kubeletPort is where the kubelet of a node listens. Nothing listens there in a lab, so
// that a connection that reaches the node is refused.
const kubeletPort = 10250

// modelRules are the parts of the model. Goal 2, that pods reach pods, is rule 1.
var modelRules = []string{
	"rule 1 on one node", "rule 1 across nodes", "rule 2", "rule 3 on one node", "rule 3 across nodes", "goal 1", "goal 3", "goal 4",
}

// modelClaim is a claim that belongs to a rule of the model.
type modelClaim struct {
	rule string
	*expect.Reach
}

// model returns the claims of an expectation about the Kubernetes network model
// (kubernetes.io/docs/concepts/cluster-administration/networking): three rules and the
// goals that they serve, each with a name of its own. What the lab has nothing of, such as
// services, is not claimed.
func (l *reader) model(b *blocks.Block, c *expectBody) []*expect.Reach {
	l.Word(c.model, "model", b.Scope, "", []string{kubernetesModel}, nil)
	attrs := []*hcl.Attribute{c.from, c.to, c.port, c.protocol, c.outcome, c.sometimes, c.answer, c.source, c.forwarded, c.count, c.sticky, c.ttl, c.mtu, c.upload, c.allow, c.denied}
	l.without(c, b.Scope, attrs, append([]string{"spread", "http", "latency", "throughput"}, state.Kinds()...), func(at hcl.Range, _, called string) {
		l.Errorf(at, "Not with a model", "A model says itself who dials whom, and what is seen. Remove %s, or write another expectation.", called)
	})
	m := modelReader{lab: l.lab, places: l.places}
	claims := m.claims()
	if len(m.listening(false)) == 0 {
		l.Errorf(c.model.NameRange, "Nothing to dial", "The model is about connections between pods, and no pod of this lab listens on a tcp port. Give a pod a port block.")
	}
	broken := l.broken(c, claims, b.Scope)
	var out []*expect.Reach
	pairs := 0
	for _, e := range claims {
		rule := e.rule
		if e.Broken = slices.Contains(broken, e.rule); e.Broken {
			rule += " fails"
		}
		e.Name, e.Origin = l.nameOr(c.name, b)+": "+rule+": "+e.Name, b.Origin()
		e.Within = l.Duration(c.within, defaultWithin, false, b.Scope)
		e.Retry = l.Duration(c.retry, defaultRetry, true, b.Scope)
		out = append(out, e.Reach)
		for _, row := range e.Only {
			for _, part := range row {
				if part {
					pairs++
				}
			}
		}
	}
	if pairs > functions.MaxPairs {
		l.Errorf(b.LabelRange, "Too many pairs", "The model of this lab has %d pairs. The limit is %d.", pairs, functions.MaxPairs)
		return nil
	}
	return out
}

// broken reads which rules of the model are to fail.
func (l *reader) broken(c *expectBody, claims []modelClaim, sc blocks.Scope) (rules []string) {
	v, ok := l.Value(c.fails, sc)
	if !ok {
		return nil
	}
	for _, o := range blocks.ObjectsIn(v) {
		rule, _ := blocks.AsText(o)
		switch {
		case !slices.Contains(modelRules, rule):
			l.Errorf(c.fails.Expr.Range(), "Unknown rule", "%s is not a rule of the model.%s", blocks.QuoteOr(o), blocks.OrKnown(rule, modelRules))
		case !slices.ContainsFunc(claims, func(m modelClaim) bool { return m.rule == rule }):
			l.Errorf(c.fails.Expr.Range(), "Rule not tried", "Nothing in this lab tries %s. Remove it from fails, or add what it is about, such as a second node.", rule)
		default:
			rules = append(rules, rule)
		}
	}
	return rules
}

// modelReader makes the claims of the model about a lab.
type modelReader struct {
	lab    *topology.Lab
	places *names.Places
}

// end is one end of connections: where it is, and as a target, who answers there.
type end struct {
	object any
	node   *topology.Node // nil: outside the cluster
	target expect.Target
	answer string
}

// claims are the rules and goals, those about one node before those across nodes.
func (m *modelReader) claims() (out []modelClaim) {
	var pods, nodes, outside []end
	for _, pod := range m.lab.Pods {
		if !pod.HostNetwork {
			pods = append(pods, end{object: pod, node: pod.Node})
		}
	}
	for _, n := range m.lab.Nodes {
		nodes = append(nodes, end{object: n, node: n})
	}
	for _, c := range m.lab.Clients {
		outside = append(outside, end{object: c})
	}
	listening, onNodes := m.listening(false), m.listening(true)

	sameNode := func(from, to end) bool { return from.node == to.node }
	acrossNodes := func(from, to end) bool { return from.node != to.node }
	itself := func(from, to end) bool { return from.object == to.object }
	all := func(end, end) bool { return true }
	add := func(rule, means string, from, to []end, part func(from, to end) bool, seen bool) *expect.Reach {
		e := m.claim(from, to, part, seen)
		if e == nil {
			return &expect.Reach{}
		}
		e.Name = means
		out = append(out, modelClaim{rule, e})
		return e
	}
	const direct, own = "every pod reaches every pod without NAT", "a pod's own address is the one that others see"
	add("rule 1 on one node", direct, pods, listening, sameNode, false)
	add("rule 1 across nodes", direct, pods, listening, acrossNodes, false)
	add("rule 2", "a node reaches its pods without NAT", nodes, listening, sameNode, true)
	add("rule 2", "pods reach what listens on their node without NAT", pods, onNodes, sameNode, true)
	add("rule 2", "pods reach their node, where nothing listens", pods, m.silentNodes(onNodes), sameNode, false).Outcome = flow.Refused
	add("rule 3 on one node", own, pods, listening, sameNode, true)
	add("rule 3 across nodes", own, pods, listening, acrossNodes, true)
	add("goal 1", "what runs in a pod reaches itself on localhost", pods, loopback(listening), itself, false)
	for _, protocol := range []topology.Protocol{topology.TCP, topology.UDP} {
		over := " over " + string(protocol)
		add("goal 3", "pods reach services"+over, pods, m.services(protocol), all, false).Protocol = flow.Protocol(protocol)
		add("goal 4", "the outside reaches services"+over, outside, m.external(protocol), all, false).Protocol = flow.Protocol(protocol)
	}
	return out
}

// claim is one claim about those pairs of from and to that are part of it; nil: there is none.
// seen: the server must see an address of the dialer.
func (m *modelReader) claim(from, to []end, part func(from, to end) bool, seen bool) *expect.Reach {
	e := &expect.Reach{Protocol: flow.TCP}
	found := false
	for _, f := range from {
		place, ok := m.places.Place(f.object)
		if !ok {
			continue
		}
		row := make([]bool, len(to))
		for i, t := range to {
			row[i] = part(f, t) && reachable(place, t.target.Addr.Addr())
			found = found || row[i]
		}
		e.From, e.Only = append(e.From, place), append(e.Only, row)
		if seen {
			addrs, _ := names.AllAddrs(f.object)
			var prefixes []netip.Prefix
			for _, a := range addrs {
				prefixes = append(prefixes, topology.Single(a))
			}
			e.Sources = append(e.Sources, prefixes)
		}
	}
	for _, t := range to {
		e.To = append(e.To, t.target)
		if t.answer != "" {
			e.Theirs = append(e.Theirs, t.answer)
		}
	}
	if !found {
		return nil
	}
	return e
}

// reachable reports whether a dialer has an address of the family.
func reachable(from expect.Place, to netip.Addr) bool {
	return slices.ContainsFunc(from.Addrs, func(a netip.Addr) bool { return a.Is6() == to.Is6() })
}

// listening are the pods that listen on a tcp port, once per address: those in the host's
// network, or all others.
func (m *modelReader) listening(hostNetwork bool) (out []end) {
	for _, pod := range m.lab.Pods {
		i := slices.IndexFunc(pod.Ports, func(p topology.Port) bool { return p.Protocol == topology.TCP })
		if i < 0 || pod.HostNetwork != hostNetwork {
			continue
		}
		for _, a := range pod.Addrs {
			out = append(out, end{object: pod, node: pod.Node, answer: pod.AgentName(), target: expect.Target{
				Name: fmt.Sprintf("pod %s:%d", pod.AgentName(), pod.Ports[i].Number), Addr: netip.AddrPortFrom(a, pod.Ports[i].Number)}})
		}
	}
	return out
}

// silentNodes are the nodes on which nothing listens.
func (m *modelReader) silentNodes(onNodes []end) (out []end) {
	for _, n := range m.lab.Nodes {
		if slices.ContainsFunc(onNodes, func(e end) bool { return e.node == n }) {
			continue
		}
		for _, a := range n.Addrs {
			out = append(out, end{object: n, node: n, target: expect.Target{Name: fmt.Sprintf("node %s:%d", n.Name, kubeletPort), Addr: netip.AddrPortFrom(a, kubeletPort)}})
		}
	}
	return out
}

// loopback are the same listeners, on 127.0.0.1 or ::1.
func loopback(listening []end) []end {
	out := slices.Clone(listening)
	for i := range out {
		t := &out[i].target
		local := netip.AddrFrom4([4]byte{127, 0, 0, 1})
		if t.Addr.Addr().Is6() {
			local = netip.IPv6Loopback()
		}
		t.Addr = netip.AddrPortFrom(local, t.Addr.Port())
		t.Name = t.Addr.String()
	}
	return out
}

// services are the cluster IPs of services that somebody serves on every node.
func (m *modelReader) services(protocol topology.Protocol) (out []end) {
	for _, s := range m.lab.Services {
		for _, p := range s.Ports {
			if p.Protocol != protocol || s.InternalTrafficPolicy == topology.PolicyLocal {
				continue
			}
			for _, a := range s.ClusterIPs {
				if served(p, a, nil) {
					out = append(out, end{target: serviceTarget(s, a, p.Port)})
				}
			}
		}
	}
	return out
}

// external are the addresses at which the outside reaches services: load balancers, and
// node ports of the nodes that may answer.
func (m *modelReader) external(protocol topology.Protocol) (out []end) {
	for _, s := range m.lab.Services {
		for _, p := range s.Ports {
			if p.Protocol != protocol || len(s.SourceRanges) > 0 {
				continue
			}
			for _, b := range s.LoadBalancers {
				if served(p, b.Addr, nil) {
					out = append(out, end{target: serviceTarget(s, b.Addr, p.Port)})
				}
			}
			for _, n := range m.lab.Nodes {
				where := n
				if s.ExternalTrafficPolicy != topology.PolicyLocal {
					where = nil
				}
				for _, a := range n.Addrs {
					if p.NodePort != 0 && served(p, a, where) {
						out = append(out, end{target: expect.Target{Name: fmt.Sprintf("node %s:%d", n.Name, p.NodePort), Addr: netip.AddrPortFrom(a, p.NodePort)}})
					}
				}
			}
		}
	}
	return out
}

func serviceTarget(s *topology.Service, a netip.Addr, port uint16) expect.Target {
	name := s.Name
	if s.Namespace != topology.DefaultNamespace {
		name += "." + s.Namespace
	}
	return expect.Target{Name: fmt.Sprintf("service %s:%d", name, port), Addr: netip.AddrPortFrom(a, port)}
}

// served reports whether a service port has a ready pod of the address's family, on a node
// if one is given.
func served(p *topology.ServicePort, a netip.Addr, on *topology.Node) bool {
	return slices.ContainsFunc(p.Endpoints, func(e *topology.Endpoint) bool {
		return e.Ready && e.Pod != nil && e.Addr.Addr().Is6() == a.Is6() && (on == nil || e.Pod.Node == on)
	})
}
