//go:build linux

package udptunnel

import (
	"bytes"
	"encoding/binary"
	"io"

	"golang.org/x/sys/unix"
)

// merger puts adjacent TCP segments of a connection together, as a network card does
// (tcp_gro_receive in net/ipv4/tcp_offload.c), in the buffer that the first arrived in. It does
// not check their checksums: those of the datagrams around them have been.
type merger struct {
	dev io.Writer

	b          []byte
	start, end int // of the packet so far; start 0: none
	tcp        int // its TCP header; 0: another segment cannot follow
	header     int // length of both headers
	size       int // payload of its first segment
	next       uint32
	segments   int
}

// add takes a packet, which lies behind all before it in that buffer, or in another.
func (m *merger) add(b []byte, start, end int) {
	pkt := b[start:end]
	tcp, header := tcpHeader(pkt)
	if m.start != 0 && m.continues(pkt, tcp, header) {
		payload := pkt[header:]
		m.b[m.start+m.tcp+13] |= pkt[tcp+13] & tcpPSH
		m.end += copy(m.b[m.end:], payload)
		m.next += uint32(len(payload))
		m.segments++
		if len(payload) < m.size || pkt[tcp+13]&tcpPSH != 0 {
			m.tcp = -m.tcp // it was the last
		}
		return
	}
	m.flush()
	m.b, m.start, m.end, m.tcp, m.header, m.segments = b[:cap(b)], start, end, tcp, header, 1
	if tcp != 0 {
		m.size = len(pkt) - header
		m.next = binary.BigEndian.Uint32(pkt[tcp+4:]) + uint32(m.size)
		if m.size == 0 || pkt[tcp+13] != tcpACK {
			m.tcp = 0
		}
	}
}

// continues reports whether a packet is the next segment of the one so far.
func (m *merger) continues(pkt []byte, tcp, header int) bool {
	if m.tcp <= 0 || tcp != m.tcp || header != m.header || m.end-m.start+len(pkt)-header > maxDatagram || m.end+len(pkt)-header > len(m.b) {
		return false
	}
	h := m.b[m.start : m.start+header]
	payload := len(pkt) - header
	// All of both headers but the lengths, checksums, numbers and PSH.
	same := pkt[tcp+13]&^tcpPSH == tcpACK && bytes.Equal(h[tcp:tcp+4], pkt[tcp:tcp+4]) && bytes.Equal(h[tcp+8:tcp+13], pkt[tcp+8:tcp+13]) &&
		bytes.Equal(h[tcp+14:tcp+16], pkt[tcp+14:tcp+16]) && bytes.Equal(h[tcp+18:], pkt[tcp+18:header])
	if h[0]>>4 == 4 {
		same = same && bytes.Equal(h[:2], pkt[:2]) && bytes.Equal(h[6:10], pkt[6:10]) && bytes.Equal(h[12:tcp], pkt[12:tcp])
	} else {
		same = same && bytes.Equal(h[:4], pkt[:4]) && bytes.Equal(h[6:tcp], pkt[6:tcp])
	}
	return same && payload > 0 && payload <= m.size && binary.BigEndian.Uint32(pkt[tcp+4:]) == m.next
}

// tcpHeader finds the TCP header of a packet, and the end of it; 0: it has none that can
// be merged.
func tcpHeader(pkt []byte) (tcp, header int) {
	switch {
	case pkt[0] == 0x45 && pkt[9] == unix.IPPROTO_TCP && binary.BigEndian.Uint16(pkt[6:])&0x3fff == 0 && int(binary.BigEndian.Uint16(pkt[2:])) == len(pkt):
		tcp = header4
	case pkt[0]>>4 == 6 && pkt[6] == unix.IPPROTO_TCP && int(binary.BigEndian.Uint16(pkt[4:])) == len(pkt)-header6:
		tcp = header6
	}
	if tcp == 0 || len(pkt) < tcp+20 {
		return 0, 0
	}
	header = tcp + int(pkt[tcp+12]>>4)*4
	if header < tcp+20 || header > len(pkt) {
		return 0, 0
	}
	return tcp, header
}

// flush gives the packet so far to the device. What the device refuses is lost.
func (m *merger) flush() {
	if m.start == 0 {
		return
	}
	out := m.b[m.start-virtioLen : m.end]
	var v virtio
	if m.segments > 1 {
		pkt := out[virtioLen:]
		tcp := max(m.tcp, -m.tcp)
		v = virtio{needsChecksum: true, gso: unix.VIRTIO_NET_HDR_GSO_TCPV4, header: uint16(m.header), segment: uint16(m.size),
			csumStart: uint16(tcp), csumOffset: 16}
		if pkt[0]>>4 == 6 {
			v.gso = unix.VIRTIO_NET_HDR_GSO_TCPV6
		}
		sized(pkt)
		binary.BigEndian.PutUint16(pkt[tcp+16:], fold(pseudo(pkt, unix.IPPROTO_TCP, len(pkt)-tcp)))
	}
	v.write(out)
	_, _ = m.dev.Write(out)
	m.start, m.segments = 0, 0
}
