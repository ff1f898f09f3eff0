package ipsec

import (
	"crypto/sha256"
	"encoding/binary"
	"net/netip"

	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/datapath/podnet"
	"github.com/netlab/netlab/topology"
)

// overhead is the ESP header (SPI and number), the counter of the cipher, the trailer
// (padding and next header) and the tag.
const overhead = 8 + 8 + 2 + 16

// Mode is the mode ipsec.
func Mode() podnet.Mode {
	return podnet.Mode{Compile: compile, NetworkMode: topology.NetworkMode{
		Name:   "ipsec",
		About:  "policies of the kernel encrypt packets for pods of other nodes with ESP",
		Limits: "54 bytes less MTU for pods, 74 over IPv6; node and router rules see IP protocol 50",
		Routed: true, Tunnel: topology.ESPTunnel, Overhead: [2]int{overhead + 20, overhead + 40}, Encrypts: true,
	}}
}

// compile returns the plan of the lab with associations and policies on each node.
func compile(lab *topology.Lab) *plan.Plan {
	ipv6 := topology.PrefixOfFamily(lab.Network.PodCIDRs, true).IsValid()
	return podnet.Bridged(lab, lab.Network.PodMTU(lab.Network.PathMTU, ipv6), func(node *topology.Node, n *plan.Netns) {
		for _, remote := range lab.Nodes {
			if remote != node {
				for _, ipv6 := range []bool{false, true} {
					join(lab, node, remote, ipv6, n)
				}
			}
		}
	})
}

// join adds to a node what it needs for the packets of an IP family to and from another.
func join(lab *topology.Lab, node, remote *topology.Node, ipv6 bool, n *plan.Netns) {
	here, there := topology.OfFamily(node.Addrs, ipv6), topology.OfFamily(remote.Addrs, ipv6)
	own, far := topology.PrefixOfFamily(node.PodCIDRs, ipv6), topology.PrefixOfFamily(remote.PodCIDRs, ipv6)
	if !here.IsValid() || !there.IsValid() || !own.IsValid() || !far.IsValid() {
		return
	}
	o := podnet.NodeOrigin(remote)
	n.XfrmStates = append(n.XfrmStates, association(lab, here, there, o), association(lab, there, here, o))
	// All but what the nodes themselves say to each other, of which the tunnel is a part.
	for _, pair := range [][2]netip.Prefix{{own, far}, {topology.Single(here), far}, {own, topology.Single(there)}} {
		n.XfrmPolicies = append(n.XfrmPolicies,
			plan.XfrmPolicy{Dir: plan.XfrmOut, From: pair[0], To: pair[1], Src: here, Dst: there, Origin: o},
			plan.XfrmPolicy{Dir: plan.XfrmIn, From: pair[1], To: pair[0], Src: there, Dst: here, Origin: o},
			plan.XfrmPolicy{Dir: plan.XfrmFwd, From: pair[1], To: pair[0], Src: there, Dst: here, Origin: o})
	}
}

// association is that of one direction: its SPI is the end of the sender's address, by which
// the receiver tells its peers apart, and its key depends on both ends, in order.
func association(lab *topology.Lab, src, dst netip.Addr, o plan.Origin) plan.XfrmState {
	end := src.AsSlice()
	sum := sha256.Sum256([]byte("netlab esp\x00" + lab.Network.Secret + "\x00" + src.String() + "\x00" + dst.String()))
	return plan.XfrmState{Src: src, Dst: dst, SPI: binary.BigEndian.Uint32(end[len(end)-4:]) | 1<<31, Key: plan.ESPKey(sum[:20]), Origin: o}
}
