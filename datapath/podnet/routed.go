package podnet

import (
	"net/netip"

	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/topology"
)

// The gateway of a pod without a bridge is its own link: an address that no host has, and
// the MAC that all such links have on their node. The IPv6 address is the link-local one
// that follows from the MAC.
var (
	gateway4   = topology.LinkGateway
	gateway6   = netip.MustParseAddr("fe80::ecee:eeff:feee:eeee")
	gatewayMAC = plan.MAC{0xee, 0xee, 0xee, 0xee, 0xee, 0xee}
)

// Routed returns the plan that the modes without a bridge share: each pod has a link of
// its own to its node, and the node a route to it. There is no path to pods of other
// nodes yet: far adds to each node what the mode needs; nat adds how packets leave the
// cluster. Pods get an MTU of podMTU bytes.
func Routed(lab *topology.Lab, podMTU int, far func(node *topology.Node, n *plan.Netns), nat func(*plan.Netns, *topology.Lab, *topology.Node)) *plan.Plan {
	return assemble(lab, wiring{
		base: func(*plan.Netns, *topology.Node) {},
		far:  far,
		near: func(out *plan.Netns, pod *topology.Pod) { podRoute(out, pod, podMTU) },
		pod:  func(pod *topology.Pod) plan.Netns { return routedPod(pod, podMTU) },
		nat:  withHostPorts(nat, func(pod *topology.Pod) string { return pod.HostLink }),
	})
}

// podRoute adds the node's end of a pod's veth and the routes to the pod. The link has
// no address. Packets from it must have the address of its pod: no other pod's, which
// strict reverse path filtering ensures.
func podRoute(out *plan.Netns, pod *topology.Pod, mtu int) {
	o := PodOrigin(pod)
	out.Links = append(out.Links, plan.Link{Name: pod.HostLink, Type: plan.Veth, MTU: mtu, MAC: gatewayMAC,
		Peer: plan.Peer{Netns: pod.Netns(), Link: Uplink}, Origin: o})
	out.Sysctls = append(out.Sysctls, plan.Sysctl{Key: "net.ipv4.conf." + pod.HostLink + ".rp_filter", Value: "1"})
	for _, a := range pod.Addrs {
		out.Routes = append(out.Routes, plan.Route{To: topology.Single(a), Dev: pod.HostLink, Origin: o})
	}
}

// routedPod returns a pod that knows nothing but its own address: everything else is
// behind the gateway. A permanent neighbour entry says where that is. With proxy ARP, as
// in Calico, a node answers only while it has a route to the gateway's address by another
// link, such as a default route (calico issue 3270).
func routedPod(pod *topology.Pod, mtu int) plan.Netns {
	out, o := podNetns(pod, mtu), PodOrigin(pod)
	for _, a := range pod.Addrs {
		gw := gateway4
		if a.Is6() {
			gw = gateway6
		} else {
			out.Routes = append(out.Routes, plan.Route{To: topology.Single(gw), Dev: Uplink, Origin: o})
		}
		out.Addrs = append(out.Addrs, plan.Addr{Link: Uplink, Prefix: topology.Single(a), Origin: o})
		out.Neighs = append(out.Neighs, plan.Neigh{Link: Uplink, Addr: gw, MAC: gatewayMAC, Origin: o})
		defaultRoute(&out, gw, o)
	}
	return out
}

// DiscardUnused adds routes that discard what is for addresses of the node's own share
// that no pod has. Without them such packets would leave by the default route, and if that
// led back here, travel in a circle.
func DiscardUnused(node *topology.Node, n *plan.Netns) {
	for _, cidr := range node.PodCIDRs {
		n.Routes = append(n.Routes, plan.Route{Type: plan.Blackhole, To: cidr, Protocol: plan.Bird, Origin: NodeOrigin(node)})
	}
}
