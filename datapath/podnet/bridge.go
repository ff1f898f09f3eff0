package podnet

import (
	"net/netip"

	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/topology"
)

// PodBridge is the bridge of a node's pods.
const PodBridge = "cni0"

// Bridged returns the plan that the modes with a bridge per node share: the underlay,
// nodes and clients on it, and on each node a bridge with its pods. There is no
// path to pods of other nodes yet: tunnel adds to each node what the mode needs.
// Pods get an MTU of podMTU bytes.
func Bridged(lab *topology.Lab, podMTU int, tunnel func(node *topology.Node, n *plan.Netns)) *plan.Plan {
	ports := namePorts(lab)
	p := &plan.Plan{Lab: lab.Name}
	p.Netns = append(p.Netns, underlay(lab, ports))
	for _, n := range lab.Nodes {
		out := node(lab, n, ports)
		podBridge(&out, n, podMTU)
		tunnel(n, &out)
		keepFirstRoutes(&out)
		podPorts(&out, n, podMTU)
		masquerade(&out, lab, n)
		p.Netns = append(p.Netns, out)
	}
	for _, c := range lab.Clients {
		p.Netns = append(p.Netns, client(lab, c, ports))
	}
	for _, pod := range lab.Pods {
		if !pod.HostNetwork {
			p.Netns = append(p.Netns, bridgedPod(pod, podMTU))
		}
	}
	p.Sort()
	return p
}

// podBridge adds the bridge, with the first address of the node's share of the pod
// CIDR: the pods' default route.
func podBridge(out *plan.Netns, n *topology.Node, mtu int) {
	o := NodeOrigin(n)
	bridge := plan.Link{Name: PodBridge, Type: plan.Bridge, MTU: mtu, Origin: o}
	for i, cidr := range n.PodCIDRs {
		gw := podGateway(cidr)
		if i == 0 {
			bridge.MAC = macFor(macBridge, gw)
		}
		out.Addrs = append(out.Addrs, plan.Addr{Link: PodBridge, Prefix: netip.PrefixFrom(gw, cidr.Bits()), Origin: o})
	}
	out.Links = append(out.Links, bridge)
}

// podPorts adds the node's ends of the pods' veths. Hairpin lets a pod reach itself
// through a service: the bridge would not send a frame back to the port that it
// came from.
func podPorts(out *plan.Netns, n *topology.Node, mtu int) {
	for _, pod := range n.Pods {
		if pod.HostNetwork {
			continue
		}
		out.Links = append(out.Links, plan.Link{Name: pod.HostLink, Type: plan.Veth, MTU: mtu,
			MAC: macFor(macPodPort, pod.Addrs[0]), Master: PodBridge, Hairpin: true,
			Peer: plan.Peer{Netns: pod.Netns(), Link: Uplink}, Origin: podOrigin(pod)})
	}
}

func podOrigin(p *topology.Pod) plan.Origin { return origin("pod "+p.AgentName(), p.Origin) }

// bridgedPod returns a pod: one link, and a default route via the bridge.
func bridgedPod(pod *topology.Pod, mtu int) plan.Netns {
	o := podOrigin(pod)
	out := plan.Netns{Name: pod.Netns(), Kind: plan.Pod, IPv6: hasIPv6(pod.Node.PodCIDRs), Origin: o}
	out.Links = append(out.Links, plan.Link{Name: Uplink, Type: plan.Veth, MTU: mtu, MAC: plan.MAC(pod.MAC),
		Peer: plan.Peer{Netns: pod.Node.Netns(), Link: pod.HostLink}, Origin: o})
	for _, cidr := range pod.Node.PodCIDRs {
		for _, a := range pod.Addrs {
			if cidr.Contains(a) {
				out.Addrs = append(out.Addrs, plan.Addr{Link: Uplink, Prefix: netip.PrefixFrom(a, cidr.Bits()), Origin: o})
				defaultRoute(&out, podGateway(cidr), o)
			}
		}
	}
	return out
}

func podGateway(cidr netip.Prefix) netip.Addr { return cidr.Masked().Addr().Next() }
