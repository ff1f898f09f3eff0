package podnet

import (
	"net/netip"

	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/topology"
)

// Uplink is the uplink of every node, client and pod.
const Uplink = "eth0"

// node returns a node on the underlay, without its pods.
func node(lab *topology.Lab, n *topology.Node, ports portNames) plan.Netns {
	o := NodeOrigin(n)
	out := plan.Netns{Name: n.Netns(), Kind: plan.Node, IPv6: hasIPv6(lab.Network.NodeCIDRs) || hasIPv6(n.PodCIDRs), Origin: o}
	uplink(&out, lab, n.Addrs, n.MAC, ports, o)
	out.Sysctls = nodeSysctls(out.IPv6)
	extraRoutes(&out, n.Routes, o.Object)
	for _, gw := range lab.Network.Gateways {
		defaultRoute(&out, gw, o)
	}
	return out
}

// nodeSysctls are the settings without which correct rules do not work. All of them
// are set although most have that value on most machines: a new namespace inherits
// them from the host.
func nodeSysctls(ipv6 bool) []plan.Sysctl {
	list := []plan.Sysctl{
		{Key: "net.ipv4.ip_forward", Value: "1"},
		// Replies that are bridged from one pod to another must pass conntrack to be
		// translated back; without it, a service answers from remote nodes only.
		{Key: "net.bridge.bridge-nf-call-iptables", Value: "1"},
		// Strict filtering drops replies that arrive on another link than the one that
		// leads back. The larger of "all" and the link's own value applies, and links
		// may exist before "default" is written.
		{Key: "net.ipv4.conf.all.rp_filter", Value: "0"},
		{Key: "net.ipv4.conf.default.rp_filter", Value: "0"},
		{Key: "net.ipv4.conf.eth0.rp_filter", Value: "0"},
		{Key: "net.ipv4.conf.cni0.rp_filter", Value: "0"},
		// A packet that leaves by the link that it arrived on, as to a service address
		// without a rule, would cause an ICMP redirect: for minutes its sender would
		// bypass this node, and rules that are added in the meantime.
		{Key: "net.ipv4.conf.all.send_redirects", Value: "0"},
		{Key: "net.ipv4.conf.default.send_redirects", Value: "0"},
		{Key: "net.ipv4.conf.eth0.send_redirects", Value: "0"},
		// The kernel answers one rejected packet per second and destination by
		// default, and a burst of about 50 for all destinations together; the others
		// would look dropped, not refused. The mask names the types of messages that
		// either limit counts.
		{Key: "net.ipv4.icmp_ratelimit", Value: "0"},
		{Key: "net.ipv4.icmp_ratemask", Value: "0"},
		// Packets to 127.0.0.0/8 stay inside; a service backend may change that.
		{Key: "net.ipv4.conf.all.route_localnet", Value: "0"},
	}
	if ipv6 {
		list = append(list,
			plan.Sysctl{Key: "net.ipv6.conf.all.forwarding", Value: "1"},
			plan.Sysctl{Key: "net.ipv6.icmp.ratelimit", Value: "0"},
			plan.Sysctl{Key: "net.ipv6.icmp.ratemask", Value: "0"}, // a list of types; type 0 does not exist
			plan.Sysctl{Key: "net.bridge.bridge-nf-call-ip6tables", Value: "1"})
	}
	return list
}

func clientOrigin(c *topology.Client) plan.Origin { return origin("client "+c.Name, c.Origin) }

// client returns a host outside the cluster.
func client(lab *topology.Lab, c *topology.Client, ports portNames) plan.Netns {
	o := clientOrigin(c)
	out := plan.Netns{Name: c.Netns(), Kind: plan.Client, IPv6: hasIPv6(lab.Network.NodeCIDRs), Origin: o}
	uplink(&out, lab, c.Addrs, c.MAC, ports, o)
	extraRoutes(&out, c.Routes, o.Object)
	if c.Gateway.IsValid() {
		defaultRoute(&out, c.Gateway, o)
	}
	for _, gw := range lab.Network.Gateways {
		defaultRoute(&out, gw, o)
	}
	return out
}

// uplink plugs a host into the underlay.
func uplink(out *plan.Netns, lab *topology.Lab, addrs []netip.Addr, mac topology.MAC, ports portNames, o plan.Origin) {
	out.Links = append(out.Links, plan.Link{Name: Uplink, Type: plan.Veth, MTU: lab.Network.MTU, MAC: plan.MAC(mac),
		Peer: plan.Peer{Netns: UnderlayNetns, Link: ports[out.Name]}, Origin: o})
	for _, a := range addrs {
		out.Addrs = append(out.Addrs, plan.Addr{Link: Uplink, Prefix: onLink(lab, a), Origin: o})
	}
}

func extraRoutes(out *plan.Netns, routes []topology.Route, object string) {
	for _, r := range routes {
		out.Routes = append(out.Routes, plan.Route{To: r.To, Via: r.Via, Dev: Uplink, Origin: origin(object, r.Origin)})
	}
}

// defaultRoute adds a default route unless the family has one already: routes of the
// scenario take precedence.
func defaultRoute(out *plan.Netns, gw netip.Addr, o plan.Origin) {
	to := netip.PrefixFrom(netip.IPv4Unspecified(), 0)
	if gw.Is6() {
		to = netip.PrefixFrom(netip.IPv6Unspecified(), 0)
	}
	for _, r := range out.Routes {
		if r.To == to {
			return
		}
	}
	out.Routes = append(out.Routes, plan.Route{To: to, Via: gw, Dev: Uplink, Origin: o})
}
