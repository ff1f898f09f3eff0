package canal

import (
	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/datapath/podnet"
	"github.com/netlab/netlab/topology"
)

// Mode is the mode canal.
func Mode() podnet.Mode {
	return podnet.Mode{Compile: compile, NetworkMode: topology.NetworkMode{
		Name:   "canal",
		About:  "flannel's VXLAN tunnels between nodes, Calico's links to pods and its policies",
		Limits: "50 bytes less MTU for pods, 70 over IPv6; with virtual servers and IPv6, a node dials its own pods from any service's address",
		Routed: true, Tunnel: topology.VXLANTunnel, Overhead: podnet.VXLANOverhead(),
		PodRoutes: true, PodLinks: "cali", Style: "calico",
	}}
}

// compile returns the plan of the lab with a tunnel device on each node, and no bridge.
func compile(lab *topology.Lab) *plan.Plan {
	return podnet.Routed(lab, podnet.VXLANPodMTU(lab), podnet.VXLANTunnels(lab), func(out *plan.Netns, lab *topology.Lab, n *topology.Node) {
		podnet.FlannelMasquerade(out, lab, n)
		podnet.CalicoMasquerade(out, lab, n)
	})
}
