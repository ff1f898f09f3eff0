//go:build linux

package links

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

// Groups notes permanent members of multicast groups, which no plan has.
func Groups(d deviations.List, sock *socket.Socket, devices Devices) error {
	names := devices.Names()
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
		if bridge == nil || bridge.Kind != plan.Bridge {
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
			words := fmt.Sprintf("dev %s port %s grp %s", bridge.Name, port, group)
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
