//go:build linux

package udptunnel

import (
	"encoding/binary"
	"net"
	"net/netip"

	"golang.org/x/net/ipv4"
	"golang.org/x/sys/unix"
)

// received is how many messages one call of recvmmsg(2) takes.
const received = 8

// incoming takes datagrams of other nodes and gives the packets in them to the device. It
// ends with the socket.
func (t *Tunnel) incoming() error {
	msgs, room := make([]ipv4.Message, received), make([][]byte, received)
	for i := range msgs {
		room[i] = make([]byte, virtioLen+maxDatagram) // a virtio header is written before the first packet
		msgs[i] = ipv4.Message{Buffers: [][]byte{room[i][virtioLen:]}, OOB: make([]byte, unix.CmsgSpace(4))}
	}
	m := &merger{dev: t.dev}
	for {
		n, err := t.batch.ReadBatch(msgs, 0)
		if err != nil {
			return err
		}
		for i := range msgs[:n] {
			if from := t.sender(msgs[i].Addr); from != nil {
				t.arrive(from, room[i][:virtioLen+msgs[i].N], gsoSize(msgs[i].OOB[:msgs[i].NN]), m)
			}
		}
		m.flush()
	}
}

// sender is the node that a datagram came from; nil: a stranger.
func (t *Tunnel) sender(a net.Addr) *peer {
	u, ok := a.(*net.UDPAddr)
	if !ok {
		return nil
	}
	from := u.AddrPort()
	return t.table.Load().nodes[netip.AddrPortFrom(from.Addr().Unmap(), from.Port())]
}

// arrive takes the packets out of a message, which consists of datagrams of a size; 0: of
// one.
func (t *Tunnel) arrive(from *peer, b []byte, size int, m *merger) {
	if size == 0 {
		size = len(b)
	}
	for at := virtioLen; at < len(b); at += size {
		start, end := at, min(at+size, len(b))
		if from.pair != nil {
			if from.pair.open(b[at:end]) == nil {
				continue
			}
			start, end = at+counterLen, end-tagLen
		}
		if destination(b[start:end]).IsValid() {
			m.add(b, start, end)
		}
	}
}

// gsoSize is the size of the datagrams that the kernel put together; 0: it is one.
func gsoSize(oob []byte) int {
	list, err := unix.ParseSocketControlMessage(oob)
	if err != nil {
		return 0
	}
	for _, c := range list {
		if c.Header.Level == unix.IPPROTO_UDP && c.Header.Type == unix.UDP_GRO && len(c.Data) >= 2 {
			return int(binary.NativeEndian.Uint16(c.Data))
		}
	}
	return 0
}
