//go:build linux

package udptunnel

import (
	"maps"
	"net"
	"net/netip"
	"slices"
)

// table says which node has a destination. It is replaced as a whole.
type table struct {
	bits  []int // the prefix lengths in it, longest first
	pods  map[netip.Prefix]*peer
	nodes map[netip.AddrPort]*peer
}

// peer is another node.
type peer struct {
	addr *net.UDPAddr
	pair *pair // nil: packets are not encrypted
}

// SetPeers replaces the peers. One that stays keeps its keys and counters, and no packet
// is lost.
func (t *Tunnel) SetPeers(list []Peer) error {
	old := t.table.Load()
	next := &table{pods: map[netip.Prefix]*peer{}, nodes: map[netip.AddrPort]*peer{}}
	lengths := map[int]bool{}
	for _, p := range list {
		node := next.nodes[p.Node]
		if node == nil && old != nil {
			node = old.nodes[p.Node]
		}
		if node == nil {
			node = &peer{addr: net.UDPAddrFromAddrPort(p.Node)}
			if t.config.Secret != "" {
				var err error
				if node.pair, err = newPair(t.config.Secret, t.config.Local, p.Node); err != nil {
					return err
				}
			}
		}
		next.nodes[p.Node], next.pods[p.Pods.Masked()] = node, node
		lengths[p.Pods.Bits()] = true
	}
	next.bits = slices.Sorted(maps.Keys(lengths))
	slices.Reverse(next.bits)
	t.table.Store(next)
	return nil
}

// find returns the node that has an address, or nil.
func (t *table) find(a netip.Addr) *peer {
	for _, bits := range t.bits {
		if p, err := a.Prefix(bits); err == nil {
			if node := t.pods[p]; node != nil {
				return node
			}
		}
	}
	return nil
}
