package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/netlab/netlab/datapath/flow"
	"github.com/netlab/netlab/datapath/walk"
	"github.com/netlab/netlab/topology"
	"github.com/netlab/netlab/topology/meaning"
)

// enforced is what the policies on one node decide about a packet, with the addresses
// that it has there: after DNAT, and before the node replaces the source.
type enforced struct {
	node      *topology.Node
	packet    walk.Packet
	judgement meaning.Judgement
	// egress and ingress are the pods of the two sides, as far as the node has them.
	egress, ingress *topology.Pod
}

// enforcedOn follows a branch from node to node.
func enforcedOn(lab *topology.Lab, b *walk.Branch) []enforced {
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
func inForward(b *walk.Branch, netns string) (p walk.Packet, passed bool) {
	for _, s := range b.Steps {
		switch {
		case s.Leg != walk.Request || s.Netns != netns || s.Tunnel > 0:
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

// deniedBecause lists the policies that stopped a packet on any of its paths, side by
// side; "": none did.
func deniedBecause(lab *topology.Lab, p walk.Prediction) string {
	if len(lab.Policies)+len(lab.ClusterPolicies) == 0 {
		return ""
	}
	var said []string
	for i := range p.Branches {
		if p.Branches[i].Outcome == flow.Connected {
			continue
		}
		for _, e := range enforcedOn(lab, &p.Branches[i]) {
			for _, text := range e.denials() {
				if !slices.Contains(said, text) {
					said = append(said, text)
				}
			}
		}
	}
	return strings.Join(said, "; ")
}

// denials are the sides that deny, each with its policy, rule and place.
func (e *enforced) denials() []string {
	var out []string
	if e.egress != nil && !e.judgement.Egress.Allowed {
		out = append(out, "egress of "+e.egress.AgentName()+" "+e.judgement.Egress.Text("egress"))
	}
	if e.ingress != nil && !e.judgement.Ingress.Allowed {
		out = append(out, "ingress of "+e.ingress.AgentName()+" "+e.judgement.Ingress.Text("ingress"))
	}
	return out
}

// printPolicies shows, for every path that a packet can take, which policies decided.
func (u ui) printPolicies(lab *topology.Lab, p walk.Prediction) {
	if len(lab.Policies)+len(lab.ClusterPolicies) == 0 {
		return
	}
	var said []string
	for i := range p.Branches {
		for _, e := range enforcedOn(lab, &p.Branches[i]) {
			head := fmt.Sprintf("policies on %s, for %s -> %s:", e.node.Name, e.packet.Src.Addr(), e.packet.Dst)
			text := "\n" + head + "\n"
			if e.egress != nil {
				text += "  egress of " + e.egress.AgentName() + ": " + e.judgement.Egress.Text("egress") + "\n"
			}
			if e.ingress != nil {
				text += "  ingress of " + e.ingress.AgentName() + ": " + e.judgement.Ingress.Text("ingress") + "\n"
			}
			if !slices.Contains(said, text) {
				said = append(said, text)
				u.Print("%s", text)
			}
		}
	}
}
