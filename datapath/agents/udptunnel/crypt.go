//go:build linux

package udptunnel

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/binary"
	"net/netip"
	"time"

	"golang.zx2c4.com/wireguard/replay"
)

// What encryption adds to a packet: a counter before it, a tag behind it.
const (
	counterLen = 8
	tagLen     = 16
)

// AES-128-GCM, as in the ESP of Weave's fast datapath: processors have instructions for
// it, and ChaCha20-Poly1305 takes twice as long per byte on those.
const keyLen, nonceLen = 16, 12

// pair holds the keys of this node and another: one for each direction, so that both can
// count on their own.
type pair struct {
	send, receive cipher.AEAD
	next          uint64 // counter of the next packet; only outgoing uses it
	seen          replay.Filter
	// Two for each packet would be new garbage: what an interface takes escapes.
	sent, received [nonceLen]byte
}

// newPair derives the keys. The counter starts at the time of day in nanoseconds: a node
// that starts again continues beyond every number that it has used, though its key is the
// same.
func newPair(secret string, local, remote netip.AddrPort) (p *pair, err error) {
	p = &pair{next: uint64(time.Now().UnixNano())}
	for _, d := range []struct {
		aead     *cipher.AEAD
		from, to netip.AddrPort
	}{{&p.send, local, remote}, {&p.receive, remote, local}} {
		key, err := hkdf.Key(sha256.New, []byte(secret), nil, "netlab encrypted "+d.from.String()+" to "+d.to.String(), keyLen)
		if err != nil {
			return nil, err
		}
		block, err := aes.NewCipher(key)
		if err != nil {
			return nil, err
		}
		if *d.aead, err = cipher.NewGCM(block); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// seal encrypts the packet between the counter and the tag of a datagram, in place.
func (p *pair) seal(datagram []byte) {
	binary.LittleEndian.PutUint64(p.sent[4:], p.next)
	binary.LittleEndian.PutUint64(datagram, p.next)
	p.next++
	p.send.Seal(datagram[counterLen:counterLen], p.sent[:], datagram[counterLen:len(datagram)-tagLen], nil)
}

// open decrypts a datagram in place and returns the packet in it; nil: it is forged, or
// arrived before. The counter is looked at last: a forged one must not move the window.
func (p *pair) open(datagram []byte) []byte {
	if len(datagram) < counterLen+tagLen {
		return nil
	}
	copy(p.received[4:], datagram[:counterLen])
	body := datagram[counterLen:]
	pkt, err := p.receive.Open(body[:0], p.received[:], body, nil)
	if err != nil || !p.seen.ValidateCounter(binary.LittleEndian.Uint64(datagram), 1<<64-1) {
		return nil
	}
	return pkt
}
