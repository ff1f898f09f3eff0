//go:build linux

package udptunnel

import (
	"encoding/binary"
	"errors"
	"net"
	"os"

	"golang.org/x/net/ipv4"
	"golang.org/x/sys/unix"
)

const (
	batchSize   = 64      // messages of one call, and packets read before they are sent
	arenaSize   = 4 << 16 // bytes of one call
	maxSegments = 64      // UDP_MAX_SEGMENTS in include/linux/udp.h, before Linux 6.9
	maxPayload  = maxDatagram - header6 - 8
)

// outbox collects datagrams for one call of sendmmsg(2). Adjacent ones to the same node,
// of the same size except for the last, are one message, which the kernel cuts up.
type outbox struct {
	t     *Tunnel
	arena []byte
	used  int
	msgs  []ipv4.Message
	last  struct {
		to       *peer
		size     int // of each datagram
		segments int
		full     bool // a shorter one was the last
	}
	whole bool // the link cannot cut messages up
}

func newOutbox(t *Tunnel) *outbox {
	return &outbox{t: t, arena: make([]byte, arenaSize), msgs: make([]ipv4.Message, 0, batchSize)}
}

// put adds a packet of some size, which fill writes.
func (o *outbox) put(to *peer, size int, fill func([]byte)) {
	if to.pair != nil {
		size += counterLen + tagLen
	}
	if size > maxPayload {
		return
	}
	if o.used+size > len(o.arena) || len(o.msgs) == batchSize {
		if o.flush() != nil {
			return // the socket is closed
		}
	}
	datagram := o.arena[o.used : o.used+size : o.used+size]
	o.used += size
	if to.pair != nil {
		fill(datagram[counterLen : size-tagLen])
		to.pair.seal(datagram)
	} else {
		fill(datagram)
	}
	l := &o.last
	if n := len(o.msgs); n > 0 && l.to == to && !l.full && !o.whole && size <= l.size && l.segments < maxSegments &&
		len(o.msgs[n-1].Buffers[0])+size <= maxPayload {
		m := &o.msgs[n-1]
		b := m.Buffers[0]
		m.Buffers[0] = o.arena[o.used-size-len(b) : o.used : o.used]
		l.segments, l.full = l.segments+1, size < l.size
		if m.OOB == nil {
			m.OOB = segmentSize(l.size)
		}
		return
	}
	l.to, l.size, l.segments, l.full = to, size, 1, false
	o.msgs = append(o.msgs, ipv4.Message{Buffers: [][]byte{datagram}, Addr: to.addr})
}

// segmentSize is the control message UDP_SEGMENT.
func segmentSize(size int) []byte {
	b := make([]byte, unix.CmsgSpace(2))
	n := binary.NativeEndian
	if unix.SizeofCmsghdr == 16 {
		n.PutUint64(b, uint64(unix.CmsgLen(2)))
	} else {
		n.PutUint32(b, uint32(unix.CmsgLen(2)))
	}
	n.PutUint32(b[unix.SizeofCmsghdr-8:], unix.IPPROTO_UDP)
	n.PutUint32(b[unix.SizeofCmsghdr-4:], unix.UDP_SEGMENT)
	n.PutUint16(b[unix.CmsgLen(0):], uint16(size))
	return b
}

// flush sends what there is. A message that cannot be sent is lost, as on any link.
func (o *outbox) flush() error {
	defer func() { o.msgs, o.used, o.last.to = o.msgs[:0], 0, nil }()
	for rest := o.msgs; len(rest) > 0; {
		n, err := o.t.batch.WriteBatch(rest, 0)
		if err == nil {
			rest = rest[n:]
			continue
		}
		switch {
		case errors.Is(err, net.ErrClosed), errors.Is(err, os.ErrClosed):
			return err
		case errors.Is(err, unix.EIO) && rest[0].OOB != nil:
			o.whole = true // no checksums by the link, so no segments (udp_send_skb)
			o.apart(&rest[0])
		}
		rest = rest[1:]
	}
	return nil
}

// apart sends the datagrams of a message one by one.
func (o *outbox) apart(m *ipv4.Message) {
	size := int(binary.NativeEndian.Uint16(m.OOB[unix.CmsgLen(0):]))
	for b := m.Buffers[0]; len(b) > 0; {
		n := min(size, len(b))
		_, _ = o.t.conn.WriteTo(b[:n], m.Addr)
		b = b[n:]
	}
}
