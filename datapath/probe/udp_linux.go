package probe

import (
	"bytes"
	"encoding/binary"
	"net/netip"
	"unsafe"

	"golang.org/x/sys/unix"
)

// datagramsPerTurn bounds how many datagrams of one socket are answered before
// other sockets get their turn.
const datagramsPerTurn = 64

// answerDatagrams answers the pending datagrams. One that cannot be answered is
// dropped, as UDP does.
func (s *Server) answerDatagrams(l *listener) {
	var oob [128]byte
	for range datagramsPerTurn {
		n, oobn, _, from, err := unix.Recvmsg(l.fd, s.scratch[:], oob[:], 0)
		if err != nil {
			return
		}
		d := arrivalOf(oob[:oobn])
		if !d.asked.IsValid() || bytes.HasPrefix(s.scratch[:n], []byte(answerStart)) {
			continue
		}
		a := l.answer
		a.Local, a.Peer, a.TTL = netip.AddrPortFrom(d.asked, l.socket.Port), addrPort(from), int(d.ttl)
		s.out = a.appendLine(s.out[:0])
		_, _ = unix.SendmsgN(l.fd, s.out, d.reply, from, unix.MSG_NOSIGNAL)
	}
}

// arrival is what the kernel reports about a datagram in its control messages.
type arrival struct {
	asked netip.Addr // the address that it was sent to
	reply []byte     // the control message that sends the answer from there
	ttl   uint8      // or hop limit; 0: unknown
}

func arrivalOf(oob []byte) (a arrival) {
	for len(oob) >= unix.CmsgLen(0) {
		h, data, rest, err := unix.ParseOneSocketControlMessage(oob)
		if err != nil {
			return arrival{}
		}
		oob = rest
		switch {
		case h.Level == unix.SOL_IP && h.Type == unix.IP_PKTINFO && len(data) >= unix.SizeofInet4Pktinfo:
			p := (*unix.Inet4Pktinfo)(unsafe.Pointer(&data[0]))
			// Spec_dst differs from Addr only for a broadcast: no address to answer
			// from. The output link is chosen by the route, not by the input link.
			a.asked, a.reply = netip.AddrFrom4(p.Addr), unix.PktInfo4(&unix.Inet4Pktinfo{Spec_dst: p.Spec_dst})
		case h.Level == unix.SOL_IPV6 && h.Type == unix.IPV6_PKTINFO && len(data) >= unix.SizeofInet6Pktinfo:
			p := (*unix.Inet6Pktinfo)(unsafe.Pointer(&data[0]))
			addr := netip.AddrFrom16(p.Addr)
			reply := unix.Inet6Pktinfo{Addr: p.Addr}
			if addr.IsLinkLocalUnicast() {
				reply.Ifindex = p.Ifindex
			}
			a.asked, a.reply = addr.Unmap(), unix.PktInfo6(&reply)
		case h.Level == unix.SOL_IP && h.Type == unix.IP_TTL, h.Level == unix.SOL_IPV6 && h.Type == unix.IPV6_HOPLIMIT:
			if len(data) >= 4 {
				a.ttl = uint8(binary.NativeEndian.Uint32(data))
			}
		}
	}
	return a
}
