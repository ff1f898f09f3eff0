package network

import (
	"net/netip"

	"github.com/netlab/netlab/datapath/plan"
)

// TunnelNeighbour returns the MAC of a neighbour behind a tunnel: that of its permanent
// entry, or what resolution by broadcast to the VTEPs would return.
func (w *World) TunnelNeighbour(dev *Link, next netip.Addr) ([6]byte, bool) {
	if mac, ok := dev.Host.permanent(dev, next); ok {
		return mac, true
	}
	for _, e := range dev.Host.FDB {
		if e.Link != dev.Name || e.MAC != ([6]byte{}) {
			continue
		}
		for _, owner := range w.owners[e.Dst] {
			h := w.Host(owner.Name)
			for _, l := range h.order {
				if l.Type == plan.VXLAN && l.VXLAN.ID == dev.VXLAN.ID && h.local[next] {
					return l.MAC, true
				}
			}
		}
	}
	return [6]byte{}, false
}

// Forwarding returns the VTEP to which frames for a MAC go.
func (h *Host) Forwarding(dev *Link, mac [6]byte) (netip.Addr, bool) {
	for _, want := range [][6]byte{mac, {}} {
		for _, e := range h.FDB {
			if e.Link == dev.Name && e.MAC == want {
				return e.Dst, true
			}
		}
	}
	return netip.Addr{}, false
}

func (h *Host) TunnelSource(dev *Link, to netip.Addr) netip.Addr {
	if dev.VXLAN.Local.IsValid() {
		return dev.VXLAN.Local
	}
	if via, ok := h.Lookup(to); ok {
		return h.Source(to, via)
	}
	return netip.Addr{}
}

// IPIP returns the device that takes packets out of others of IP protocol 4, or nil.
func (h *Host) IPIP() *Link {
	for _, l := range h.order {
		if l.Type == plan.IPIP {
			return l
		}
	}
	return nil
}

// VTEP returns the VXLAN device of a network whose socket takes datagrams to an address, or
// nil.
func (h *Host) VTEP(id int, dst netip.AddrPort) *Link {
	for _, l := range h.order {
		if l.Type == plan.VXLAN && l.VXLAN.ID == id && l.VXLAN.Port == int(dst.Port()) && l.VXLAN.Local.Is6() == dst.Addr().Is6() {
			return l
		}
	}
	return nil
}

// TunnelSocket returns the VXLAN device whose socket takes datagrams to an address; nil: none does. The
// socket is of the family of the device's own address (vxlan_sock_add in
// drivers/net/vxlan/vxlan_core.c).
func (h *Host) TunnelSocket(dst netip.AddrPort) *Link {
	for _, l := range h.order {
		if l.Type == plan.VXLAN && l.VXLAN.Port == int(dst.Port()) && l.VXLAN.Local.Is6() == dst.Addr().Is6() {
			return l
		}
	}
	return nil
}
