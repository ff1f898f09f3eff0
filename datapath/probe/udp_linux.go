package probe

import (
	"bytes"
	"net/netip"
	"unsafe"

	"golang.org/x/sys/unix"
)

// datagramsPerTurn bounds how many datagrams of one socket are answered before
// other sockets get their turn.
const datagramsPerTurn = 64

// answerDatagrams answers the datagrams that wait. One that cannot be answered is
// dropped, as UDP does.
func (s *Server) answerDatagrams(l *listener) {
	var oob [128]byte
	for range datagramsPerTurn {
		n, oobn, _, from, err := unix.Recvmsg(l.fd, s.scratch[:], oob[:], 0)
		if err != nil {
			return
		}
		asked, reply := destination(oob[:oobn])
		if !asked.IsValid() || bytes.HasPrefix(s.scratch[:n], []byte(answerStart)) {
			continue
		}
		local := netip.AddrPortFrom(asked, l.socket.Port)
		s.out = l.who.appendLine(s.out[:0], local, addrPort(from))
		_, _ = unix.SendmsgN(l.fd, s.out, reply, from, unix.MSG_NOSIGNAL)
	}
}

// destination finds the address that a datagram was sent to in its control
// messages, and makes the control message that sends the answer from there.
func destination(oob []byte) (netip.Addr, []byte) {
	for len(oob) >= unix.CmsgLen(0) {
		h, data, rest, err := unix.ParseOneSocketControlMessage(oob)
		if err != nil {
			return netip.Addr{}, nil
		}
		oob = rest
		switch {
		case h.Level == unix.SOL_IP && h.Type == unix.IP_PKTINFO && len(data) >= unix.SizeofInet4Pktinfo:
			p := (*unix.Inet4Pktinfo)(unsafe.Pointer(&data[0]))
			// Spec_dst differs from Addr for a broadcast only: no address to
			// answer from. The route, not the way in, chooses the way out.
			return netip.AddrFrom4(p.Addr), unix.PktInfo4(&unix.Inet4Pktinfo{Spec_dst: p.Spec_dst})
		case h.Level == unix.SOL_IPV6 && h.Type == unix.IPV6_PKTINFO && len(data) >= unix.SizeofInet6Pktinfo:
			p := (*unix.Inet6Pktinfo)(unsafe.Pointer(&data[0]))
			addr := netip.AddrFrom16(p.Addr)
			reply := unix.Inet6Pktinfo{Addr: p.Addr}
			if addr.IsLinkLocalUnicast() {
				reply.Ifindex = p.Ifindex
			}
			return addr.Unmap(), unix.PktInfo6(&reply)
		}
	}
	return netip.Addr{}, nil
}
