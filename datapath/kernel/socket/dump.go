//go:build linux

package socket

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// dumpTries is how often a dump that a change interrupted is begun again.
const dumpTries = 10

// Dump lists what the kernel has of a kind, each as the message that would make it, header
// included. The request is what comes after the header.
func (s *Socket) Dump(kind int, request []byte) (list [][]byte, err error) {
	for range dumpTries {
		list, whole, err := s.dump(kind, request)
		if err != nil || whole {
			return list, err
		}
	}
	return nil, fmt.Errorf("netlink dump: interrupted by changes %d times", dumpTries)
}

// Whole lists with a function of the netlink library, and again as long as changes interrupt
// it, as Dump does.
func Whole[T any](list func() ([]T, error)) (all []T, err error) {
	for range dumpTries {
		if all, err = list(); !errors.Is(err, netlink.ErrDumpInterrupted) {
			break
		}
	}
	return all, err
}

// Get asks for the one message that answers a request.
func (s *Socket) Get(kind int, request []byte) ([]byte, error) {
	if err := s.ask(kind, 0, request); err != nil {
		return nil, err
	}
	n, _, err := unix.Recvfrom(s.FD, s.in, 0)
	switch {
	case err != nil:
		return nil, fmt.Errorf("netlink receive: %w", err)
	case n < unix.NLMSG_HDRLEN+4:
		return nil, ErrShort
	case binary.NativeEndian.Uint16(s.in[4:]) == unix.NLMSG_ERROR:
		return nil, refusal(s.in)
	}
	return slices.Clone(s.in[:n]), nil
}

func refusal(m []byte) error {
	return unix.Errno(-int32(binary.NativeEndian.Uint32(m[unix.NLMSG_HDRLEN:])))
}

func (s *Socket) ask(kind, flags int, request []byte) error {
	m := Builder{B: make([]byte, unix.NLMSG_HDRLEN, unix.NLMSG_HDRLEN+len(request))}
	binary.NativeEndian.PutUint16(m.B[4:], uint16(kind))
	binary.NativeEndian.PutUint16(m.B[6:], uint16(unix.NLM_F_REQUEST|flags))
	s.seq++
	binary.NativeEndian.PutUint32(m.B[8:], s.seq)
	m.B = append(m.B, request...)
	if err := unix.Sendto(s.FD, m.Done().Data, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return fmt.Errorf("netlink send: %w", err)
	}
	return nil
}

func (s *Socket) dump(kind int, request []byte) (list [][]byte, whole bool, err error) {
	if err := s.ask(kind, unix.NLM_F_DUMP, request); err != nil {
		return nil, false, err
	}
	for whole = true; ; {
		n, _, err := unix.Recvfrom(s.FD, s.in, 0)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return nil, false, fmt.Errorf("netlink receive: %w", err)
		}
		all := slices.Clone(s.in[:n])
		for b := all; len(b) >= unix.NLMSG_HDRLEN; {
			size := int(binary.NativeEndian.Uint32(b))
			if size < unix.NLMSG_HDRLEN || size > len(b) {
				return nil, false, ErrShort
			}
			m := b[:size:size]
			b = b[min(Align(size), len(b)):]
			if binary.NativeEndian.Uint32(m[8:]) != s.seq {
				continue // the rest of an earlier dump
			}
			if binary.NativeEndian.Uint16(m[6:])&unix.NLM_F_DUMP_INTR != 0 {
				whole = false
			}
			switch binary.NativeEndian.Uint16(m[4:]) {
			case unix.NLMSG_DONE:
				return list, whole, nil
			case unix.NLMSG_ERROR:
				if len(m) < unix.NLMSG_HDRLEN+4 {
					return nil, false, ErrShort
				}
				return nil, false, refusal(m)
			}
			list = append(list, m)
		}
	}
}
