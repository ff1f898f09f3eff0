//go:build linux

package udptunnel

import (
	"encoding/binary"

	"golang.org/x/sys/unix"
)

// segments cuts a packet of the device into packets as they go on the wire, with their
// checksums. For each, put is told its size, and has it filled in where it wants.
func segments(h virtio, pkt []byte, put func(size int, fill func([]byte))) {
	if h.gso == unix.VIRTIO_NET_HDR_GSO_NONE {
		start, at := int(h.csumStart), int(h.csumStart)+int(h.csumOffset)
		if h.needsChecksum && at+2 > len(pkt) {
			return
		}
		put(len(pkt), func(out []byte) {
			copy(out, pkt)
			if h.needsChecksum { // the field holds the sum of the pseudo header
				binary.BigEndian.PutUint16(out[at:], ^fold(sum(out[start:], 0)))
			}
		})
		return
	}
	tcp, size := int(h.csumStart), int(h.segment)
	if len(pkt) < tcp+20 || tcp < header4 || size == 0 {
		return
	}
	header := tcp + int(pkt[tcp+12]>>4)*4
	if header < tcp+20 || header > len(pkt) {
		return
	}
	id, seq := binary.BigEndian.Uint16(pkt[4:]), binary.BigEndian.Uint32(pkt[tcp+4:])
	for i, at := 0, header; at < len(pkt); i, at = i+1, at+size {
		payload := pkt[at:min(at+size, len(pkt))]
		last := at+size >= len(pkt)
		put(header+len(payload), func(out []byte) {
			copy(out, pkt[:header])
			copy(out[header:], payload)
			if out[0]>>4 == 4 {
				binary.BigEndian.PutUint16(out[4:], id+uint16(i))
			}
			sized(out)
			binary.BigEndian.PutUint32(out[tcp+4:], seq+uint32(at-header))
			if !last {
				out[tcp+13] &^= tcpFIN | tcpPSH
			}
			if i > 0 {
				out[tcp+13] &^= tcpCWR
			}
			out[tcp+16], out[tcp+17] = 0, 0
			binary.BigEndian.PutUint16(out[tcp+16:], ^fold(sum(out[tcp:], pseudo(out, unix.IPPROTO_TCP, len(out)-tcp))))
		})
	}
}

// Flags of TCP, in byte 13 of its header.
const (
	tcpFIN = 0x01
	tcpPSH = 0x08
	tcpACK = 0x10
	tcpCWR = 0x80
)
