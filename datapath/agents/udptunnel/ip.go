//go:build linux

package udptunnel

import (
	"encoding/binary"
	"math/bits"
	"net/netip"

	"golang.org/x/sys/unix"
)

const (
	header4 = 20
	header6 = 40
)

// destination is where an IP packet goes; invalid: it is none.
func destination(pkt []byte) netip.Addr {
	switch {
	case len(pkt) >= header4 && pkt[0]>>4 == 4:
		return netip.AddrFrom4([4]byte(pkt[16:]))
	case len(pkt) >= header6 && pkt[0]>>4 == 6:
		return netip.AddrFrom16([16]byte(pkt[24:]))
	}
	return netip.Addr{}
}

// sum adds bytes to a checksum in ones' complement (RFC 1071), as 64-bit words.
func sum(b []byte, initial uint64) uint64 {
	s, carry := initial, uint64(0)
	for len(b) >= 32 {
		s, carry = bits.Add64(s, binary.BigEndian.Uint64(b), carry)
		s, carry = bits.Add64(s, binary.BigEndian.Uint64(b[8:]), carry)
		s, carry = bits.Add64(s, binary.BigEndian.Uint64(b[16:]), carry)
		s, carry = bits.Add64(s, binary.BigEndian.Uint64(b[24:]), carry)
		b = b[32:]
	}
	for len(b) >= 8 {
		s, carry = bits.Add64(s, binary.BigEndian.Uint64(b), carry)
		b = b[8:]
	}
	var rest [8]byte
	copy(rest[:], b)
	s, carry = bits.Add64(s, binary.BigEndian.Uint64(rest[:]), carry)
	s, carry = bits.Add64(s, carry, 0)
	return s + carry
}

// fold is a sum in 16 bits.
func fold(s uint64) uint16 {
	s = s>>32 + s&0xffffffff
	s = s>>32 + s&0xffffffff
	s = s>>16 + s&0xffff
	return uint16(s>>16 + s&0xffff)
}

// pseudo is the sum of the pseudo header of a packet whose IP header is given.
func pseudo(header []byte, protocol uint8, length int) uint64 {
	s := uint64(protocol) + uint64(length)
	if header[0]>>4 == 4 {
		return sum(header[12:20], s)
	}
	return sum(header[8:40], s)
}

// sized gives an IP packet its own length, and a new checksum where the header has one.
func sized(pkt []byte) {
	if pkt[0]>>4 == 6 {
		binary.BigEndian.PutUint16(pkt[4:], uint16(len(pkt)-header6))
		return
	}
	header := pkt[:int(pkt[0]&15)*4]
	binary.BigEndian.PutUint16(pkt[2:], uint16(len(pkt)))
	header[10], header[11] = 0, 0
	binary.BigEndian.PutUint16(pkt[10:], ^fold(sum(header, 0)))
}

// unreachable is the ICMP error for a packet that no node has the destination of; nil:
// there is none for it. Its source is that destination: the kernel would drop a packet
// that arrives from an address of the node itself.
func unreachable(pkt []byte) []byte {
	dst := destination(pkt)
	if dst.IsMulticast() || dst == netip.AddrFrom4([4]byte{255, 255, 255, 255}) {
		return nil
	}
	if pkt[0]>>4 == 4 {
		fragment := binary.BigEndian.Uint16(pkt[6:])&0x1fff != 0
		if fragment || pkt[9] == unix.IPPROTO_ICMP && (len(pkt) < 21 || pkt[20] != 8) || [4]byte(pkt[12:]) == ([4]byte{}) {
			return nil
		}
		quoted := pkt[:min(len(pkt), int(pkt[0]&15)*4+8)]
		out := make([]byte, header4+8, header4+8+len(quoted))
		out[0], out[8], out[9] = 0x45, 64, unix.IPPROTO_ICMP
		copy(out[12:], pkt[16:20])
		copy(out[16:], pkt[12:16])
		out[20] = 3 // destination unreachable, code 0: network
		out = append(out, quoted...)
		sized(out)
		binary.BigEndian.PutUint16(out[22:], ^fold(sum(out[20:], 0)))
		return out
	}
	if src := netip.AddrFrom16([16]byte(pkt[8:])); src.IsUnspecified() || src.IsLinkLocalUnicast() || dst.IsLinkLocalUnicast() ||
		pkt[6] == unix.IPPROTO_ICMPV6 && (len(pkt) <= header6 || pkt[header6] < 128) {
		return nil
	}
	quoted := pkt[:min(len(pkt), 1280-header6-8)]
	out := make([]byte, header6+8, header6+8+len(quoted))
	out[0], out[6], out[7] = 0x60, unix.IPPROTO_ICMPV6, 64
	copy(out[8:], pkt[24:40])
	copy(out[24:], pkt[8:24])
	out[40] = 1 // destination unreachable, code 0: no route
	out = append(out, quoted...)
	sized(out)
	binary.BigEndian.PutUint16(out[42:], ^fold(sum(out[40:], pseudo(out, unix.IPPROTO_ICMPV6, len(out)-header6))))
	return out
}
