package probe

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// The kernel reports the TTL of received packets in two ways: with every datagram, on
// sockets that request it (IP_RECVTTL, ip(7); IPV6_RECVHOPLIMIT, ipv6(7)), and for a
// TCP connection through the headers of its SYN, which a listening socket saves for
// accepted connections until they are read (TCP_SAVE_SYN and TCP_SAVED_SYN,
// linux/tcp.h). Neither needs a privilege.

// maxHeaders is the maximum length of a SYN's headers: 40 bytes of IPv6 with some
// extension headers, and 60 of TCP.
const maxHeaders = 256

// ttlOfSYN is the TTL or hop limit with which the SYN of a connection arrived, or 0.
// The kernel returns it only once.
func (s *Server) ttlOfSYN(fd int) uint8 {
	n := uint32(len(s.syn))
	_, _, errno := unix.Syscall6(unix.SYS_GETSOCKOPT, uintptr(fd), unix.SOL_TCP, unix.TCP_SAVED_SYN,
		uintptr(unsafe.Pointer(&s.syn[0])), uintptr(unsafe.Pointer(&n)), 0)
	if errno != 0 {
		return 0
	}
	return ttlOf(s.syn[:n])
}

// ttlOf is the TTL or hop limit in an IP header (RFC 791, RFC 8200), or 0.
func ttlOf(header []byte) uint8 {
	const ipv4, ipv6 = 20, 40
	switch {
	case len(header) >= ipv4 && header[0]>>4 == 4:
		return header[8]
	case len(header) >= ipv6 && header[0]>>4 == 6:
		return header[7]
	}
	return 0
}
