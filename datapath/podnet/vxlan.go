package podnet

import (
	"fmt"
	"net/netip"

	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/topology"
)

// VXLANOverhead is the bytes that a VXLAN tunnel adds to a packet, over IPv4 and IPv6: the
// inner Ethernet header and the VXLAN, UDP and outer IP headers. The kernel rejects a
// larger MTU on a bound device.
func VXLANOverhead() [2]int { return [2]int{14 + 8 + 8 + 20, 14 + 8 + 8 + 40} }

// VXLANTunnels adds flannel's tunnels to a node, one per IP family.
func VXLANTunnels(lab *topology.Lab) func(node *topology.Node, n *plan.Netns) {
	return func(node *topology.Node, n *plan.Netns) {
		for _, cidr := range node.PodCIDRs {
			addVXLAN(lab, node, cidr, n)
		}
	}
}

// VXLANPodMTU is what the narrowest VXLAN tunnel of the lab carries.
func VXLANPodMTU(lab *topology.Lab) int {
	ipv6 := topology.PrefixOfFamily(lab.Network.PodCIDRs, true).IsValid()
	return lab.Network.PodMTU(lab.Network.PathMTU, ipv6)
}

// addVXLAN adds the tunnel of one IP family to a node: the device, and for each
// remote node the entries that lead there.
func addVXLAN(lab *topology.Lab, node *topology.Node, cidr netip.Prefix, n *plan.Netns) {
	ipv6 := cidr.Addr().Is6()
	local := topology.OfFamily(node.Addrs, ipv6)
	if !local.IsValid() {
		return // the nodes do not have this family
	}
	link := vxlanLink(lab, node, local)
	n.Links = append(n.Links, link)
	n.Addrs = append(n.Addrs, plan.Addr{Link: link.Name, Prefix: tunnelEnd(cidr), Origin: link.Origin})
	for _, remote := range lab.Nodes {
		if remote != node {
			addVTEP(lab, node, remote, link, n)
		}
	}
}

func vxlanLink(lab *topology.Lab, node *topology.Node, local netip.Addr) plan.Link {
	options := lab.Network.VXLAN
	link := plan.Link{
		Name: fmt.Sprintf("flannel.%d", options.VNI), Type: plan.VXLAN,
		MTU: lab.Network.PodMTU(lab.Network.PathMTU, local.Is6()), MAC: plan.MAC(node.VTEPMAC),
		VXLAN:  plan.VXLANAttrs{ID: options.VNI, Port: options.Port, Local: local, Dev: Uplink},
		Origin: NodeOrigin(node),
	}
	if local.Is6() {
		link.Name = fmt.Sprintf("flannel-v6.%d", options.VNI)
	}
	return link
}

// addVTEP adds what leads to the pods of one remote node: with direct routing and a common
// link a route, else what the tunnel needs.
func addVTEP(lab *topology.Lab, node, remote *topology.Node, link plan.Link, n *plan.Netns) {
	o := NodeOrigin(remote)
	ipv6 := link.VXLAN.Local.Is6()
	vtep := topology.OfFamily(remote.Addrs, ipv6)
	if !vtep.IsValid() {
		return
	}
	for _, cidr := range remote.PodCIDRs {
		if cidr.Addr().Is6() != ipv6 {
			continue
		}
		if !lab.Network.Encapsulates(node, remote, ipv6) {
			n.Routes = append(n.Routes, plan.Route{To: cidr, Via: vtep, Dev: Uplink, Origin: o})
			continue
		}
		end := tunnelEnd(cidr).Addr()
		n.Neighs = append(n.Neighs, plan.Neigh{Link: link.Name, Addr: end, MAC: plan.MAC(remote.VTEPMAC), Origin: o})
		n.FDB = append(n.FDB, plan.FDB{Link: link.Name, MAC: plan.MAC(remote.VTEPMAC), Dst: vtep, Origin: o})
		n.Routes = append(n.Routes, plan.Route{To: cidr, Via: end, Dev: link.Name, OnLink: true, Origin: o})
	}
}

// tunnelEnd is the first address of a node's share: its end of the tunnel, as /32, so
// that no broadcast or subnet route comes with it.
func tunnelEnd(cidr netip.Prefix) netip.Prefix { return topology.Single(cidr.Masked().Addr()) }
