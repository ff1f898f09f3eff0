package podnet

import (
	"net/netip"
	"slices"

	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/topology"
)

// Uplink is the uplink of every node, client and pod.
const Uplink = "eth0"

// node returns a node on the underlay, without its pods.
func node(lab *topology.Lab, n *topology.Node, ports portNames) plan.Netns {
	o := NodeOrigin(n)
	out := plan.Netns{Name: n.Netns(), Kind: plan.Node, IPv6: hasIPv6(lab.Network.NodeCIDRs) || hasIPv6(n.PodCIDRs), Origin: o}
	uplink(&out, n.Subnet, n.Addrs, n.MAC, ports, o)
	out.Sysctls = nodeSysctls(out.IPv6)
	extraRoutes(&out, n.Routes, Uplink, o.Object)
	subnetRoutes(&out, lab, []*topology.Subnet{n.Subnet}, func(*topology.Subnet) string { return Uplink })
	for _, gw := range n.Subnet.Gateways {
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
		// Strict filtering drops replies that arrive on another link than the one that
		// leads back. The larger of "all" and the link's own value applies, and links
		// may exist before "default" is written.
		{Key: "net.ipv4.conf.all.rp_filter", Value: "0"},
		{Key: "net.ipv4.conf.default.rp_filter", Value: "0"},
		{Key: "net.ipv4.conf.eth0.rp_filter", Value: "0"},
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
			plan.Sysctl{Key: "net.ipv6.icmp.ratemask", Value: "0"}) // a list of types; type 0 does not exist
	}
	return list
}

// podNetns returns the namespace of a pod, with its only link.
func podNetns(pod *topology.Pod, mtu int) plan.Netns {
	o := PodOrigin(pod)
	return plan.Netns{Name: pod.Netns(), Kind: plan.Pod, IPv6: hasIPv6(pod.Node.PodCIDRs), Origin: o,
		Links: []plan.Link{{Name: Uplink, Type: plan.Veth, MTU: mtu, MAC: plan.MAC(pod.MAC),
			Peer: plan.Peer{Netns: pod.Node.Netns(), Link: pod.HostLink}, Origin: o}}}
}

func clientOrigin(c *topology.Client) plan.Origin { return origin("client "+c.Name, c.Origin) }

// client returns a host outside the cluster.
func client(lab *topology.Lab, c *topology.Client, ports portNames) plan.Netns {
	o := clientOrigin(c)
	out := plan.Netns{Name: c.Netns(), Kind: plan.Client, IPv6: hasIPv6(lab.Network.NodeCIDRs), Origin: o}
	uplink(&out, c.Subnet, c.Addrs, c.MAC, ports, o)
	extraRoutes(&out, c.Routes, Uplink, o.Object)
	subnetRoutes(&out, lab, []*topology.Subnet{c.Subnet}, func(*topology.Subnet) string { return Uplink })
	if c.Gateway.IsValid() {
		defaultRoute(&out, c.Gateway, o)
	}
	for _, gw := range c.Subnet.Gateways {
		defaultRoute(&out, gw, o)
	}
	return out
}

// uplink plugs a host into its subnet.
func uplink(out *plan.Netns, s *topology.Subnet, addrs []netip.Addr, mac topology.MAC, ports portNames, o plan.Origin) {
	plugIn(out, Uplink, s, addrs, mac, ports, o)
}

// plugIn adds a link into a subnet.
func plugIn(out *plan.Netns, link string, s *topology.Subnet, addrs []netip.Addr, mac topology.MAC, ports portNames, o plan.Origin) {
	out.Links = append(out.Links, plan.Link{Name: link, Type: plan.Veth, MTU: s.MTU, MAC: plan.MAC(mac),
		Peer: plan.Peer{Netns: UnderlayNetns, Link: ports[plug{out.Name, link}]}, Origin: o})
	for _, a := range addrs {
		out.Addrs = append(out.Addrs, plan.Addr{Link: link, Prefix: onLink(s, a), Origin: o})
	}
}

func extraRoutes(out *plan.Netns, routes []topology.Route, dev, object string) {
	for _, r := range routes {
		out.Routes = append(out.Routes, plan.Route{To: r.To, Via: r.Via, Dev: dev, Origin: origin(object, r.Origin)})
	}
}

// subnetRoutes adds the routes of a host to the subnets that it is not on: via the nearest
// routers, all of them, on the links of its own subnets. Default routes do not lead to
// routers: what nobody has an address for is lost in a lab with routers as in one without.
func subnetRoutes(out *plan.Netns, lab *topology.Lab, own []*topology.Subnet, dev func(*topology.Subnet) string) {
	for _, s := range lab.Subnets {
		via := lab.Next(own, s)
		for _, cidr := range s.CIDRs {
			route := plan.Route{To: cidr, Origin: origin("subnet "+s.Name, s.Origin)}
			for _, l := range via {
				route.Dev = dev(l.Subnet)
				a := topology.OfFamily(l.Addrs, cidr.Addr().Is6())
				switch {
				case !a.IsValid():
				case !route.Via.IsValid():
					route.Via = a
				default:
					route.More = append(route.More, a)
				}
			}
			if route.Via.IsValid() && !hasRoute(out, cidr) {
				out.Routes = append(out.Routes, route)
			}
		}
	}
}

func hasRoute(out *plan.Netns, to netip.Prefix) bool {
	return slices.ContainsFunc(out.Routes, func(r plan.Route) bool { return r.To == to })
}

// defaultRoute adds a default route unless the family has one already: routes of the
// scenario take precedence.
func defaultRoute(out *plan.Netns, gw netip.Addr, o plan.Origin) { defaultRouteBy(out, Uplink, gw, o) }

// defaultRouteBy is defaultRoute by a link.
func defaultRouteBy(out *plan.Netns, dev string, gw netip.Addr, o plan.Origin) {
	to := netip.PrefixFrom(netip.IPv4Unspecified(), 0)
	if gw.Is6() {
		to = netip.PrefixFrom(netip.IPv6Unspecified(), 0)
	}
	if hasRoute(out, to) {
		return
	}
	out.Routes = append(out.Routes, plan.Route{To: to, Via: gw, Dev: dev, Origin: o})
}
