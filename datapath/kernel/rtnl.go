//go:build linux

package kernel

import (
	"encoding/binary"
	"errors"
	"fmt"
	"syscall"

	"golang.org/x/sys/unix"
)

// rtnl is a netlink socket, for routing unless said otherwise, of the namespace in
// which it was opened.
// Messages are sent in batches: one system call for many, one for their answers.
// The kernel handles them in order, so a batch costs as many round trips through
// its locks but few through the system call boundary.
type rtnl struct {
	fd  int
	seq uint32
	*scratch
}

// scratch is memory that sockets share which are used one at a time.
type scratch struct{ in, out []byte }

func newScratch() *scratch { return &scratch{in: make([]byte, 32<<10), out: make([]byte, 0, maxBatch)} }

// openRtnl opens a socket in the network namespace of the calling thread.
func openRtnl(memory *scratch) (*rtnl, error) { return openNetlink(unix.NETLINK_ROUTE, memory) }

// openNetlink is openRtnl for any family of netlink.
func openNetlink(family int, memory *scratch) (*rtnl, error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, family)
	if err != nil {
		return nil, fmt.Errorf("netlink socket: %w", err)
	}
	// The kernel's own words for what it refuses; best effort.
	_ = unix.SetsockoptInt(fd, unix.SOL_NETLINK, unix.NETLINK_EXT_ACK, 1)
	_ = unix.SetsockoptInt(fd, unix.SOL_NETLINK, unix.NETLINK_CAP_ACK, 1)
	return &rtnl{fd: fd, scratch: memory}, nil
}

func (s *rtnl) close() {
	unix.Close(s.fd)
}

// message is one netlink request with the command line that would do the same,
// for errors. Excused errors are taken as success.
type message struct {
	data   []byte // netlink header included; length, flags and type set
	says   func() string
	excuse []unix.Errno
	words  func(unix.Errno) string // for numbers that are no error of the system; may be nil
}

// maxBatch bounds the bytes of one send; maxMessages the answers that queue up in the
// socket before they are read: each takes a kilobyte or two of its buffer, which has
// 208 kB by default, and one more than fits is lost (netlink(7), ENOBUFS).
const (
	maxBatch    = 16 << 10
	maxMessages = 80
)

// do sends the messages in order and returns the first refusal. The kernel goes
// on with the rest of a batch after a refusal.
func (s *rtnl) do(msgs []message) error {
	for len(msgs) > 0 {
		n, size := 0, 0
		for n < min(len(msgs), maxMessages) && (n == 0 || size+len(msgs[n].data) <= maxBatch) {
			size += align(len(msgs[n].data))
			n++
		}
		if err := s.batch(msgs[:n]); err != nil {
			return err
		}
		msgs = msgs[n:]
	}
	return nil
}

func (s *rtnl) batch(msgs []message) error {
	out := s.out[:0]
	first := s.seq + 1
	for _, m := range msgs {
		s.seq++
		binary.NativeEndian.PutUint32(m.data[8:], s.seq)
		out = append(out, m.data...)
		for len(out)%4 != 0 {
			out = append(out, 0)
		}
	}
	s.out = out
	if err := unix.Sendto(s.fd, out, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return fmt.Errorf("netlink send: %w", err)
	}
	var refused error
	for answered := 0; answered < len(msgs); {
		n, _, err := unix.Recvfrom(s.fd, s.in, 0)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return fmt.Errorf("netlink receive: %w", err)
		}
		replies, err := syscall.ParseNetlinkMessage(s.in[:n])
		if err != nil {
			return fmt.Errorf("netlink receive: %w", err)
		}
		for _, r := range replies {
			if r.Header.Type != unix.NLMSG_ERROR || r.Header.Seq < first {
				continue
			}
			answered++
			if refused == nil {
				refused = msgs[r.Header.Seq-first].refusal(r)
			}
		}
	}
	return refused
}

// refusal turns an answer into an error, or nil for an acknowledgement.
func (m message) refusal(r syscall.NetlinkMessage) error {
	errno := unix.Errno(-int32(binary.NativeEndian.Uint32(r.Data)))
	if errno == 0 {
		return nil
	}
	for _, e := range m.excuse {
		if errno == e {
			return nil
		}
	}
	if m.words != nil {
		if words := m.words(errno); words != "" {
			return fmt.Errorf("%s: %s", m.says(), words)
		}
	}
	if words := extack(r); words != "" {
		return fmt.Errorf("%s: %w (%s)", m.says(), errno, words)
	}
	return fmt.Errorf("%s: %w", m.says(), errno)
}

// extack finds the kernel's message in the attributes that follow the error
// (include/uapi/linux/netlink.h, NLMSGERR_ATTR_MSG).
func extack(r syscall.NetlinkMessage) string {
	const ackTLVs, attrMsg = 0x200, 1
	if r.Header.Flags&ackTLVs == 0 || len(r.Data) < 20 {
		return ""
	}
	for attrs := r.Data[20:]; len(attrs) >= 4; {
		size := int(binary.NativeEndian.Uint16(attrs))
		if size < 4 || size > len(attrs) {
			return ""
		}
		if binary.NativeEndian.Uint16(attrs[2:]) == attrMsg {
			return string(attrs[4 : size-1])
		}
		attrs = attrs[min(align(size), len(attrs)):]
	}
	return ""
}

func align(n int) int { return (n + 3) &^ 3 }
