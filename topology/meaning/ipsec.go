package meaning

import (
	"net/netip"

	"github.com/netlab/netlab/topology"
)

// IPsec judges a packet once more where it is forwarded or delivered: what policies want
// encrypted has to come by ESP, and nothing else may. It knows a packet by the addresses that it
// had on its way, as far as connection tracking remembers them.

// strange reports whether the dialing node drops what comes back, from a host, for a packet: IPVS
// has given it the service's address by then, and no policy wants that encrypted.
func (ps *paths) strange(from PolicyEnd, p packet) bool {
	if !ps.ipsecAndIPVS() || ps.self == nil {
		return false
	}
	encrypted := from.Pod != nil && from.Pod.Node != ps.self || from.Node != nil && from.Node != ps.self && inPods(ps.self, p.src)
	first := firstTranslation(p)
	return encrypted && first != nil && first.node == ps.self
}

// strayed reports whether a node drops a packet that another node sent to its address on the
// bridge of its pods, and that IPVS gives to a process of the node itself, by an address: nodes
// send each other nothing else encrypted, and pods only what is for the node's own addresses.
func (ps *paths) strayed(n *topology.Node, p packet, to netip.Addr) bool {
	if !ps.ipsecAndIPVS() || p.self || !inPods(n, p.dst) {
		return false
	}
	from := EndAt(ps.lab.Lab, p.src)
	return from.Node != nil || from.Pod != nil && from.Pod.Node != n && !ps.lab.owns(n, to)
}

func inPods(n *topology.Node, a netip.Addr) bool {
	return topology.PrefixOfFamily(n.PodCIDRs, a.Is6()).Contains(a)
}

// unencrypted reports whether an ICMP error of a node about a packet is dropped on its way: it is
// no part of what nodes encrypt, but connection tracking tells the node that translated the
// destination that it belongs to what comes from the pod.
func (ps *paths) unencrypted(n *topology.Node, p packet) bool {
	if !ps.lab.ipsec() || ps.lab.Proxy.Mode.VirtualServers || EndAt(ps.lab.Lab, p.dst).Pod == nil {
		return false
	}
	first := firstTranslation(p)
	return first != nil && first.node != n && ps.lab.owns(first.node, p.src) && !inPods(first.node, p.src)
}

func (lab network) ipsec() bool { return lab.Network.Mode.Tunnel == topology.ESPTunnel }

func (ps *paths) ipsecAndIPVS() bool { return ps.lab.ipsec() && ps.lab.Proxy.Mode.VirtualServers }

// firstTranslation is the first change of a packet's destination, or nil.
func firstTranslation(p packet) *change {
	for i := range p.changes {
		if p.changes[i].translate {
			return &p.changes[i]
		}
	}
	return nil
}
