package main

import (
	"fmt"
	"slices"

	"github.com/netlab/netlab/datapath/walk"
	"github.com/netlab/netlab/topology"
)

// enforced is what the policies on one node mean for a packet on its way, with the
// addresses that it has there: after those of a service were replaced, and before
// the node replaces the source.
type enforced struct {
	node      *topology.Node
	packet    walk.Packet
	judgement topology.Judgement
	// egress and ingress are the pods of the two sides, as far as the node has them.
	egress, ingress *topology.Pod
}

// enforcedOn follows a branch from node to node.
func enforcedOn(lab *topology.Lab, b *walk.Branch) []enforced {
	var out []enforced
	for _, node := range lab.Nodes {
		i := slices.IndexFunc(b.Steps, func(s walk.Step) bool { return s.Netns == node.Netns() && s.Leg == walk.Request })
		if i < 0 {
			continue
		}
		p := b.Steps[i].Packet
		for _, s := range b.Steps[i:] {
			if s.Leg != walk.Request || s.Netns != node.Netns() || s.Hook == "POSTROUTING" || s.Tunnel > 0 {
				break
			}
			p = s.Packet
		}
		from, to := lab.PolicyEndAt(p.Src.Addr()), lab.PolicyEndAt(p.Dst.Addr())
		e := enforced{node: node, packet: p, egress: own(from, node), ingress: own(to, node),
			judgement: topology.Allowed(lab, from, to, topology.Protocol(p.Protocol), p.Dst.Port())}
		if e.egress != nil || e.ingress != nil {
			out = append(out, e)
		}
	}
	return out
}

// own is the pod of an end if the node has it, and it has a network of its own.
func own(e topology.PolicyEnd, node *topology.Node) *topology.Pod {
	if e.Pod == nil || e.Pod.HostNetwork || e.Pod.Node != node {
		return nil
	}
	return e.Pod
}

// printPolicies says, for every way that a packet can take, which policies decided.
func (u *ui) printPolicies(lab *topology.Lab, p walk.Prediction) {
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
				u.print("%s", text)
			}
		}
	}
}
