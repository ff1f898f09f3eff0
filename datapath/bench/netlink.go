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
	at    int // start of the current message
	nests []int
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

// begin starts a message; its fixed header is body.
func (n *nl) begin(kind uint16, flags uint16, body []byte) {
	n.at = len(n.buf)
	n.seq++
	n.count++
	n.buf = binary.NativeEndian.AppendUint32(n.buf, 0)
	n.buf = binary.NativeEndian.AppendUint16(n.buf, kind)
	n.buf = binary.NativeEndian.AppendUint16(n.buf, flags|unix.NLM_F_REQUEST|unix.NLM_F_ACK)
	n.buf = binary.NativeEndian.AppendUint32(n.buf, n.seq)
	n.buf = binary.NativeEndian.AppendUint32(n.buf, 0)
	n.buf = append(n.buf, body...)
}

func (n *nl) end() {
	binary.NativeEndian.PutUint32(n.buf[n.at:], uint32(len(n.buf)-n.at))
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

func (n *nl) open(kind uint16) {
	n.nests = append(n.nests, len(n.buf))
	n.attr(kind, nil)
}

func (n *nl) shut() {
	start := n.nests[len(n.nests)-1]
	n.nests = n.nests[:len(n.nests)-1]
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

const create = unix.NLM_F_CREATE | unix.NLM_F_EXCL

// Nested attributes of link kinds (include/uapi/linux/if_link.h).
const (
	infoKind, infoData, infoSlaveKind, infoSlaveData = 1, 2, 4, 5
	brportMode                                       = 4
	vxlanID, vxlanLink, vxlanLocal, vxlanLearning    = 1, 3, 4, 7
	vxlanPort                                        = 15
)

// veth creates a pair: near, with a given index, on a bridge; far, as the first link of
// the namespace behind fd.
func (n *nl) veth(near string, index, master, mtu int, far string, fd int, mac [6]byte) {
	n.begin(unix.RTM_NEWLINK, create, ifinfo(index, true))
	n.link(near, mtu, master, mac)
	n.open(unix.IFLA_LINKINFO)
	n.attr(infoKind, []byte("veth"))
	n.open(infoData)
	n.open(1)
	n.buf = append(n.buf, ifinfo(uplink, false)...)
	mac[1]++
	n.link(far, mtu, 0, mac)
	n.u32(unix.IFLA_NET_NS_FD, uint32(fd))
	n.shut()
	n.shut()
	n.shut()
	n.end()
}

func (n *nl) hairpin(name string) {
	n.begin(unix.RTM_NEWLINK, 0, ifinfo(0, false))
	n.text(unix.IFLA_IFNAME, name)
	n.open(unix.IFLA_LINKINFO)
	n.attr(infoSlaveKind, []byte("bridge"))
	n.open(infoSlaveData)
	n.attr(brportMode, []byte{1})
	n.shut()
	n.shut()
	n.end()
}

func (n *nl) bridge(name string, index, mtu int, mac [6]byte) {
	n.begin(unix.RTM_NEWLINK, create, ifinfo(index, true))
	n.link(name, mtu, 0, mac)
	n.open(unix.IFLA_LINKINFO)
	n.attr(infoKind, []byte("bridge"))
	n.shut()
	n.end()
}

func (n *nl) vxlan(name string, index, dev, mtu int, local [4]byte, mac [6]byte) {
	n.begin(unix.RTM_NEWLINK, create, ifinfo(index, true))
	n.link(name, mtu, 0, mac)
	n.open(unix.IFLA_LINKINFO)
	n.attr(infoKind, []byte("vxlan"))
	n.open(infoData)
	n.u32(vxlanID, 1)
	n.u32(vxlanLink, uint32(dev))
	n.attr(vxlanLocal, local[:])
	n.attr(vxlanPort, binary.BigEndian.AppendUint16(nil, 8472))
	n.attr(vxlanLearning, []byte{0})
	n.shut()
	n.shut()
	n.end()
}

func (n *nl) up(index int) {
	n.begin(unix.RTM_NEWLINK, 0, ifinfo(index, true))
	n.end()
}

func (n *nl) addr(index int, a [4]byte, bits int) {
	body := make([]byte, 8)
	body[0], body[1] = unix.AF_INET, byte(bits)
	binary.NativeEndian.PutUint32(body[4:], uint32(index))
	n.begin(unix.RTM_NEWADDR, create, body)
	n.attr(unix.IFA_LOCAL, a[:])
	n.attr(unix.IFA_ADDRESS, a[:])
	if bits == 24 {
		n.attr(unix.IFA_BROADCAST, []byte{a[0], a[1], a[2], 255})
	}
	n.end()
}

func (n *nl) route(to [4]byte, bits int, via [4]byte, dev int, onlink bool) {
	body := make([]byte, 12)
	body[0], body[1], body[4], body[5], body[7] = unix.AF_INET, byte(bits), unix.RT_TABLE_MAIN, unix.RTPROT_BOOT, unix.RTN_UNICAST
	if onlink {
		binary.NativeEndian.PutUint32(body[8:], unix.RTNH_F_ONLINK)
	}
	n.begin(unix.RTM_NEWROUTE, create, body)
	if bits > 0 {
		n.attr(unix.RTA_DST, to[:])
	}
	n.attr(unix.RTA_GATEWAY, via[:])
	n.u32(unix.RTA_OIF, uint32(dev))
	n.end()
}

// neigh adds a neighbour entry or, with the bridge family, a forwarding entry.
func (n *nl) neigh(family byte, index int, dst [4]byte, mac [6]byte) {
	body := make([]byte, 12)
	body[0] = family
	binary.NativeEndian.PutUint32(body[4:], uint32(index))
	binary.NativeEndian.PutUint16(body[8:], unix.NUD_PERMANENT)
	if family == unix.AF_BRIDGE {
		body[10] = unix.NTF_SELF
	}
	n.begin(unix.RTM_NEWNEIGH, create, body)
	n.attr(unix.NDA_DST, dst[:])
	n.attr(unix.NDA_LLADDR, mac[:])
	n.end()
}
