package podnet

import (
	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/topology"
)

// wiring is what modes differ in: how a node is prepared for pods (base), what leads to the
// pods of other nodes (far) and to its own (near), what is in a pod, and how packets that
// leave the cluster get the node's address (nat).
type wiring struct {
	base func(out *plan.Netns, n *topology.Node)
	far  func(n *topology.Node, out *plan.Netns)
	near func(out *plan.Netns, pod *topology.Pod)
	pod  func(pod *topology.Pod) plan.Netns
	nat  func(out *plan.Netns, lab *topology.Lab, n *topology.Node)
}

// assemble returns the plan of a lab: the underlay, routers, nodes and clients on it,
// and pods.
func assemble(lab *topology.Lab, w wiring) *plan.Plan {
	ports := namePorts(lab)
	p := &plan.Plan{Lab: lab.Name}
	p.Netns = append(p.Netns, underlay(lab, ports))
	for _, r := range lab.Routers {
		p.Netns = append(p.Netns, router(lab, r, ports))
	}
	for _, n := range lab.Nodes {
		out := node(lab, n, ports)
		w.base(&out, n)
		w.far(n, &out)
		keepFirstRoutes(&out)
		for _, pod := range n.Pods {
			if !pod.HostNetwork {
				w.near(&out, pod)
			}
		}
		if lab.Network.DockerNet(false).IsValid() {
			dockerBeside(&out, lab, n)
		}
		w.nat(&out, lab, n)
		p.Netns = append(p.Netns, out)
	}
	for _, c := range lab.Clients {
		p.Netns = append(p.Netns, client(lab, c, ports))
	}
	for _, pod := range lab.Pods {
		if !pod.HostNetwork {
			p.Netns = append(p.Netns, w.pod(pod))
		}
	}
	if lab.Network.BGP != nil {
		p.Learn()
	}
	p.Sort()
	return p
}
