//go:build linux

package neighbours

import (
	"encoding/binary"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"github.com/netlab/netlab/datapath/kernel/socket"
	"github.com/netlab/netlab/datapath/plan"
)

// ndmsg is struct ndmsg of include/uapi/linux/neighbour.h.
type ndmsg struct {
	family uint8
	index  uint32
	state  uint16
	flags  uint8
}

func (n ndmsg) Len() int { return 12 }

func (n ndmsg) Serialize() []byte {
	b := make([]byte, 12)
	b[0] = n.family
	binary.NativeEndian.PutUint32(b[4:], n.index)
	binary.NativeEndian.PutUint16(b[8:], n.state)
	b[10] = n.flags
	return b
}

// NeighMessage adds or deletes a neighbour of the link with that index.
func NeighMessage(kind, flags int, n plan.Neigh, index int) socket.Message {
	req := socket.Request(kind, flags)
	req.AddData(ndmsg{family: uint8(socket.Family(n.Addr)), index: uint32(index), state: unix.NUD_PERMANENT})
	req.AddData(nl.NewRtAttr(unix.NDA_DST, n.Addr.AsSlice()))
	if kind == unix.RTM_NEWNEIGH {
		req.AddData(nl.NewRtAttr(unix.NDA_LLADDR, n.MAC[:]))
	}
	return socket.Written(req)
}

// FDBMessage adds or deletes a forwarding entry of the link with that index.
func FDBMessage(kind, flags int, f plan.FDB, index int) socket.Message {
	req := socket.Request(kind, flags)
	req.AddData(ndmsg{family: unix.AF_BRIDGE, index: uint32(index), state: unix.NUD_PERMANENT, flags: unix.NTF_SELF})
	req.AddData(nl.NewRtAttr(unix.NDA_LLADDR, f.MAC[:]))
	req.AddData(nl.NewRtAttr(unix.NDA_DST, f.Dst.AsSlice()))
	return socket.Written(req)
}
