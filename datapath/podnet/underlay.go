package podnet

import (
	"crypto/sha256"
	"encoding/hex"
	"net/netip"

	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/topology"
)

// UnderlayNetns is the network namespace of the underlay.
const UnderlayNetns = "underlay"

// underlayBridge is the bridge of the default subnet. That of another subnet has its name
// after a hyphen.
const underlayBridge = "br0"

// maxLinkName is the length of the longest link name, IFNAMSIZ without its NUL.
const maxLinkName = 15

// underlay returns the network between the nodes: a bridge per subnet, all in a namespace of
// their own, with a port per node, client and link of a router. The bridge holds the gateway
// addresses, to which default routes point: a host without any route to a service address
// would refuse to send before its own rules can rewrite the packet. Nothing is forwarded
// there; what is sent to the gateway and not rewritten is lost, as in the world outside. From
// one subnet to another only routers forward (router.go).
func underlay(lab *topology.Lab, ports portNames) plan.Netns {
	o := NetworkOrigin(lab)
	n := plan.Netns{Name: UnderlayNetns, Kind: plan.Underlay, IPv6: hasIPv6(lab.Network.NodeCIDRs), Origin: o}
	for _, s := range lab.Subnets {
		subnetBridge(&n, s, ports)
	}
	n.Sysctls = append(n.Sysctls, plan.Sysctl{Key: "net.ipv4.ip_forward", Value: "0"})
	if n.IPv6 {
		// A host that does not forward drops IPv4 silently, but answers IPv6 with a no
		// route error. With a route it is silent, too (ip6_forward in
		// net/ipv6/ip6_output.c).
		n.Sysctls = append(n.Sysctls, plan.Sysctl{Key: "net.ipv6.conf.all.forwarding", Value: "0"})
		n.Routes = append(n.Routes, plan.Route{To: netip.PrefixFrom(netip.IPv6Unspecified(), 0), Dev: underlayBridge, Origin: o})
	}
	port := func(netns, link string, s *topology.Subnet, addrs []netip.Addr, o plan.Origin) {
		n.Links = append(n.Links, plan.Link{Name: ports[plug{netns, link}], Type: plan.Veth, MTU: s.MTU,
			MAC: macFor(macUnderlayPort, addrs[0]), Master: ports[bridgeOf(s)], Peer: plan.Peer{Netns: netns, Link: link}, Origin: o})
	}
	for _, r := range lab.Routers {
		for _, l := range r.Links {
			port(r.Netns(), l.Name, l.Subnet, l.Addrs, origin("router "+r.Name, l.Origin))
		}
	}
	for _, node := range lab.Nodes {
		port(node.Netns(), Uplink, node.Subnet, node.Addrs, NodeOrigin(node))
	}
	for _, c := range lab.Clients {
		port(c.Netns(), Uplink, c.Subnet, c.Addrs, clientOrigin(c))
	}
	return n
}

// subnetBridge adds the bridge of a subnet, with the underlay's own addresses.
func subnetBridge(n *plan.Netns, s *topology.Subnet, ports portNames) {
	o := origin("subnet "+s.Name, s.Origin)
	if s.Name == topology.DefaultSubnet {
		o.Object = "network"
	}
	bridge := plan.Link{Name: ports[bridgeOf(s)], Type: plan.Bridge, MTU: s.MTU, Origin: o}
	if len(s.Gateways) > 0 {
		bridge.MAC = macFor(macBridge, s.Gateways[0])
	}
	n.Links = append(n.Links, bridge)
	for _, gw := range s.Gateways {
		n.Addrs = append(n.Addrs, plan.Addr{Link: bridge.Name, Prefix: onLink(s, gw), Origin: o})
	}
}

// onLink is an address of a subnet with the subnet's prefix length.
func onLink(s *topology.Subnet, a netip.Addr) netip.Prefix {
	for _, cidr := range s.CIDRs {
		if cidr.Contains(a) {
			return netip.PrefixFrom(a, cidr.Bits())
		}
	}
	return topology.Single(a)
}

func hasIPv6(prefixes []netip.Prefix) bool {
	return topology.PrefixOfFamily(prefixes, true).IsValid()
}

// plug is a link of a namespace that is plugged into the underlay, or the bridge of a subnet.
type plug struct{ netns, link string }

// portNames maps what is plugged in to its port on the underlay, and subnets to their bridge.
type portNames map[plug]string

// bridgeOf is the place of a subnet among the ports.
func bridgeOf(s *topology.Subnet) plug { return plug{netns: UnderlayNetns, link: s.Name} }

// namePorts names each port after its node, client or link where the kernel allows that,
// so that "ip -n underlay link" reads like the scenario. A port's name depends on its
// own host only, except for a client with the name of a node.
func namePorts(lab *topology.Lab) portNames {
	names := portNames{}
	taken := map[string]bool{"lo": true, "all": true, "default": true}
	name := func(host, netns, dev string) {
		link := host
		if len(link) > maxLinkName || taken[link] {
			id := netns
			if dev != Uplink {
				id += " " + dev
			}
			sum := sha256.Sum256([]byte(id))
			link = host[:min(len(host), maxLinkName-7)] + "-" + hex.EncodeToString(sum[:3])
		}
		taken[link] = true
		names[plug{netns, dev}] = link
	}
	for _, s := range lab.Subnets {
		bridge := underlayBridge
		if s.Name != topology.DefaultSubnet {
			bridge = "br-" + s.Name
		}
		name(bridge, UnderlayNetns, s.Name)
	}
	for _, n := range lab.Nodes {
		name(n.Name, n.Netns(), Uplink)
	}
	for _, c := range lab.Clients {
		name(c.Name, c.Netns(), Uplink)
	}
	for _, r := range lab.Routers {
		for _, l := range r.Links {
			name(r.Name+"-"+l.Name, r.Netns(), l.Name)
		}
	}
	return names
}
