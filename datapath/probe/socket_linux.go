package probe

import (
	"errors"
	"net/netip"
	"os"

	"golang.org/x/sys/unix"

	"github.com/netlab/netlab/datapath/flow"
)

// backlog is the longest queue of connections waiting to be accepted; the kernel limits
// it to net.core.somaxconn.
const backlog = 4096

// datagramBuffer is how many bytes of datagrams wait for their turn: of thousands that come at
// once, none is lost for want of room. Without privileges it is as much as net.core.rmem_max allows.
const datagramBuffer = 8 << 20

// openListener opens a non-blocking socket on the wildcard address in the network
// namespace of the current thread.
func openListener(s Socket, ipv6 bool) (int, error) {
	family := unix.AF_INET
	if ipv6 {
		family = unix.AF_INET6
	}
	kind, number, ok := socketOf(s.Protocol)
	if !ok {
		return -1, errors.New("protocol not supported")
	}
	fd, err := unix.Socket(family, kind|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, number)
	if err != nil {
		return -1, os.NewSyscallError("socket", err)
	}
	if err := setUpListener(fd, s, ipv6); err != nil {
		unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

// socketOf is the kind and protocol of socket for a protocol. One-to-one style SCTP
// sockets behave like TCP sockets (RFC 6458, section 4).
func socketOf(p flow.Protocol) (kind, number int, ok bool) {
	switch p {
	case flow.TCP, "":
		return unix.SOCK_STREAM, 0, true
	case flow.UDP:
		return unix.SOCK_DGRAM, 0, true
	case flow.SCTP:
		return unix.SOCK_STREAM, unix.IPPROTO_SCTP, true
	}
	return 0, 0, false
}

func setUpListener(fd int, s Socket, ipv6 bool) error {
	options := [][3]int{}
	if s.Protocol == flow.UDP && unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, datagramBuffer) != nil {
		_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUF, datagramBuffer)
	}
	if ipv6 {
		options = append(options, [3]int{unix.SOL_IPV6, unix.IPV6_V6ONLY, 0})
	}
	switch {
	case s.Protocol == flow.TCP:
		// Accepted connections inherit the first two.
		options = append(options,
			[3]int{unix.SOL_SOCKET, unix.SO_REUSEADDR, 1},
			[3]int{unix.SOL_TCP, unix.TCP_NODELAY, 1},
			[3]int{unix.SOL_TCP, unix.TCP_SAVE_SYN, 1})
	case s.Protocol == flow.SCTP:
	case ipv6:
		// Not SO_REUSEADDR: with UDP a second socket would take the first one's port
		// without an error. For IPv4 datagrams, which it receives as well, such a
		// socket reports the TTL.
		options = append(options, [3]int{unix.SOL_IPV6, unix.IPV6_RECVPKTINFO, 1},
			[3]int{unix.SOL_IPV6, unix.IPV6_RECVHOPLIMIT, 1}, [3]int{unix.SOL_IP, unix.IP_RECVTTL, 1})
	default:
		options = append(options, [3]int{unix.SOL_IP, unix.IP_PKTINFO, 1}, [3]int{unix.SOL_IP, unix.IP_RECVTTL, 1})
	}
	if err := setOptions(fd, options...); err != nil {
		return err
	}
	wildcard := unix.Sockaddr(&unix.SockaddrInet4{Port: int(s.Port)})
	if ipv6 {
		wildcard = &unix.SockaddrInet6{Port: int(s.Port)}
	}
	if err := unix.Bind(fd, wildcard); err != nil {
		return os.NewSyscallError("bind", err)
	}
	if s.Protocol == flow.UDP {
		return nil
	}
	if err := setLinger(fd, true); err != nil { // inherited, too
		return err
	}
	return os.NewSyscallError("listen", unix.Listen(fd, backlog))
}

// setOptions sets options, each a level, a name and a value.
func setOptions(fd int, options ...[3]int) error {
	for _, o := range options {
		if err := unix.SetsockoptInt(fd, o[0], o[1], o[2]); err != nil {
			return os.NewSyscallError("setsockopt", err)
		}
	}
	return nil
}

// takePort gives a TCP socket a source port that no other connection in the network
// namespace uses. Connect alone chooses one per destination, so that connections to two
// addresses often share one. IPVS matches replies by the client's address and port and
// the real server's, not the virtual server's, and takes the newer of two connections
// that differ in nothing else (ip_vs_conn_out_get in net/netfilter/ipvs/ip_vs_conn.c):
// the older one would never be answered.
//
// EADDRINUSE: all are in use.
func takePort(fd, family int) error {
	var any unix.Sockaddr = &unix.SockaddrInet4{}
	if family == unix.AF_INET6 {
		any = &unix.SockaddrInet6{}
	}
	return os.NewSyscallError("bind", unix.Bind(fd, any))
}

// setLinger sets whether closing fd resets the connection, or closes it gracefully.
func setLinger(fd int, reset bool) error {
	l := unix.Linger{}
	if reset {
		l.Onoff = 1
	}
	return os.NewSyscallError("setsockopt", unix.SetsockoptLinger(fd, unix.SOL_SOCKET, unix.SO_LINGER, &l))
}

// addrPort converts an address of the kernel; an IPv4 address of a dual-stack
// socket becomes a plain one.
func addrPort(sa unix.Sockaddr) netip.AddrPort {
	switch sa := sa.(type) {
	case *unix.SockaddrInet4:
		return netip.AddrPortFrom(netip.AddrFrom4(sa.Addr), uint16(sa.Port))
	case *unix.SockaddrInet6:
		return netip.AddrPortFrom(netip.AddrFrom16(sa.Addr).Unmap(), uint16(sa.Port))
	}
	return netip.AddrPort{}
}

// sockaddr converts an address for the kernel.
func sockaddr(a netip.AddrPort) (unix.Sockaddr, int) {
	if a.Addr().Unmap().Is4() {
		return &unix.SockaddrInet4{Addr: a.Addr().Unmap().As4(), Port: int(a.Port())}, unix.AF_INET
	}
	return &unix.SockaddrInet6{Addr: a.Addr().As16(), Port: int(a.Port())}, unix.AF_INET6
}

// localAddr is the address that fd is bound to.
func localAddr(fd int) netip.AddrPort {
	sa, err := unix.Getsockname(fd)
	if err != nil {
		return netip.AddrPort{}
	}
	return addrPort(sa)
}
