package suite

import (
	"fmt"
	"slices"

	"github.com/netlab/netlab/datapath/flow"
	"github.com/netlab/netlab/datapath/walk/trace"
	"github.com/netlab/netlab/topology"
	"github.com/netlab/netlab/topology/meaning"
)

// enforced is what the policies on one node decide about a packet, with the addresses
// that it has there: after DNAT, and before the node replaces the source.
type enforced struct {
	node      *topology.Node
	packet    trace.Packet
	judgement meaning.Judgement
	// egress and ingress are the pods of the two sides, as far as the node has them.
	egress, ingress *topology.Pod
}

// enforcedOn follows a branch from node to node. Where no policies are
// enforced nothing is decided.
func enforcedOn(lab *topology.Lab, b *trace.Branch) []enforced {
	if !lab.Enforces() {
		return nil
	}
	var out []enforced
	for _, node := range lab.Nodes {
		p, passed := inForward(b, node.Netns())
		if !passed {
			continue
		}
		from, to := meaning.EndAt(lab, p.Src.Addr()), meaning.EndAt(lab, p.Dst.Addr())
		e := enforced{node: node, packet: p, egress: own(from, node), ingress: own(to, node),
			judgement: meaning.Allowed(lab, from, to, topology.Protocol(p.Protocol), p.Dst.Port())}
		if e.egress != nil || e.ingress != nil {
			out = append(out, e)
		}
	}
	return out
}

// inForward is the first packet of a connection as the filter table of a namespace sees it:
// after PREROUTING, before POSTROUTING, and not inside a tunnel.
func inForward(b *trace.Branch, netns string) (p trace.Packet, passed bool) {
	for _, s := range b.Steps {
		switch {
		case s.Leg != trace.Request || s.Netns != netns || s.Tunnel > 0:
		case s.Hook == "POSTROUTING":
			return p, passed
		default:
			p, passed = s.Packet, true
		}
	}
	return p, passed
}

// own is the pod of an end if the node has it, and it has a network of its own.
func own(e meaning.PolicyEnd, node *topology.Node) *topology.Pod {
	if e.Pod == nil || e.Pod.HostNetwork || e.Pod.Node != node {
		return nil
	}
	return e.Pod
}

// DeniedBy lists the policies that stopped a packet on any of its paths, each with the
// rule and its place.
func DeniedBy(lab *topology.Lab, p trace.Prediction) []string {
	said, _ := decidedBy(lab, slices.DeleteFunc(slices.Clone(p.Branches), func(b trace.Branch) bool { return b.Outcome == flow.Connected }))
	return said
}

// decidedBy lists what policies decided about a packet on some of its paths: about one
// that connected, why they let it pass; about any other, which of them stopped it. Named:
// some policy decided, rather than none.
func decidedBy(lab *topology.Lab, branches []trace.Branch) (said []string, named bool) {
	for i := range branches {
		for _, e := range enforcedOn(lab, &branches[i]) {
			for _, s := range e.sides() {
				text := s.name + " " + s.Text(s.direction)
				if s.Allowed == (branches[i].Outcome == flow.Connected) && !slices.Contains(said, text) {
					said, named = append(said, text), named || s.Policy != ""
				}
			}
		}
	}
	return said, named
}

// side is what policies decided about one of the two pods of a packet.
type side struct {
	meaning.SideJudgement
	direction string
	name      string // egress of db/web-0
}

// sides are those of which the node has the pod.
func (e *enforced) sides() []side {
	var list []side
	for _, s := range []struct {
		side
		pod *topology.Pod
	}{{side{e.judgement.Egress, "egress", ""}, e.egress}, {side{e.judgement.Ingress, "ingress", ""}, e.ingress}} {
		if s.pod != nil {
			s.name = s.direction + " of " + s.pod.AgentName()
			list = append(list, s.side)
		}
	}
	return list
}

// Decisions says for every path that a packet can take which policies decided, a
// paragraph for each node that has one of its pods.
func Decisions(lab *topology.Lab, p trace.Prediction) []string {
	var said []string
	for i := range p.Branches {
		for _, e := range enforcedOn(lab, &p.Branches[i]) {
			text := fmt.Sprintf("policies on %s, for %s -> %s:\n", e.node.Name, e.packet.Src.Addr(), e.packet.Dst)
			for _, s := range e.sides() {
				text += "  " + s.name + ": " + s.Text(s.direction) + "\n"
			}
			if !slices.Contains(said, text) {
				said = append(said, text)
			}
		}
	}
	return said
}
