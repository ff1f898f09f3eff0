//go:build linux

package links

import (
	"encoding/binary"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"github.com/netlab/netlab/datapath/kernel/socket"
	"github.com/netlab/netlab/datapath/plan"
)

// Attribute numbers that x/sys/unix does not name (include/uapi/linux/if_link.h).
const (
	brportMode = 4 // IFLA_BRPORT_MODE: hairpin
	vethPeer   = 1 // VETH_INFO_PEER
)

// End is one end of a veth as a message needs it.
type End struct {
	Link  plan.Link
	Index int // 0: the kernel chooses
	// Master is the index of the bridge, in the namespace of the link; 0: none.
	Master int
}

// Veth creates a pair: near in the socket's namespace, up and enslaved; far in the
// namespace behind fd, to be set up there (the kernel refuses to do so before the pair
// is joined).
func Veth(near, far End, fd int) socket.Message {
	return add(near, "veth", func(data *nl.RtAttr) {
		peer := data.AddRtAttr(vethPeer, nil)
		header := nl.NewIfInfomsgChild(peer, unix.AF_UNSPEC)
		header.Index = int32(far.Index)
		for _, a := range linkAttrs(far) {
			peer.AddRtAttr(int(a.Type), a.Data)
		}
		peer.AddRtAttr(unix.IFLA_NET_NS_FD, nl.Uint32Attr(uint32(fd)))
	})
}

// Dummy creates a dummy and sets it up. The kernel creates it without ARP.
func Dummy(e End) socket.Message { return add(e, "dummy", nil) }

// Bridge creates a bridge and sets it up. Its MTU is set by a separate message
// (Change): once the last port leaves, the kernel only keeps an MTU that was set,
// not one given at creation.
func Bridge(e End) socket.Message {
	e.Link.MTU = 0
	return add(e, "bridge", nil)
}

// VXLAN creates a vxlan device over the device with index dev, and sets it up.
func VXLAN(e End, dev int) socket.Message {
	v := e.Link.VXLAN
	return add(e, "vxlan", func(data *nl.RtAttr) {
		data.AddRtAttr(nl.IFLA_VXLAN_ID, nl.Uint32Attr(uint32(v.ID)))
		if dev != 0 {
			data.AddRtAttr(nl.IFLA_VXLAN_LINK, nl.Uint32Attr(uint32(dev)))
		}
		if v.Local.Is4() {
			data.AddRtAttr(nl.IFLA_VXLAN_LOCAL, v.Local.AsSlice())
		} else if v.Local.Is6() {
			data.AddRtAttr(nl.IFLA_VXLAN_LOCAL6, v.Local.AsSlice())
		}
		data.AddRtAttr(nl.IFLA_VXLAN_PORT, binary.BigEndian.AppendUint16(nil, uint16(v.Port)))
		data.AddRtAttr(nl.IFLA_VXLAN_LEARNING, socket.Flag(v.Learning))
	})
}

// Add creates a link of a kind that needs nothing else, and sets it up.
func Add(e End, kind plan.LinkType) socket.Message { return add(e, string(kind), nil) }

// add creates a link of some kind and sets it up; data adds what only that kind has.
func add(e End, kind string, data func(*nl.RtAttr)) socket.Message {
	req := linkRequest(unix.NLM_F_CREATE|unix.NLM_F_EXCL, e.Index)
	for _, a := range linkAttrs(e) {
		req.AddData(a)
	}
	info := nl.NewRtAttr(unix.IFLA_LINKINFO, nil)
	info.AddRtAttr(nl.IFLA_INFO_KIND, []byte(kind))
	if data != nil {
		data(info.AddRtAttr(nl.IFLA_INFO_DATA, nil))
	}
	req.AddData(info)
	return socket.Written(req)
}

func linkRequest(flags, index int) *nl.NetlinkRequest {
	req := socket.Request(unix.RTM_NEWLINK, flags)
	header := nl.NewIfInfomsg(unix.AF_UNSPEC)
	header.Index = int32(index)
	header.Flags, header.Change = unix.IFF_UP, unix.IFF_UP
	req.AddData(header)
	return req
}

// linkAttrs are the attributes of every kind of link. One queue each: the default is
// one per core, which costs a quarter of the time to create a pod.
func linkAttrs(e End) []*nl.RtAttr {
	attrs := []*nl.RtAttr{
		nl.NewRtAttr(unix.IFLA_IFNAME, nl.ZeroTerminated(e.Link.Name)),
		nl.NewRtAttr(unix.IFLA_NUM_TX_QUEUES, nl.Uint32Attr(1)),
		nl.NewRtAttr(unix.IFLA_NUM_RX_QUEUES, nl.Uint32Attr(1)),
	}
	attrs = e.appendOwn(attrs)
	if e.Master != 0 {
		attrs = append(attrs, nl.NewRtAttr(unix.IFLA_MASTER, nl.Uint32Attr(uint32(e.Master))))
	}
	return attrs
}

// appendOwn appends the MTU and the MAC, where the link has its own.
func (e End) appendOwn(attrs []*nl.RtAttr) []*nl.RtAttr {
	if e.Link.MTU != 0 {
		attrs = append(attrs, nl.NewRtAttr(unix.IFLA_MTU, nl.Uint32Attr(uint32(e.Link.MTU))))
	}
	if e.Link.MAC != [6]byte{} {
		attrs = append(attrs, nl.NewRtAttr(unix.IFLA_ADDRESS, e.Link.MAC[:]))
	}
	return attrs
}

// Hairpin says whether the port of a bridge sends frames back to where they came from.
func Hairpin(name string, on bool) socket.Message {
	req := socket.Request(unix.RTM_NEWLINK, 0)
	req.AddData(nl.NewIfInfomsg(unix.AF_UNSPEC))
	req.AddData(nl.NewRtAttr(unix.IFLA_IFNAME, nl.ZeroTerminated(name)))
	info := nl.NewRtAttr(unix.IFLA_LINKINFO, nil)
	info.AddRtAttr(nl.IFLA_INFO_SLAVE_KIND, []byte("bridge"))
	info.AddRtAttr(nl.IFLA_INFO_SLAVE_DATA, nil).AddRtAttr(brportMode, socket.Flag(on))
	req.AddData(info)
	return socket.Written(req)
}

// Up sets a link up.
func Up(index int) socket.Message { return socket.Written(linkRequest(0, index)) }

// Change sets MTU, MAC and master of an existing link, and sets it up. Without an
// index, the link is found by name.
func Change(e End) socket.Message {
	req := linkRequest(0, e.Index)
	if e.Index == 0 {
		req.AddData(nl.NewRtAttr(unix.IFLA_IFNAME, nl.ZeroTerminated(e.Link.Name)))
	}
	for _, a := range e.appendOwn(nil) {
		req.AddData(a)
	}
	req.AddData(nl.NewRtAttr(unix.IFLA_MASTER, nl.Uint32Attr(uint32(e.Master))))
	return socket.Written(req)
}

// Down takes a link down, which ends its routes.
func Down(name string) socket.Message {
	req := socket.Request(unix.RTM_NEWLINK, 0)
	header := nl.NewIfInfomsg(unix.AF_UNSPEC)
	header.Change = unix.IFF_UP
	req.AddData(header)
	req.AddData(nl.NewRtAttr(unix.IFLA_IFNAME, nl.ZeroTerminated(name)))
	m := socket.Written(req)
	m.Excuse = []unix.Errno{unix.ENODEV}
	return m
}

// Delete removes a link by name; one that is already gone is fine.
func Delete(name string) socket.Message {
	req := socket.Request(unix.RTM_DELLINK, 0)
	req.AddData(nl.NewIfInfomsg(unix.AF_UNSPEC))
	req.AddData(nl.NewRtAttr(unix.IFLA_IFNAME, nl.ZeroTerminated(name)))
	m := socket.Written(req)
	m.Excuse = []unix.Errno{unix.ENODEV}
	return m
}
