package podnet

import (
	"crypto/sha256"
	"net/netip"
)

// What a MAC is for, in its second byte. Every MAC of a lab is locally
// administered (02), and where the address is IPv4 its last four bytes are the
// address, so that a capture can be read without a table.
const (
	macBridge       = 0x62 // 'b': the bridge of the underlay or of a node
	macUnderlayPort = 0x77 // 'w': the underlay's end of a node or client
	macPodPort      = 0x6e // 'n': the node's end of a pod
)

// macFor returns the MAC for a purpose and an address. Without it, a bridge would
// take the lowest MAC of its ports and change it when a pod comes or goes.
func macFor(purpose byte, a netip.Addr) [6]byte {
	m := [6]byte{0x02, purpose}
	if a.Is4() {
		b := a.As4()
		copy(m[2:], b[:])
		return m
	}
	sum := sha256.Sum256([]byte(a.String()))
	copy(m[2:], sum[:])
	return m
}
