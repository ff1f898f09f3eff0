//go:build linux

package bench

import (
	"encoding/binary"
	"fmt"

	"golang.org/x/sys/unix"
)

// nl is a routing netlink socket with one request under construction.
type nl struct {
	fd    int
	buf   []byte
	count int // messages in buf
	seq   uint32
	in    [16 << 10]byte
}

func openNL() (*nl, error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_ROUTE)
	if err != nil {
		return nil, fmt.Errorf("netlink: %w", err)
	}
	return &nl{fd: fd}, nil
}

func (n *nl) close() { unix.Close(n.fd) }

// message adds a message with a fixed header and attributes.
func (n *nl) message(kind, flags uint16, header []byte, attributes func()) {
	start := len(n.buf)
	n.seq++
	n.count++
	n.buf = binary.NativeEndian.AppendUint32(n.buf, 0)
	n.buf = binary.NativeEndian.AppendUint16(n.buf, kind)
	n.buf = binary.NativeEndian.AppendUint16(n.buf, flags|unix.NLM_F_REQUEST|unix.NLM_F_ACK)
	n.buf = binary.NativeEndian.AppendUint32(n.buf, n.seq)
	n.buf = binary.NativeEndian.AppendUint32(n.buf, 0)
	n.buf = append(n.buf, header...)
	attributes()
	binary.NativeEndian.PutUint32(n.buf[start:], uint32(len(n.buf)-start))
}

func (n *nl) attr(kind uint16, data []byte) {
	n.buf = binary.NativeEndian.AppendUint16(n.buf, uint16(4+len(data)))
	n.buf = binary.NativeEndian.AppendUint16(n.buf, kind)
	n.buf = append(n.buf, data...)
	for len(n.buf)%4 != 0 {
		n.buf = append(n.buf, 0)
	}
}

func (n *nl) text(kind uint16, s string) { n.attr(kind, append([]byte(s), 0)) }

func (n *nl) u32(kind uint16, v uint32) {
	n.attr(kind, binary.NativeEndian.AppendUint32(nil, v))
}

// nest adds an attribute that consists of others.
func (n *nl) nest(kind uint16, attributes func()) {
	start := len(n.buf)
	n.attr(kind, nil)
	attributes()
	binary.NativeEndian.PutUint16(n.buf[start:], uint16(len(n.buf)-start))
}

// flush sends all messages at once and waits for their acknowledgements.
func (n *nl) flush() error {
	if n.count == 0 {
		return nil
	}
	if err := unix.Sendto(n.fd, n.buf, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return fmt.Errorf("netlink send: %w", err)
	}
	n.buf = n.buf[:0]
	for n.count > 0 {
		size, _, err := unix.Recvfrom(n.fd, n.in[:], 0)
		if err != nil {
			return fmt.Errorf("netlink receive: %w", err)
		}
		for at := 0; at+20 <= size; {
			length := int(binary.NativeEndian.Uint32(n.in[at:]))
			if binary.NativeEndian.Uint16(n.in[at+4:]) == unix.NLMSG_ERROR {
				n.count--
				if errno := int32(binary.NativeEndian.Uint32(n.in[at+16:])); errno != 0 {
					return fmt.Errorf("netlink: %w", unix.Errno(-errno))
				}
			}
			at += (length + 3) &^ 3
		}
	}
	return nil
}

func ifinfo(index int, up bool) []byte {
	b := make([]byte, 16)
	binary.NativeEndian.PutUint32(b[4:], uint32(index))
	if up {
		binary.NativeEndian.PutUint32(b[8:], unix.IFF_UP)
		binary.NativeEndian.PutUint32(b[12:], unix.IFF_UP)
	}
	return b
}

// link writes the attributes that all links have.
func (n *nl) link(name string, mtu, master int, mac [6]byte) {
	n.text(unix.IFLA_IFNAME, name)
	n.u32(unix.IFLA_NUM_TX_QUEUES, 1)
	n.u32(unix.IFLA_NUM_RX_QUEUES, 1)
	n.u32(unix.IFLA_MTU, uint32(mtu))
	n.attr(unix.IFLA_ADDRESS, mac[:])
	if master != 0 {
		n.u32(unix.IFLA_MASTER, uint32(master))
	}
}

const creates = unix.NLM_F_CREATE | unix.NLM_F_EXCL

// Nested attributes of link kinds (include/uapi/linux/if_link.h).
const (
	infoKind, infoData, infoSlaveKind, infoSlaveData = 1, 2, 4, 5
	brportMode                                       = 4
	vxlanID, vxlanLink, vxlanLocal, vxlanLearning    = 1, 3, 4, 7
	vxlanPort                                        = 15
)

// create adds a link of a kind; attributes are those of the kind.
func (n *nl) create(kind, name string, index, mtu, master int, mac [6]byte, attributes func()) {
	n.message(unix.RTM_NEWLINK, creates, ifinfo(index, true), func() {
		n.link(name, mtu, master, mac)
		n.nest(unix.IFLA_LINKINFO, func() {
			n.attr(infoKind, []byte(kind))
			if attributes != nil {
				n.nest(infoData, attributes)
			}
		})
	})
}

// veth creates a pair: near, with a given index, on a bridge; far, as the first link of
// the namespace behind fd.
func (n *nl) veth(near string, index, master, mtu int, far string, fd int, mac [6]byte) {
	n.create("veth", near, index, mtu, master, mac, func() {
		n.nest(1, func() {
			n.buf = append(n.buf, ifinfo(uplink, false)...)
			mac[1]++
			n.link(far, mtu, 0, mac)
			n.u32(unix.IFLA_NET_NS_FD, uint32(fd))
		})
	})
}

func (n *nl) hairpin(name string) {
	n.message(unix.RTM_NEWLINK, 0, ifinfo(0, false), func() {
		n.text(unix.IFLA_IFNAME, name)
		n.nest(unix.IFLA_LINKINFO, func() {
			n.attr(infoSlaveKind, []byte("bridge"))
			n.nest(infoSlaveData, func() { n.attr(brportMode, []byte{1}) })
		})
	})
}

func (n *nl) bridge(name string, index, mtu int, mac [6]byte) {
	n.create("bridge", name, index, mtu, 0, mac, nil)
}

func (n *nl) vxlan(name string, index, dev, mtu int, local [4]byte, mac [6]byte) {
	n.create("vxlan", name, index, mtu, 0, mac, func() {
		n.u32(vxlanID, 1)
		n.u32(vxlanLink, uint32(dev))
		n.attr(vxlanLocal, local[:])
		n.attr(vxlanPort, binary.BigEndian.AppendUint16(nil, 8472))
		n.attr(vxlanLearning, []byte{0})
	})
}

func (n *nl) up(index int) {
	n.message(unix.RTM_NEWLINK, 0, ifinfo(index, true), func() {})
}

func (n *nl) addr(index int, a [4]byte, bits int) {
	header := make([]byte, 8)
	header[0], header[1] = unix.AF_INET, byte(bits)
	binary.NativeEndian.PutUint32(header[4:], uint32(index))
	n.message(unix.RTM_NEWADDR, creates, header, func() {
		n.attr(unix.IFA_LOCAL, a[:])
		n.attr(unix.IFA_ADDRESS, a[:])
		if bits == 24 {
			n.attr(unix.IFA_BROADCAST, []byte{a[0], a[1], a[2], 255})
		}
	})
}

func (n *nl) route(to [4]byte, bits int, via [4]byte, dev int, onlink bool) {
	header := make([]byte, 12)
	header[0], header[1], header[4], header[5], header[7] = unix.AF_INET, byte(bits), unix.RT_TABLE_MAIN, unix.RTPROT_BOOT, unix.RTN_UNICAST
	if onlink {
		binary.NativeEndian.PutUint32(header[8:], unix.RTNH_F_ONLINK)
	}
	n.message(unix.RTM_NEWROUTE, creates, header, func() {
		if bits > 0 {
			n.attr(unix.RTA_DST, to[:])
		}
		n.attr(unix.RTA_GATEWAY, via[:])
		n.u32(unix.RTA_OIF, uint32(dev))
	})
}

// neigh adds a neighbour entry or, with the bridge family, a forwarding entry.
func (n *nl) neigh(family byte, index int, dst [4]byte, mac [6]byte) {
	header := make([]byte, 12)
	header[0] = family
	binary.NativeEndian.PutUint32(header[4:], uint32(index))
	binary.NativeEndian.PutUint16(header[8:], unix.NUD_PERMANENT)
	if family == unix.AF_BRIDGE {
		header[10] = unix.NTF_SELF
	}
	n.message(unix.RTM_NEWNEIGH, creates, header, func() {
		n.attr(unix.NDA_DST, dst[:])
		n.attr(unix.NDA_LLADDR, mac[:])
	})
}
