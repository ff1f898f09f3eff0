package bridge

import (
	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/datapath/podnet"
	"github.com/netlab/netlab/topology"
)

// Mode is the mode bridge.
func Mode() podnet.Mode {
	return podnet.Mode{Compile: compile, NetworkMode: topology.NetworkMode{
		Name:          "bridge",
		About:         "Docker's: the same bridge on every node, masquerading out, published ports in",
		Limits:        "no pod reaches a pod of another node but by a published port; no services, policies or IPv6",
		SharedCIDR:    true,
		PublishedOnly: true,
		HidesNodes:    true,
		OnlyIPv4:      true,
		DefaultCIDR:   topology.DockerCIDR,
	}}
}

// compile returns the plan of the lab without anything that leads to other nodes' pods.
func compile(lab *topology.Lab) *plan.Plan {
	bridge := podnet.Bridge{Name: podnet.Docker0, MTU: lab.Network.PathMTU}
	return bridge.Compile(lab, func(*topology.Node, *plan.Netns) {}, rules)
}
