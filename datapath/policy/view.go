package policy

import (
	"slices"

	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/datapath/plan/ipvs"
	"github.com/netlab/netlab/topology"
)

// View is what one node needs to know about the policies of a lab.
type View struct {
	Lab  *topology.Lab
	Node *topology.Node
	// Options says how denied packets end, and what applies towards the node.
	Options topology.Policies
	// Pods are the node's pods that some policy selects, by namespace and name. Pods on
	// the host's network are never among them, nor are pods that no policy selects: for
	// them everything is allowed.
	Pods []Pod
	// Virtual are the node's virtual servers. What is for their addresses is not for the
	// node, though it passes INPUT: the endpoint is not known there yet.
	Virtual []ipvs.Server
	// Sections are what the Pods refer to: admin tier, network policies, baseline
	// tier, each in the order of evaluation.
	Sections []*Section
}

// Pod is a pod of the node and the policies that apply to it.
type Pod struct {
	*topology.Pod
	Ingress, Egress Side
}

// Side has the policies of one direction of a pod, in order. What the Admin tier does
// not decide, network policies decide if there are any, or else the Baseline tier; what
// no rule decides is allowed.
type Side struct {
	Admin    []*Section
	Network  []*Section // those that isolate the pod
	Baseline []*Section // evaluated only if Network is empty
}

// Isolated reports whether only what some network policy allows is allowed.
func (s *Side) Isolated() bool { return len(s.Network) > 0 }

// Open reports whether no policy applies at all.
func (s *Side) Open() bool { return !s.Isolated() && len(s.Admin) == 0 && len(s.Baseline) == 0 }

// Side returns one direction of the pod.
func (p *Pod) Side(d Direction) *Side {
	if d == Ingress {
		return &p.Ingress
	}
	return &p.Egress
}

// Families returns the IP families of the pods, false for IPv4 and true for IPv6.
func (v *View) Families() []bool {
	var out []bool
	for _, cidr := range v.Lab.Network.PodCIDRs {
		out = append(out, cidr.Addr().Is6())
	}
	return out
}

// Origin is the origin of what serves all policies together.
func (v *View) Origin() plan.Origin {
	o := v.Options.Origin
	return plan.Origin{Object: "policies", File: o.File, Line: o.Line}
}

// Views returns the view of each node, in the order of the lab's nodes. Sections are
// resolved once: nodes share what is not about their own pods.
func Views(lab *topology.Lab) []View {
	all := sections(lab)
	views := make([]View, 0, len(lab.Nodes))
	for _, n := range lab.Nodes {
		views = append(views, newView(lab, n, all))
	}
	return views
}

// newView picks the sections that select a node's pods.
func newView(lab *topology.Lab, node *topology.Node, all []*Section) View {
	v := View{Lab: lab, Node: node, Options: lab.PolicyOptions}
	index := map[*topology.Pod]int{}
	for _, p := range node.Pods {
		if !p.HostNetwork {
			index[p] = len(v.Pods)
			v.Pods = append(v.Pods, Pod{Pod: p})
		}
	}
	for _, s := range all {
		local := *s
		local.Pods = nil
		for _, p := range s.Pods {
			if _, here := index[p]; here {
				local.Pods = append(local.Pods, p)
			}
		}
		if len(local.Pods) == 0 {
			continue
		}
		v.Sections = append(v.Sections, &local)
		for _, p := range local.Pods {
			v.Pods[index[p]].Side(s.Direction).add(&local)
		}
	}
	v.Pods = slices.DeleteFunc(v.Pods, func(p Pod) bool { return p.Ingress.Open() && p.Egress.Open() })
	return v
}

func (s *Side) add(section *Section) {
	switch section.Tier {
	case topology.AdminTier:
		s.Admin = append(s.Admin, section)
	case topology.BaselineTier:
		s.Baseline = append(s.Baseline, section)
	default:
		s.Network = append(s.Network, section)
	}
}
