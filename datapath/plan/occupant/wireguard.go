package occupant

import (
	"bytes"
	"crypto/ecdh"
	"encoding/base64"
	"net/netip"
	"slices"

	"github.com/netlab/netlab/datapath/plan/origin"
)

// Key is a key of Curve25519, private or public.
type Key [32]byte

// String is the key as wg(8) writes it.
func (k Key) String() string { return base64.StdEncoding.EncodeToString(k[:]) }

// MarshalText returns the key as String does.
func (k Key) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// Public is the public key of a private one.
func (k Key) Public() Key {
	private, err := ecdh.X25519().NewPrivateKey(k[:])
	if err != nil {
		panic(err) // it only says that the length is wrong
	}
	return Key(private.PublicKey().Bytes())
}

// WireGuardPeer is a peer as WireGuard has it: a node with all that it is asked to carry.
type WireGuardPeer struct {
	Key  Key
	Node netip.AddrPort
	Pods []netip.Prefix // allowed IPs
	// Keepalive is the interval of keepalives in seconds; 0: none. One of each pair sends
	// them, so that there is always a session: were both to begin one at the same time, each
	// would forget its own for that of the other, and both would wait for five seconds.
	Keepalive int
	Origin    origin.Ref
}

// keepalive is less than the 180 seconds that a session lasts.
const keepalive = 60

// WireGuardPeers are the peers of a tunnel by key, in the order of their pods.
func (t *Tunnel) WireGuardPeers() []WireGuardPeer {
	var list []WireGuardPeer
	own := t.Key.Public()
	for _, p := range t.Peers {
		i := slices.IndexFunc(list, func(x WireGuardPeer) bool { return x.Key == p.Key })
		if i < 0 {
			x := WireGuardPeer{Key: p.Key, Node: p.Node, Origin: p.Origin}
			if bytes.Compare(own[:], p.Key[:]) < 0 {
				x.Keepalive = keepalive
			}
			i, list = len(list), append(list, x)
		}
		list[i].Pods = append(list[i].Pods, p.Pods)
	}
	return list
}
