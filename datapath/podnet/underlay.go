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

// underlayBridge is the bridge that all nodes and clients are plugged into.
const underlayBridge = "br0"

// maxLinkName is the length of the longest link name, IFNAMSIZ without its NUL.
const maxLinkName = 15

// underlay returns the network between the nodes: one bridge, in a namespace of its own,
// with a port per node and client. The bridge holds the gateway addresses, to which
// default routes point: a host without any route to a service address would refuse
// to send before its own rules can rewrite the packet. Nothing is forwarded there;
// what is sent to the gateway and not rewritten is lost, as in the world outside.
func underlay(lab *topology.Lab, ports portNames) plan.Netns {
	o := NetworkOrigin(lab)
	n := plan.Netns{Name: UnderlayNetns, Kind: plan.Underlay, IPv6: hasIPv6(lab.Network.NodeCIDRs), Origin: o}
	bridge := plan.Link{Name: underlayBridge, Type: plan.Bridge, MTU: lab.Network.MTU, Origin: o}
	if len(lab.Network.Gateways) > 0 {
		bridge.MAC = macFor(macBridge, lab.Network.Gateways[0])
	}
	n.Links = append(n.Links, bridge)
	for _, gw := range lab.Network.Gateways {
		n.Addrs = append(n.Addrs, plan.Addr{Link: underlayBridge, Prefix: onLink(lab, gw), Origin: o})
	}
	n.Sysctls = append(n.Sysctls, plan.Sysctl{Key: "net.ipv4.ip_forward", Value: "0"})
	if n.IPv6 {
		// A host that does not forward drops IPv4 silently, but answers IPv6 with a no
		// route error. With a route it is silent, too (ip6_forward in
		// net/ipv6/ip6_output.c).
		n.Sysctls = append(n.Sysctls, plan.Sysctl{Key: "net.ipv6.conf.all.forwarding", Value: "0"})
		n.Routes = append(n.Routes, plan.Route{To: netip.PrefixFrom(netip.IPv6Unspecified(), 0), Dev: underlayBridge, Origin: o})
	}
	port := func(netns string, a netip.Addr, o plan.Origin) {
		n.Links = append(n.Links, plan.Link{Name: ports[netns], Type: plan.Veth, MTU: lab.Network.MTU,
			MAC: macFor(macUnderlayPort, a), Master: underlayBridge, Peer: plan.Peer{Netns: netns, Link: Uplink}, Origin: o})
	}
	for _, node := range lab.Nodes {
		port(node.Netns(), node.Addrs[0], NodeOrigin(node))
	}
	for _, c := range lab.Clients {
		port(c.Netns(), c.Addrs[0], clientOrigin(c))
	}
	return n
}

// onLink is an address of the nodes' network with that network's prefix length.
func onLink(lab *topology.Lab, a netip.Addr) netip.Prefix {
	for _, cidr := range lab.Network.NodeCIDRs {
		if cidr.Contains(a) {
			return netip.PrefixFrom(a, cidr.Bits())
		}
	}
	return topology.Single(a)
}

func hasIPv6(prefixes []netip.Prefix) bool {
	return topology.PrefixOfFamily(prefixes, true).IsValid()
}

// portNames maps the namespaces of nodes and clients to their port on the underlay.
type portNames map[string]string

// namePorts names each port after its node or client where the kernel allows that,
// so that "ip -n underlay link" reads like the scenario. A port's name depends on its
// own host only, except for a client with the name of a node.
func namePorts(lab *topology.Lab) portNames {
	names := portNames{}
	taken := map[string]bool{underlayBridge: true, "lo": true, "all": true, "default": true}
	name := func(host, netns string) {
		link := host
		if len(link) > maxLinkName || taken[link] {
			sum := sha256.Sum256([]byte(netns))
			link = host[:min(len(host), maxLinkName-7)] + "-" + hex.EncodeToString(sum[:3])
		}
		taken[link] = true
		names[netns] = link
	}
	for _, n := range lab.Nodes {
		name(n.Name, n.Netns())
	}
	for _, c := range lab.Clients {
		name(c.Name, c.Netns())
	}
	return names
}
