//go:build linux

package socket

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"
)

// Socket is a netlink socket of the namespace in which it was opened. Messages are sent
// in batches: one system call for many, one for their answers. The kernel handles them
// in order, so a batch costs as many round trips through its locks but few through the
// system call boundary.
type Socket struct {
	FD  int
	seq uint32
	*Memory
}

// Memory is shared by sockets that are used one at a time.
type Memory struct{ in, out []byte }

// NewMemory allocates buffers for one socket at a time.
func NewMemory() *Memory { return &Memory{in: make([]byte, 32<<10), out: make([]byte, 0, maxBatch)} }

// OpenRoute opens a socket in the network namespace of the calling thread.
func OpenRoute(memory *Memory) (*Socket, error) { return Open(unix.NETLINK_ROUTE, memory) }

// Open is OpenRoute for any netlink family.
func Open(family int, memory *Memory) (*Socket, error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, family)
	if err != nil {
		return nil, fmt.Errorf("netlink socket: %w", err)
	}
	// Error messages from the kernel itself; best effort.
	_ = unix.SetsockoptInt(fd, unix.SOL_NETLINK, unix.NETLINK_EXT_ACK, 1)
	_ = unix.SetsockoptInt(fd, unix.SOL_NETLINK, unix.NETLINK_CAP_ACK, 1)
	return &Socket{FD: fd, Memory: memory}, nil
}

// Close closes the socket.
func (s *Socket) Close() {
	unix.Close(s.FD)
}

// Message is one netlink request with the command that would do the same, for errors.
// Excused errors count as success.
type Message struct {
	Data   []byte       // netlink header included; length, flags and type set
	Label  fmt.Stringer // the step or the command that it is part of
	Excuse []unix.Errno
	Words  func(unix.Errno) string // for numbers that are not system errors; may be nil
	Joined bool                    // must be in the same transaction as the next one
	Early  bool                    // may be in a transaction before that of those that are not
}

// maxBatch bounds the bytes of one send; maxMessages the answers that queue up in the
// socket before they are read: each takes one or two kilobytes of its buffer, which has
// 208 kB by default, and any beyond that are lost (netlink(7), ENOBUFS).
const (
	maxBatch    = 16 << 10
	maxMessages = 80
)

// Do sends the messages in order and returns the first refusal. After a refusal the
// kernel continues with the rest of a batch.
func (s *Socket) Do(msgs []Message) error {
	for len(msgs) > 0 {
		n, size := 0, 0
		for n < min(len(msgs), maxMessages) && (n == 0 || size+len(msgs[n].Data) <= maxBatch) {
			size += Align(len(msgs[n].Data))
			n++
		}
		if err := s.batch(msgs[:n]); err != nil {
			return err
		}
		msgs = msgs[n:]
	}
	return nil
}

func (s *Socket) batch(msgs []Message) error {
	out := s.out[:0]
	first := s.seq + 1
	for _, m := range msgs {
		s.seq++
		binary.NativeEndian.PutUint32(m.Data[8:], s.seq)
		out = append(out, m.Data...)
		for len(out)%4 != 0 {
			out = append(out, 0)
		}
	}
	s.out = out
	if err := unix.Sendto(s.FD, out, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return fmt.Errorf("netlink send: %w", err)
	}
	var refused error
	for answered := 0; answered < len(msgs); {
		replies, err := s.receive()
		if err != nil {
			return err
		}
		for _, r := range replies {
			if r.Header.Type != unix.NLMSG_ERROR || r.Header.Seq < first {
				continue
			}
			answered++
			if refused == nil {
				refused = msgs[r.Header.Seq-first].Refusal(r)
			}
		}
	}
	return refused
}

// Ask sends one message and returns the payload of the answer.
func (s *Socket) Ask(m Message) ([]byte, error) {
	s.seq++
	binary.NativeEndian.PutUint32(m.Data[8:], s.seq)
	if err := unix.Sendto(s.FD, m.Data, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return nil, fmt.Errorf("netlink send: %w", err)
	}
	for {
		replies, err := s.receive()
		if err != nil {
			return nil, err
		}
		for _, r := range replies {
			switch {
			case r.Header.Seq != s.seq:
			case r.Header.Type == unix.NLMSG_ERROR:
				return nil, m.Refusal(r)
			default:
				return r.Data, nil
			}
		}
	}
}

func (s *Socket) receive() ([]syscall.NetlinkMessage, error) {
	for {
		n, _, err := unix.Recvfrom(s.FD, s.in, 0)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		var replies []syscall.NetlinkMessage
		if err == nil {
			replies, err = syscall.ParseNetlinkMessage(s.in[:n])
		}
		if err != nil {
			return nil, fmt.Errorf("netlink receive: %w", err)
		}
		return replies, nil
	}
}

// Refusal turns an answer into an error, or nil for an acknowledgement.
func (m Message) Refusal(r syscall.NetlinkMessage) error {
	errno := unix.Errno(-int32(binary.NativeEndian.Uint32(r.Data)))
	if errno == 0 || slices.Contains(m.Excuse, errno) {
		return nil
	}
	if m.Words != nil {
		if words := m.Words(errno); words != "" {
			return fmt.Errorf("%s: %s", m.Label, words)
		}
	}
	if words := extack(r); words != "" {
		return fmt.Errorf("%s: %w (%s)", m.Label, errno, words)
	}
	return fmt.Errorf("%s: %w", m.Label, errno)
}

// Part labels messages with what they are part of.
func Part(of fmt.Stringer, msgs ...Message) []Message {
	for i := range msgs {
		msgs[i].Label = of
	}
	return msgs
}

// extack finds the kernel's message in the attributes that follow the error
// (include/uapi/linux/netlink.h, NLMSGERR_ATTR_MSG).
func extack(r syscall.NetlinkMessage) string {
	const ackTLVs, attrMsg = 0x200, 1
	if r.Header.Flags&ackTLVs == 0 || len(r.Data) < 20 {
		return ""
	}
	words := ""
	_ = EachAttr(r.Data[20:], func(kind uint16, value []byte) error {
		if kind == attrMsg && len(value) > 0 {
			words = string(value[:len(value)-1])
		}
		return nil
	})
	return words
}

// Align rounds a length up to that of attributes.
func Align(n int) int { return (n + 3) &^ 3 }

// RaiseLoopback sets the loopback device up, in less than half the time of a message.
func (s *Socket) RaiseLoopback() error {
	req, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	req.SetUint16(unix.IFF_UP | unix.IFF_LOOPBACK | unix.IFF_RUNNING)
	if err := unix.IoctlIfreq(s.FD, unix.SIOCSIFFLAGS, req); err != nil {
		return fmt.Errorf("ip link set dev lo up: %w", err)
	}
	return nil
}
