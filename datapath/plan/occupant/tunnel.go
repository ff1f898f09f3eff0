package occupant

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/netlab/netlab/datapath/plan/origin"
	"github.com/netlab/netlab/datapath/plan/shell"
)

// Tunnel carries packets between a device and UDP datagrams. One of a TUN device is a
// program of the namespace, which the engine runs. One of a WireGuard device, which has a
// key, is the kernel's own, or such a program where the kernel lacks WireGuard.
type Tunnel struct {
	Link string         `json:"dev"`
	At   netip.AddrPort `json:"at"`             // where it sends from, and receives; WireGuard: on all addresses
	Pods []netip.Prefix `json:"pods,omitempty"` // of the namespace's own node: packets for them are dropped; WireGuard: none
	// Secret is what the keys of each pair of nodes are derived from; empty: packets are not
	// encrypted.
	Secret string       `json:"secret,omitempty"`
	Key    Key          `json:"key,omitzero"` // of WireGuard: the private one
	Peers  []TunnelPeer `json:"peers,omitempty"`
	State  string       `json:"-"` // only in those read back, of one that ended: why
	Origin origin.Ref   `json:"origin,omitzero"`
}

// TunnelPeer says to which node packets for some pods go. With WireGuard, packets from that
// node are taken only if their source is one of its pods.
type TunnelPeer struct {
	Pods   netip.Prefix   `json:"pods"`
	Node   netip.AddrPort `json:"node"`
	Key    Key            `json:"key,omitzero"` // of WireGuard: the node's public one
	Origin origin.Ref     `json:"origin,omitzero"`
}

// Same reports whether two tunnels differ in nothing but their peers: those of one that
// runs can be replaced.
func (t *Tunnel) Same(u *Tunnel) bool {
	return t.Link == u.Link && t.At == u.At && t.State == u.State && t.Secret == u.Secret && t.Key == u.Key && slices.Equal(t.Pods, u.Pods)
}

// WireGuard reports whether the tunnel is that of a WireGuard device.
func (t *Tunnel) WireGuard() bool { return t.Key != Key{} }

// Equal reports whether two tunnels differ in nothing but their origins.
func (t Tunnel) Equal(b Tunnel) bool {
	return t.Same(&b) && slices.EqualFunc(t.Peers, b.Peers, func(x, y TunnelPeer) bool { return x.Pods == y.Pods && x.Node == y.Node && x.Key == y.Key })
}

// Words describes the tunnel, for plans and findings.
func (t *Tunnel) Words() string {
	if t.WireGuard() {
		return fmt.Sprintf("%s on udp port %d, with public key %s", t.Link, t.At.Port(), t.Key.Public())
	}
	text := fmt.Sprintf("%s on udp %s", t.Link, t.At)
	if t.Secret != "" {
		text += ", encrypted with keys from " + shell.Quote(t.Secret)
	}
	return text
}
