//go:build linux

package socket

import (
	"encoding/binary"
	"errors"
	"net/netip"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// Builder writes a netlink message, attribute by attribute.
type Builder struct{ B []byte }

// Done returns the message.
func (m *Builder) Done() Message {
	binary.NativeEndian.PutUint32(m.B, uint32(len(m.B)))
	return Message{Data: m.B}
}

// Attr appends an attribute of a payload that is padded to four bytes.
func (m *Builder) Attr(kind int, payload ...byte) {
	m.B = binary.NativeEndian.AppendUint16(m.B, uint16(unix.SizeofNlAttr+len(payload)))
	m.B = binary.NativeEndian.AppendUint16(m.B, uint16(kind))
	m.B = append(m.B, payload...)
	for len(m.B)%4 != 0 {
		m.B = append(m.B, 0)
	}
}

// Text appends a NUL-terminated text.
func (m *Builder) Text(kind int, s string) { m.Attr(kind, append([]byte(s), 0)...) }

// Open begins a nested attribute; Close ends it.
func (m *Builder) Open(kind int) int {
	start := len(m.B)
	m.B = append(m.B, 0, 0)
	m.B = binary.NativeEndian.AppendUint16(m.B, uint16(kind|unix.NLA_F_NESTED))
	return start
}

// Close ends what Open began at start.
func (m *Builder) Close(start int) {
	binary.NativeEndian.PutUint16(m.B[start:], uint16(len(m.B)-start))
}

// ErrShort means that the kernel sent less than announced.
var ErrShort = errors.New("truncated message from the kernel")

// EachAttr calls do for each attribute, with its type stripped of flags.
func EachAttr(b []byte, do func(kind uint16, value []byte) error) error {
	for len(b) >= unix.SizeofNlAttr {
		size := int(binary.NativeEndian.Uint16(b))
		if size < unix.SizeofNlAttr || size > len(b) {
			return ErrShort
		}
		if err := do(binary.NativeEndian.Uint16(b[2:])&nl.NLA_TYPE_MASK, b[unix.SizeofNlAttr:size]); err != nil {
			return err
		}
		b = b[min(Align(size), len(b)):]
	}
	return nil
}

// Start begins a message for a netfilter subsystem, without attributes.
func Start(subsystem, cmd, flags int, family uint8) Builder {
	m := Builder{B: make([]byte, unix.NLMSG_HDRLEN, 256)}
	binary.NativeEndian.PutUint16(m.B[4:], uint16(subsystem<<8|cmd))
	binary.NativeEndian.PutUint16(m.B[6:], uint16(unix.NLM_F_REQUEST|flags))
	m.B = append(m.B, family, unix.NFNETLINK_V0, 0, 0)
	return m
}

// Family is the address family of an address, as netlink numbers it.
func Family(a netip.Addr) int {
	if a.Is4() {
		return unix.AF_INET
	}
	return unix.AF_INET6
}
