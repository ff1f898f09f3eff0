package topology

import (
	"net/netip"
	"slices"
	"strings"
)

// PolicyEnd is one end of a connection as network policies know it: a pod, a node, or
// a mere address. A pod on the host's network is its node.
type PolicyEnd struct {
	Pod  *Pod
	Node *Node
	// Addr is the address in the packet; the zero Addr stands for the first one of the
	// pod or node that is of the family of the other end.
	Addr netip.Addr
}

// PolicyReason is what decided about one side of a connection.
type PolicyReason string

// The reasons. The first four say that policies have no say; the others in which
// order they have it.
const (
	NoSide     PolicyReason = "no side"     // the end is no pod with a network of its own
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
	// Policy is the one that decided: a name, of a network policy behind its namespace
	// and a slash. With Isolated it is the first of those that isolate the pod.
	Policy string
	// Rule is the one that decided: its number in its direction, from 0; -1: none.
	Rule   int
	Name   string // of the rule
	Origin Origin // of the rule, or of the policy
	// Isolating are all network policies that isolate the pod in this direction.
	Isolating []*Policy
	// Passed is the rule of the Admin tier that left it to the network policies; nil:
	// there is none.
	Passed *PolicyRule
}

// Judgement is what network policies say about a connection. Both sides have to allow
// it.
type Judgement struct {
	Egress, Ingress SideJudgement
}

// Allowed reports whether both sides allow the connection.
func (j Judgement) Allowed() bool { return j.Egress.Allowed && j.Ingress.Allowed }

// PolicyEndAt is the end that has an address: what is nobody's is an address alone.
func (lab *Lab) PolicyEndAt(a netip.Addr) PolicyEnd {
	at := lab.placeOf(a)
	return PolicyEnd{Pod: at.pod, Node: at.node, Addr: a}
}

// Allowed says what the network policies of a lab mean for a connection, by the API
// alone: networking.k8s.io/v1 and policy.networking.k8s.io/v1alpha2, and where those
// leave it open what doc.go of this package says. Both ends are as in the packet that
// the pods' nodes see: after services were resolved and before the source's own node
// replaced its address. Protocol is tcp, udp, sctp, or any other word for a protocol
// without ports, as icmp.
//
// In each direction the Admin tier comes first, in the order of priorities; then the
// network policies, if they isolate the pod; else the Baseline tier; and what nobody
// decides is allowed. Replies and errors about a connection are part of it.
func Allowed(lab *Lab, from, to PolicyEnd, protocol Protocol, port uint16) Judgement {
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
		out.Egress = c.side(c.from.Pod, c.to, egressOf)
	}
	if c.to.Pod != nil {
		out.Ingress = c.side(c.to.Pod, c.from, ingressOf)
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

// connection is what rules are asked about.
type connection struct {
	lab      *Lab
	from, to PolicyEnd
	protocol Protocol
	port     uint16
}

// policyWay is a direction of policies.
type policyWay uint8

const (
	ingressOf policyWay = iota
	egressOf
)

func (d policyWay) of(p *Policy) *Direction {
	if d == egressOf {
		return &p.Egress
	}
	return &p.Ingress
}

func (d policyWay) rules(p *ClusterPolicy) []PolicyRule {
	if d == egressOf {
		return p.Egress
	}
	return p.Ingress
}

// side judges one direction of a pod with some other end.
func (c *connection) side(pod *Pod, other PolicyEnd, d policyWay) SideJudgement {
	decided, by := c.tier(AdminTier, pod, other, d)
	if by != nil && by.Action != PolicyPass {
		return decided
	}
	var passed *PolicyRule
	if by != nil {
		passed = by
	}
	out := SideJudgement{Allowed: true, Reason: ByDefault, Rule: -1}
	for _, p := range c.lab.Policies {
		if d.of(p).Isolates && isPolicyPod(p.Pods, pod) {
			out.Isolating = append(out.Isolating, p)
		}
	}
	for _, p := range out.Isolating {
		for i := range d.of(p).Rules {
			if rule := &d.of(p).Rules[i]; c.matches(rule, other, d) {
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
	decided, by = c.tier(BaselineTier, pod, other, d)
	if by == nil || by.Action == PolicyPass {
		decided = out
	}
	decided.Passed = passed
	return decided
}

// tier finds the first rule of a tier that matches; nil: there is none.
func (c *connection) tier(t PolicyTier, pod *Pod, other PolicyEnd, d policyWay) (SideJudgement, *PolicyRule) {
	for _, p := range c.lab.ClusterPolicies {
		if p.Tier != t || !isPolicyPod(p.Pods, pod) {
			continue
		}
		rules := d.rules(p)
		for i := range rules {
			if rule := &rules[i]; c.matches(rule, other, d) {
				why := ByAdmin
				if t == BaselineTier {
					why = ByBaseline
				}
				var out SideJudgement
				out.decide(why, rule.Action == PolicyAccept, p.Name, i, rule)
				return out, rule
			}
		}
	}
	return SideJudgement{}, nil
}

func (s *SideJudgement) decide(why PolicyReason, allowed bool, policy string, index int, rule *PolicyRule) {
	s.Reason, s.Allowed, s.Policy, s.Rule, s.Name, s.Origin = why, allowed, policy, index, rule.Name, rule.Origin
}

// matches reports whether a rule matches: one of its peers the other end, and one of
// its ports that of the connection.
func (c *connection) matches(rule *PolicyRule, other PolicyEnd, d policyWay) bool {
	// Who is not resolved is nobody's peer: a named port is that of a pod that a peer
	// selects, never that of a block.
	peers := func(selected bool) bool {
		return len(rule.Peers) == 0 || slices.ContainsFunc(rule.Peers, func(p PolicyPeer) bool {
			return p.Block.IsValid() && !selected && p.holds(other.Addr) || other.Pod != nil && isPolicyPod(p.Pods, other.Pod)
		})
	}
	if len(rule.Ports) == 0 {
		return peers(false)
	}
	for _, p := range rule.Ports {
		named := p.Name != ""
		if p.Protocol != c.protocol || !peers(named && d == egressOf) {
			continue
		}
		if !named && p.First <= c.port && c.port <= p.Last || named && declares(c.to.Pod, p, c.port) {
			return true
		}
	}
	return false
}

// declares reports whether a pod has a port of that name, protocol and number.
func declares(pod *Pod, p PolicyPort, number uint16) bool {
	return pod != nil && slices.ContainsFunc(pod.Ports, func(own Port) bool {
		return own.Name == p.Name && own.Protocol == p.Protocol && own.Number == number
	})
}

// holds reports whether a block holds an address, exceptions aside. It never holds one
// of the other family.
func (p PolicyPeer) holds(a netip.Addr) bool {
	return p.Block.Contains(a) && !slices.ContainsFunc(p.Except, func(e netip.Prefix) bool { return e.Contains(a) })
}

// isPolicyPod finds a pod in a list by namespace and name: lists can be long, and
// there can be many.
func isPolicyPod(list []*Pod, pod *Pod) bool {
	i, found := slices.BinarySearchFunc(list, pod, func(a, b *Pod) int {
		if c := strings.Compare(a.Namespace, b.Namespace); c != 0 {
			return c
		}
		return strings.Compare(a.Name, b.Name)
	})
	return found && list[i] == pod
}
