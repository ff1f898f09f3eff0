package vxlan

import (
	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/datapath/podnet"
	"github.com/netlab/netlab/topology"
)

// Mode is the mode vxlan.
func Mode() podnet.Mode {
	return podnet.Mode{Compile: compile, NetworkMode: topology.NetworkMode{
		Name:   "vxlan",
		About:  "frames between nodes travel inside UDP",
		Limits: "50 bytes less MTU for pods, 70 over IPv6",
		Routed: true, Tunnel: topology.VXLANTunnel, Overhead: podnet.VXLANOverhead(),
	}}
}

// compile returns the plan of the lab with a tunnel device on each node.
func compile(lab *topology.Lab) *plan.Plan {
	return podnet.Bridged(lab, podnet.VXLANPodMTU(lab), podnet.VXLANTunnels(lab))
}
