package fault

import (
	"fmt"
	"slices"

	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/datapath/plan/iptables"
	"github.com/netlab/netlab/topology"
)

// Faults of packet sizes.
func sizes() []kind {
	return []kind{
		{topology.FaultKind{Name: "wrong-mtu", About: "pods of both nodes have the MTU of the underlay, without room for the tunnel's headers, and a firewall drops the nodes' ICMP errors that would say so", Towards: true},
			func(d *damage) error {
				for _, n := range []*topology.Node{d.fault.Node, d.fault.Towards} {
					if !d.widen(n) {
						return fmt.Errorf("%s has no pods whose links have a smaller MTU than the underlay", n.Name)
					}
					for _, ipv6 := range families(d.lab) {
						name, tooBig := "icmp", iptables.ICMPType{Type: 3, Code: 4}
						if ipv6 {
							name, tooBig = "icmpv6", iptables.ICMPType{Type: 2, AnyCode: true, IPv6: true}
						}
						d.drop(d.netns(n.Netns()), "OUTPUT", ipv6, iptables.Proto{Name: name}, tooBig)
					}
				}
				return nil
			}},
	}
}

// widen gives a node's pods, and their links on it, the MTU of the underlay. It returns whether
// that is more than they had.
func (d *damage) widen(node *topology.Node) (wider bool) {
	set := func(netns string) {
		n := d.netns(netns)
		n.Links = slices.Clone(n.Links)
		for i := range n.Links {
			if l := &n.Links[i]; (l.Type == plan.Veth || l.Type == plan.Bridge) && l.MTU < d.lab.Network.PathMTU {
				l.MTU = d.lab.Network.PathMTU
				wider = true
			}
		}
	}
	for _, p := range d.lab.Pods {
		if p.Node == node && !p.HostNetwork {
			set(p.Netns())
		}
	}
	if wider {
		set(node.Netns())
	}
	return wider
}
