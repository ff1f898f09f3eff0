package vxlan

import (
	"fmt"
	"net/netip"

	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/datapath/podnet"
	"github.com/netlab/netlab/topology"
)

// Bytes that the tunnel adds to a packet: the inner Ethernet header and the VXLAN,
// UDP and outer IP headers. The kernel rejects a larger MTU on a bound device.
const (
	overhead4 = 14 + 8 + 8 + 20
	overhead6 = 14 + 8 + 8 + 40
)

// Mode is the mode vxlan.
func Mode() podnet.Mode {
	return podnet.Mode{Compile: compile, NetworkMode: topology.NetworkMode{
		Name:   "vxlan",
		About:  "frames between nodes travel inside UDP",
		Limits: "50 bytes less MTU for pods, 70 over IPv6",
		Routed: true, Tunnel: topology.VXLANTunnel,
	}}
}

// compile returns the plan of the lab with a tunnel device on each node.
func compile(lab *topology.Lab) *plan.Plan {
	return podnet.Bridged(lab, podMTU(lab), func(node *topology.Node, n *plan.Netns) {
		for _, cidr := range node.PodCIDRs {
			addTunnel(lab, node, cidr, n)
		}
	})
}

// podMTU is what the narrowest tunnel of the lab carries.
func podMTU(lab *topology.Lab) int {
	if topology.PrefixOfFamily(lab.Network.PodCIDRs, true).IsValid() {
		return lab.Network.MTU - overhead6
	}
	return lab.Network.MTU - overhead4
}

// addTunnel adds the tunnel of one IP family to a node: the device, and for each
// remote node the entries that lead there.
func addTunnel(lab *topology.Lab, node *topology.Node, cidr netip.Prefix, n *plan.Netns) {
	ipv6 := cidr.Addr().Is6()
	local := topology.OfFamily(node.Addrs, ipv6)
	if !local.IsValid() {
		return // the nodes do not have this family
	}
	link := tunnel(lab, node, local)
	n.Links = append(n.Links, link)
	n.Addrs = append(n.Addrs, plan.Addr{Link: link.Name, Prefix: single(cidr), Origin: link.Origin})
	for _, remote := range lab.Nodes {
		if remote != node {
			addRemote(lab, remote, link, ipv6, n)
		}
	}
}

func tunnel(lab *topology.Lab, node *topology.Node, local netip.Addr) plan.Link {
	options := lab.Network.VXLAN
	link := plan.Link{
		Name: fmt.Sprintf("flannel.%d", options.VNI), Type: plan.VXLAN,
		MTU: lab.Network.MTU - overhead4, MAC: plan.MAC(node.VTEPMAC),
		VXLAN:  plan.VXLANAttrs{ID: options.VNI, Port: options.Port, Local: local, Dev: podnet.Uplink},
		Origin: podnet.NodeOrigin(node),
	}
	if local.Is6() {
		link.Name = fmt.Sprintf("flannel-v6.%d", options.VNI)
		link.MTU = lab.Network.MTU - overhead6
	}
	return link
}

// addRemote adds what leads to the pods of one remote node. All nodes of a lab are
// on one link, so direct routing leaves nothing to the tunnel.
func addRemote(lab *topology.Lab, remote *topology.Node, link plan.Link, ipv6 bool, n *plan.Netns) {
	o := podnet.NodeOrigin(remote)
	vtep := topology.OfFamily(remote.Addrs, ipv6)
	if !vtep.IsValid() {
		return
	}
	for _, cidr := range remote.PodCIDRs {
		if cidr.Addr().Is6() != ipv6 {
			continue
		}
		if lab.Network.VXLAN.DirectRouting {
			n.Routes = append(n.Routes, plan.Route{To: cidr, Via: vtep, Dev: podnet.Uplink, Origin: o})
			continue
		}
		end := single(cidr).Addr()
		n.Neighs = append(n.Neighs, plan.Neigh{Link: link.Name, Addr: end, MAC: plan.MAC(remote.VTEPMAC), Origin: o})
		n.FDB = append(n.FDB, plan.FDB{Link: link.Name, MAC: plan.MAC(remote.VTEPMAC), Dst: vtep, Origin: o})
		n.Routes = append(n.Routes, plan.Route{To: cidr, Via: end, Dev: link.Name, OnLink: true, Origin: o})
	}
}

// single is the first address of a node's share: its end of the tunnel, as /32, so
// that no broadcast or subnet route comes with it.
func single(cidr netip.Prefix) netip.Prefix { return topology.Single(cidr.Masked().Addr()) }
