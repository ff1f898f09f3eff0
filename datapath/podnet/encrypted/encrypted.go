package encrypted

import (
	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/datapath/podnet"
	"github.com/netlab/netlab/topology"
)

const (
	port     = 6783
	overhead = 8 + 16 // the number of a packet, and its tag
)

// Mode is the mode encrypted.
func Mode() podnet.Mode {
	return podnet.Mode{Compile: compile, NetworkMode: topology.NetworkMode{
		Name:   "encrypted",
		About:  "a program on each node carries packets in UDP datagrams that nobody else can read",
		Limits: "52 bytes less MTU for pods, 72 over IPv6; slower than udp",
		Routed: true, Tunnel: topology.UDPTunnel, Overhead: podnet.Overhead(overhead), Port: port, Encrypts: true,
	}}
}

// compile returns the plan of the lab with a TUN device and a program on each node.
func compile(lab *topology.Lab) *plan.Plan {
	return podnet.Userspace{Device: "weave0", Port: port, Secret: lab.Network.Secret}.Compile(lab)
}
