package podnet

import (
	"net/netip"

	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/topology"
)

// PodBridge is the bridge of a node's pods.
const PodBridge = "cni0"

// Bridged returns the plan that the modes with a bridge per node share: on each node a
// bridge with its pods, and flannel's rules. There is no path to pods of other nodes yet:
// tunnel adds to each node what the mode needs. Pods get an MTU of podMTU bytes.
func Bridged(lab *topology.Lab, podMTU int, tunnel func(node *topology.Node, n *plan.Netns)) *plan.Plan {
	return Bridge{PodBridge, podMTU}.Compile(lab, tunnel,
		withHostPorts(FlannelMasquerade, func(*topology.Pod) string { return PodBridge }))
}

// Bridge is a bridge per node: its name, and the MTU of pods.
type Bridge struct {
	Name string
	MTU  int
}

// Compile returns the plan of the lab with such bridges. far adds to each node what leads
// to other nodes, nat how packets leave the pods of the node.
func (b Bridge) Compile(lab *topology.Lab, far func(*topology.Node, *plan.Netns), nat func(*plan.Netns, *topology.Lab, *topology.Node)) *plan.Plan {
	return assemble(lab, wiring{
		base: b.base,
		far:  far,
		near: b.port,
		pod:  func(pod *topology.Pod) plan.Netns { return bridgedPod(pod, b.MTU) },
		nat:  nat,
	})
}

// base adds the bridge, with the first address of the node's share of the pod
// CIDR: the pods' default route.
func (b Bridge) base(out *plan.Netns, n *topology.Node) {
	out.Sysctls = append(out.Sysctls, b.sysctls(out.IPv6)...)
	b.link(out, n.PodCIDRs, NodeOrigin(n))
}

// link adds the bridge itself, with the first address of each prefix.
func (b Bridge) link(out *plan.Netns, cidrs []netip.Prefix, o plan.Origin) {
	bridge := plan.Link{Name: b.Name, Type: plan.Bridge, MTU: b.MTU, Origin: o}
	for i, cidr := range cidrs {
		gw := podGateway(cidr)
		if i == 0 {
			bridge.MAC = macFor(macBridge, gw)
		}
		out.Addrs = append(out.Addrs, plan.Addr{Link: b.Name, Prefix: netip.PrefixFrom(gw, cidr.Bits()), Origin: o})
	}
	out.Links = append(out.Links, bridge)
}

// sysctls are the settings of a node with a bridge for its pods.
func (b Bridge) sysctls(ipv6 bool) []plan.Sysctl {
	list := []plan.Sysctl{
		// Replies that are bridged from one pod to another must pass conntrack to be
		// translated back; without it, a service answers from remote nodes only.
		{Key: "net.bridge.bridge-nf-call-iptables", Value: "1"},
		{Key: "net.ipv4.conf." + b.Name + ".rp_filter", Value: "0"},
	}
	if ipv6 {
		list = append(list, plan.Sysctl{Key: "net.bridge.bridge-nf-call-ip6tables", Value: "1"})
	}
	return list
}

// port adds the node's end of a pod's veth. Hairpin lets a pod reach itself
// through a service: the bridge would not send a frame back to the port that it
// came from.
func (b Bridge) port(out *plan.Netns, pod *topology.Pod) {
	out.Links = append(out.Links, plan.Link{Name: pod.HostLink, Type: plan.Veth, MTU: b.MTU,
		MAC: macFor(macPodPort, pod.Addrs[0]), Master: b.Name, Hairpin: true,
		Peer: plan.Peer{Netns: pod.Netns(), Link: Uplink}, Origin: PodOrigin(pod)})
}

// PodOrigin is the origin of what serves a pod.
func PodOrigin(p *topology.Pod) plan.Origin { return origin("pod "+p.AgentName(), p.Origin) }

// bridgedPod returns a pod with a default route via the bridge.
func bridgedPod(pod *topology.Pod, mtu int) plan.Netns {
	out, o := podNetns(pod, mtu), PodOrigin(pod)
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
