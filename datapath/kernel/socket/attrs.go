//go:build linux

package socket

import (
	"encoding/binary"
	"net/netip"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// Request begins a message that the kernel acknowledges.
func Request(kind, flags int) *nl.NetlinkRequest {
	return nl.NewNetlinkRequest(kind, flags|unix.NLM_F_ACK)
}

// Written is a request as it is sent.
func Written(req *nl.NetlinkRequest) Message { return Message{Data: req.Serialize()} }

// Raw is a part of a message as it is sent.
type Raw []byte

// Len implements nl.NetlinkRequestData.
func (r Raw) Len() int { return len(r) }

// Serialize implements nl.NetlinkRequestData.
func (r Raw) Serialize() []byte { return r }

// Flag is an attribute that is on or off.
func Flag(on bool) []byte {
	if on {
		return []byte{1}
	}
	return []byte{0}
}

// Attrs are the attributes of a message after a header of its kind, by number.
func Attrs(m []byte, header int) (map[uint16][]byte, error) {
	start := unix.NLMSG_HDRLEN + header
	if len(m) < start {
		return nil, ErrShort
	}
	all := make(map[uint16][]byte, 16)
	err := EachAttr(m[min(Align(start), len(m)):], func(kind uint16, value []byte) error {
		all[kind] = value
		return nil
	})
	return all, err
}

// Number is the value of an attribute that is a number of the machine's byte order; 0 if it is
// not there.
func Number(b []byte) uint32 {
	switch len(b) {
	case 1:
		return uint32(b[0])
	case 2:
		return uint32(binary.NativeEndian.Uint16(b))
	case 4, 8:
		return binary.NativeEndian.Uint32(b)
	}
	return 0
}

// Address is the value of an attribute that is an IP address; invalid if it is not there.
func Address(b []byte) netip.Addr {
	a, _ := netip.AddrFromSlice(b)
	return a
}
