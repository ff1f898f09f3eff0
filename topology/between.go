package topology

import "net/netip"

// TunnelAddr is the address of a node's tunnel device in an IP family: the first of its
// share of the pod CIDR. Invalid: there is no such device.
func (n *Network) TunnelAddr(node *Node, six bool) netip.Addr {
	switch n.Mode.Tunnel {
	case VXLANTunnel, UDPTunnel, WireGuardTunnel:
		return PrefixOfFamily(node.PodCIDRs, six).Addr()
	case IPIPTunnel:
		if !six {
			return PrefixOfFamily(node.PodCIDRs, six).Addr()
		}
	}
	return netip.Addr{}
}

// BridgeAddr is the address of the bridge of a node's pods in an IP family: the second
// of its share of the pod CIDR. Invalid: there is no bridge.
func (n *Network) BridgeAddr(node *Node, six bool) netip.Addr {
	if n.Mode.PodRoutes {
		return netip.Addr{}
	}
	return PrefixOfFamily(node.PodCIDRs, six).Addr().Next()
}

// LinkGateway is the default gateway of pods with a link of their own, an address that no host
// has (Calico's).
var LinkGateway = netip.AddrFrom4([4]byte{169, 254, 1, 1})

// DockerCIDR is the network of Docker's bridge, the same on every host that has one.
const DockerCIDR = "172.17.0.0/16"

// DockerNet is the network of Docker's bridge in an IP family, on nodes that have it beside
// their pod network. Invalid: they do not, the lab has no IPv4, or the family is IPv6, which
// Docker leaves alone.
func (n *Network) DockerNet(six bool) netip.Prefix {
	if !n.Docker || six || !PrefixOfFamily(n.NodeCIDRs, false).IsValid() {
		return netip.Prefix{}
	}
	return netip.MustParsePrefix(DockerCIDR)
}

// DockerAddr is the address of that bridge, which means another one on each node. Invalid:
// there is none.
func (n *Network) DockerAddr(six bool) netip.Addr {
	if p := n.DockerNet(six); p.IsValid() {
		return p.Addr().Next()
	}
	return netip.Addr{}
}

// Own are the addresses that the lab gives a node in an IP family, of all its links but the
// loopback device.
func (n *Network) Own(node *Node, six bool) (list []netip.Addr) {
	for _, a := range []netip.Addr{OfFamily(node.Addrs, six), n.BridgeAddr(node, six), n.TunnelAddr(node, six), n.DockerAddr(six)} {
		if a.IsValid() {
			list = append(list, a)
		}
	}
	return list
}

// Towards is the address of a node on the link by which it sends packets to the pods of
// another, or to its own, in an IP family.
func (n *Network) Towards(from, to *Node, six bool) netip.Addr {
	tunnel := n.TunnelAddr(from, six)
	switch {
	case from == to && n.Mode.PodRoutes && six && tunnel.IsValid():
		return tunnel // a pod's link has none: IPv6 takes the one most like the destination
	case from == to && n.Mode.PodRoutes:
		return n.FirstAddr(from, six)
	case from == to:
		return n.BridgeAddr(from, six)
	case n.Encapsulates(from, to, six) && n.Mode.Tunnel != ESPTunnel:
		return tunnel
	}
	return OfFamily(from.Addrs, six)
}

// FirstAddr is the address that a node uses on links without one, in an IP family: that
// of its first device.
func (n *Network) FirstAddr(node *Node, six bool) netip.Addr {
	if n.Mode.Tunnel == IPIPTunnel && !six {
		return n.TunnelAddr(node, six)
	}
	return OfFamily(node.Addrs, six)
}

// Encapsulates reports whether a tunnel carries the packets between the pods of two nodes.
func (n *Network) Encapsulates(from, to *Node, six bool) bool {
	switch n.Mode.Tunnel {
	case VXLANTunnel:
		return !n.VXLAN.DirectRouting || !n.SameLink(from, to)
	case IPIPTunnel:
		return !six && (!n.IPIP.CrossSubnet || !n.SameLink(from, to))
	case UDPTunnel, WireGuardTunnel, ESPTunnel:
		return true
	}
	return false
}

// SameLink reports whether two nodes are on one link: only then can the address of one be a
// next hop of the other.
func (*Network) SameLink(from, to *Node) bool { return from.Subnet == to.Subnet }

// RoutesPods reports whether the mode gives a node a route to the pods of another one, in an
// IP family. Without a tunnel the next hop is the other node itself, which has to be on the
// link, unless routers in between have learned where its pods are.
func (n *Network) RoutesPods(from, to *Node, six bool) bool {
	return n.Mode.Routed && (n.Encapsulates(from, to, six) || n.SameLink(from, to) || n.BGP != nil && n.BGP.Routers)
}

// PodMTU is what the mode leaves for packets of an IP family of an MTU between nodes.
func (n *Network) PodMTU(mtu int, six bool) int {
	if n.Mode.Tunnel.ByNode() {
		six = n.NodeCIDRs[0].Addr().Is6()
	}
	if n.Mode.Tunnel == ESPTunnel {
		mtu &^= 3 // ESP pads to multiples of four bytes
	}
	if six {
		return mtu - n.Mode.Overhead[1]
	}
	return mtu - n.Mode.Overhead[0]
}
