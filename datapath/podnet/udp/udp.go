package udp

import (
	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/datapath/podnet"
	"github.com/netlab/netlab/topology"
)

const port = 8285

// Mode is the mode udp.
func Mode() podnet.Mode {
	return podnet.Mode{Compile: compile, NetworkMode: topology.NetworkMode{
		Name:   "udp",
		About:  "a program on each node carries packets in UDP datagrams",
		Limits: "28 bytes less MTU for pods, 48 over IPv6; the slowest",
		Routed: true, Tunnel: topology.UDPTunnel, Overhead: podnet.Overhead(0), Port: port,
	}}
}

// compile returns the plan of the lab with a TUN device and a program on each node.
func compile(lab *topology.Lab) *plan.Plan {
	return podnet.Userspace{Device: "flannel0", Port: port}.Compile(lab)
}
