//go:build linux

package kernel

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"github.com/netlab/netlab/datapath/kernel/deviations"
	"github.com/netlab/netlab/datapath/kernel/socket"
	"github.com/netlab/netlab/datapath/plan"
)

// Numbers of net.ipv4.conf.*.mc_forwarding and net.ipv6.conf.*.mc_forwarding, which only the kernel sets.
const forwardsMulticast4, forwardsMulticast6 = 1, 25

// multicast notes that multicast packets from the link are routed, which only a routing daemon sets up.
func (d notes) multicast(x *netDevice, inet []uint32) {
	for _, f := range []struct {
		family, number int
		settings       []uint32
		tree           string
	}{{unix.AF_INET, forwardsMulticast4, inet, "net.ipv4"}, {unix.AF_INET6, forwardsMulticast6, x.inet6, "net.ipv6"}} {
		if f.number < len(f.settings) && f.settings[f.number] != 0 {
			d.Differs(fmt.Sprintf("sysctl %s.conf.%s.mc_forwarding", f.tree, slashed(x.name)), 1, 0, "ip netns exec "+d.Netns.Name+" smcroutectl flush",
				plan.Request{MulticastRouting: f.family})
		}
	}
}

// flushMulticast removes the multicast routes of the namespace of the thread, and the interfaces
// between which they lead (MRT_FLUSH in include/uapi/linux/mroute.h).
func flushMulticast(family int) error {
	const flush, all = 212, 15
	protocol, level := unix.IPPROTO_IGMP, unix.IPPROTO_IP
	if family == unix.AF_INET6 {
		protocol, level = unix.IPPROTO_ICMPV6, unix.IPPROTO_IPV6
	}
	fd, err := unix.Socket(family, unix.SOCK_RAW|unix.SOCK_CLOEXEC, protocol)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return unix.SetsockoptInt(fd, level, flush, all)
}

// Multicast groups of bridges (include/uapi/linux/if_bridge.h): a message has a header of struct
// br_port_msg, and each entry is a struct br_mdb_entry.
const (
	mdbHeader     = 8
	mdbEntry      = 1 // MDBA_MDB, MDBA_MDB_ENTRY, MDBA_MDB_ENTRY_INFO and MDBA_SET_ENTRY
	mdbEntrySize  = 28
	mdbPermanent  = 1
	mdbEntryState = 4
	mdbEntryAddr  = 8
)

// groups notes permanent members of multicast groups, which no plan has.
func (d notes) groups(sock *socket.Socket, names map[int]string, devices map[int]*netDevice) error {
	list, err := sock.Dump(unix.RTM_GETMDB, append([]byte{unix.AF_BRIDGE}, make([]byte, mdbHeader-1)...))
	if errors.Is(err, unix.EOPNOTSUPP) {
		return nil // a kernel whose bridges do not look at them
	}
	if err != nil {
		return fmt.Errorf("multicast groups: %w", err)
	}
	each := func(do func([]byte) error) func(uint16, []byte) error {
		return func(kind uint16, value []byte) error {
			if kind != mdbEntry {
				return nil
			}
			return do(value)
		}
	}
	for _, m := range list {
		if len(m) < unix.NLMSG_HDRLEN+mdbHeader {
			return socket.ErrShort
		}
		header := m[unix.NLMSG_HDRLEN:][:mdbHeader]
		bridge := devices[int(binary.NativeEndian.Uint32(header[4:]))]
		if bridge == nil || bridge.kind != plan.Bridge {
			continue
		}
		entry := each(func(e []byte) error {
			if len(e) < mdbEntrySize || e[mdbEntryState] != mdbPermanent {
				return nil
			}
			group, port := socket.Address(e[mdbEntryAddr:][:4]), names[int(binary.NativeEndian.Uint32(e))]
			if e[24] == 0x86 { // the EtherType of IPv6
				group = socket.Address(e[mdbEntryAddr:][:16])
			}
			req := socket.Request(unix.RTM_DELMDB, 0)
			req.AddData(append(socket.Raw{unix.AF_BRIDGE}, header[1:]...))
			req.AddData(nl.NewRtAttr(mdbEntry, e[:mdbEntrySize]))
			words := fmt.Sprintf("dev %s port %s grp %s", bridge.name, port, group)
			d.Foreign("MDB entry "+words, fmt.Sprintf("bridge -n %s mdb delete %s", d.Netns.Name, words), deviations.RouteRequest(socket.Written(req)))
			return nil
		})
		err := socket.EachAttr(m[unix.NLMSG_HDRLEN+mdbHeader:], each(func(all []byte) error {
			return socket.EachAttr(all, each(func(group []byte) error { return socket.EachAttr(group, entry) }))
		}))
		if err != nil {
			return fmt.Errorf("multicast groups: %w", err)
		}
	}
	return nil
}
