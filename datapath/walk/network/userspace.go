package network

import (
	"net/netip"
	"slices"

	"github.com/netlab/netlab/datapath/plan/bgp"
	"github.com/netlab/netlab/datapath/plan/httproute"
	"github.com/netlab/netlab/datapath/plan/occupant"
)

// Tunnel returns the user-space tunnel of a TUN device, or nil.
func (h *Host) Tunnel(link string) *occupant.Tunnel {
	return h.tunnel(func(t *occupant.Tunnel) bool { return t.Link == link })
}

// TunnelAt returns the user-space tunnel that receives datagrams to an address, or nil.
func (h *Host) TunnelAt(dst netip.AddrPort) *occupant.Tunnel {
	return h.tunnel(func(t *occupant.Tunnel) bool { return t.At == dst || t.WireGuard() && t.At.Port() == dst.Port() })
}

func (h *Host) tunnel(is func(*occupant.Tunnel) bool) *occupant.Tunnel {
	for i := range h.Tunnels {
		if t := &h.Tunnels[i]; is(t) {
			return t
		}
	}
	return nil
}

// ProxyPort returns the proxy port whose socket takes a packet, or nil.
func (h *Host) ProxyPort(proto string, dst netip.AddrPort) *occupant.ProxyPort {
	for i := range h.ProxyPorts {
		if p := &h.ProxyPorts[i]; p.Takes(proto, dst) {
			return p
		}
	}
	return nil
}

// SpeaksBGP reports whether a BGP speaker listens at an address.
func (h *Host) SpeaksBGP(dst netip.AddrPort) bool {
	return len(h.Speakers) > 0 && dst.Port() == bgp.Port
}

// Device returns a link by its name, or nil.
func (h *Host) Device(name string) *Link { return h.links[name] }

// Behind finds the node to which a tunnel sends packets for an address.
func Behind(t *occupant.Tunnel, dst netip.Addr) (node occupant.TunnelPeer, ok bool) {
	bits := -1
	for _, p := range t.Peers {
		if p.Pods.Contains(dst) && p.Pods.Bits() > bits {
			node, bits = p, p.Pods.Bits()
		}
	}
	return node, bits >= 0
}

// Knows reports whether a datagram comes from a node that a tunnel knows.
func Knows(t *occupant.Tunnel, from netip.AddrPort) bool {
	return slices.ContainsFunc(t.Peers, func(p occupant.TunnelPeer) bool { return p.Node == from })
}

// KnowsKey reports whether a tunnel has a peer with a public key.
func KnowsKey(t *occupant.Tunnel, key occupant.Key) bool {
	return slices.ContainsFunc(t.Peers, func(p occupant.TunnelPeer) bool { return p.Key == key })
}

// Requests is the routing table of the ingress controllers in it.
func (h *Host) Requests() *httproute.Table { return h.http }
