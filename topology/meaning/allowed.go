package meaning

import (
	"net/netip"
	"slices"

	"github.com/netlab/netlab/topology"
)

// PolicyEnd is one end of a connection as network policies know it: a pod, a node, or
// just an address. A pod on the host's network is its node.
type PolicyEnd struct {
	Pod  *topology.Pod
	Node *topology.Node
	// Addr is the address in the packet; the zero Addr stands for the first one of the
	// pod or node that is of the family of the other end.
	Addr netip.Addr
}

// PolicyReason is what decided about one side of a connection.
type PolicyReason string

// The reasons. With the first four no policy applies; the others are in the order of
// evaluation.
const (
	NoSide     PolicyReason = "no side"     // the end is not a pod with a network of its own
	SamePod    PolicyReason = "itself"      // a pod reaches itself
	FromNode   PolicyReason = "own node"    // a node reaches its own pods
	ToNode     PolicyReason = "to own node" // a pod reaches its own node, unless the lab enforces that
	ByAdmin    PolicyReason = "admin"       // a rule of the Admin tier accepts or denies
	ByPolicy   PolicyReason = "policy"      // a rule of a network policy allows
	Isolated   PolicyReason = "isolated"    // network policies isolate the pod, and no rule matches
	ByBaseline PolicyReason = "baseline"    // a rule of the Baseline tier accepts or denies
	ByDefault  PolicyReason = "default"     // nothing decides: allowed
)

// SideJudgement is what policies say about one side of a connection.
type SideJudgement struct {
	Allowed bool
	Reason  PolicyReason
	// Policy is the name of the one that decided; that of a network policy begins with
	// its namespace and a slash. With Isolated it is the first that isolates the pod.
	Policy string
	// Rule is the one that decided: its number in its direction, from 0; -1: none.
	Rule   int
	Name   string          // of the rule
	Origin topology.Origin // of the rule, or of the policy
	// Isolating are all network policies that isolate the pod in this direction.
	Isolating []*topology.Policy
	// Passed is the rule of the Admin tier that passed on to the network policies; nil:
	// none.
	Passed *topology.PolicyRule
}

// Judgement is what network policies say about a connection. Both sides have to allow
// it.
type Judgement struct {
	Egress, Ingress SideJudgement
}

// EndAt is the end with an address; an address without an owner stands alone. Where there
// are policies, no two nodes give pods the same address.
func EndAt(lab *topology.Lab, a netip.Addr) PolicyEnd {
	at := network{lab}.placeOf(nil, a)
	return PolicyEnd{Pod: at.pod, Node: at.node, Addr: a}
}

// Allowed says what the network policies of a lab decide about a connection, by the API
// alone: networking.k8s.io/v1 and policy.networking.k8s.io/v1alpha2, and where those
// leave something open, doc.go of this package. Both ends are as in the packet that the
// pods' nodes see: after services were resolved and before the source's own node
// replaced its address. Protocol is tcp, udp, sctp, or any other name, such as icmp,
// for a protocol without ports.
//
// In each direction the Admin tier comes first, in the order of priorities; then the
// network policies, if they isolate the pod; else the Baseline tier; and what no rule
// decides is allowed. Replies and ICMP errors belong to their connection.
func Allowed(lab *topology.Lab, from, to PolicyEnd, protocol topology.Protocol, port uint16) Judgement {
	c := connection{lab: lab, protocol: protocol, port: port}
	c.from, c.to = from.normal(), to.normal()
	c.from.Addr, c.to.Addr = c.from.address(c.to), c.to.address(c.from)
	allowed := func(why PolicyReason) SideJudgement { return SideJudgement{Allowed: true, Reason: why, Rule: -1} }
	switch {
	case c.from.Pod != nil && c.from.Pod == c.to.Pod:
		return Judgement{allowed(SamePod), allowed(SamePod)}
	case c.to.Pod != nil && c.from.Node == c.to.Pod.Node:
		return Judgement{allowed(NoSide), allowed(FromNode)}
	case c.from.Pod != nil && c.to.Node == c.from.Pod.Node && !lab.PolicyOptions.HostEgress:
		return Judgement{allowed(ToNode), allowed(NoSide)}
	}
	out := Judgement{allowed(NoSide), allowed(NoSide)}
	if c.from.Pod != nil {
		out.Egress = c.side(c.from.Pod, c.to, true)
	}
	if c.to.Pod != nil {
		out.Ingress = c.side(c.to.Pod, c.from, false)
	}
	return out
}

// normal makes a pod on the host's network its node.
func (e PolicyEnd) normal() PolicyEnd {
	if e.Pod != nil && e.Pod.HostNetwork {
		return PolicyEnd{Node: e.Pod.Node, Addr: e.Addr}
	}
	return e
}

// address is the address of an end in a connection with another.
func (e PolicyEnd) address(other PolicyEnd) netip.Addr {
	of := func(e PolicyEnd) []netip.Addr {
		switch {
		case e.Addr.IsValid():
			return []netip.Addr{e.Addr.Unmap()}
		case e.Pod != nil:
			return e.Pod.Addrs
		case e.Node != nil:
			return e.Node.Addrs
		}
		return nil
	}
	own := of(e)
	for _, a := range own {
		if slices.ContainsFunc(of(other), func(b netip.Addr) bool { return a.Is6() == b.Is6() }) {
			return a
		}
	}
	if len(own) > 0 {
		return own[0]
	}
	return netip.Addr{}
}

// connection is what rules are matched against.
type connection struct {
	lab      *topology.Lab
	from, to PolicyEnd
	protocol topology.Protocol
	port     uint16
}

// side judges one direction of a pod with some other end.
func (c *connection) side(pod *topology.Pod, other PolicyEnd, egress bool) SideJudgement {
	decided, by := c.tier(topology.AdminTier, pod, other, egress)
	if by != nil && by.Action != topology.PolicyPass {
		return decided
	}
	passed := by
	out := SideJudgement{Allowed: true, Reason: ByDefault, Rule: -1}
	for _, p := range c.lab.Policies {
		if p.Direction(egress).Isolates && topology.HasPod(p.Pods, pod) {
			out.Isolating = append(out.Isolating, p)
		}
	}
	for _, p := range out.Isolating {
		for i := range p.Direction(egress).Rules {
			if rule := &p.Direction(egress).Rules[i]; c.matches(rule, other, egress) {
				out.decide(ByPolicy, true, p.Namespace+"/"+p.Name, i, rule)
				out.Passed = passed
				return out
			}
		}
	}
	if len(out.Isolating) > 0 {
		p := out.Isolating[0]
		out.Allowed, out.Reason, out.Policy, out.Origin, out.Passed = false, Isolated, p.Namespace+"/"+p.Name, p.Origin, passed
		return out
	}
	decided, by = c.tier(topology.BaselineTier, pod, other, egress)
	if by == nil || by.Action == topology.PolicyPass {
		decided = out
	}
	decided.Passed = passed
	return decided
}

// tier finds the first rule of a tier that matches; nil: none.
func (c *connection) tier(t topology.PolicyTier, pod *topology.Pod, other PolicyEnd, egress bool) (SideJudgement, *topology.PolicyRule) {
	for _, p := range c.lab.ClusterPolicies {
		if p.Tier != t || !topology.HasPod(p.Pods, pod) {
			continue
		}
		rules := p.Rules(egress)
		for i := range rules {
			if rule := &rules[i]; c.matches(rule, other, egress) {
				why := ByAdmin
				if t == topology.BaselineTier {
					why = ByBaseline
				}
				var out SideJudgement
				out.decide(why, rule.Action == topology.PolicyAccept, p.Name, i, rule)
				return out, rule
			}
		}
	}
	return SideJudgement{}, nil
}

func (s *SideJudgement) decide(why PolicyReason, allowed bool, policy string, index int, rule *topology.PolicyRule) {
	s.Reason, s.Allowed, s.Policy, s.Rule, s.Name, s.Origin = why, allowed, policy, index, rule.Name, rule.Origin
}

// matches reports whether a rule matches: one of its peers the other end, and one of
// its ports that of the connection.
func (c *connection) matches(rule *topology.PolicyRule, other PolicyEnd, egress bool) bool {
	// A named port is one that the pod behind a peer's selector declares. A block of
	// addresses has no named ports.
	peers := func(selected bool) bool {
		return len(rule.Peers) == 0 || slices.ContainsFunc(rule.Peers, func(p topology.PolicyPeer) bool {
			return p.Block.IsValid() && !selected && inBlock(p, other.Addr) || other.Pod != nil && topology.HasPod(p.Pods, other.Pod)
		})
	}
	if len(rule.Ports) == 0 {
		return peers(false)
	}
	for _, p := range rule.Ports {
		named := p.Name != ""
		if p.Protocol != c.protocol || !peers(named && egress) {
			continue
		}
		if !named && p.First <= c.port && c.port <= p.Last || named && declares(c.to.Pod, p, c.port) {
			return true
		}
	}
	return false
}

// declares reports whether a pod has a port of that name, protocol and number.
func declares(pod *topology.Pod, p topology.PolicyPort, number uint16) bool {
	return pod != nil && slices.ContainsFunc(pod.Ports, func(own topology.Port) bool {
		return own.Name == p.Name && own.Protocol == p.Protocol && own.Number == number
	})
}

// inBlock reports whether a block holds an address, exceptions aside. It never holds one
// of the other family.
func inBlock(p topology.PolicyPeer, a netip.Addr) bool {
	return p.Block.Contains(a) && !slices.ContainsFunc(p.Except, func(e netip.Prefix) bool { return e.Contains(a) })
}
