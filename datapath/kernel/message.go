//go:build linux

package kernel

import (
	"encoding/binary"
	"net"
	"net/netip"

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

// end is one end of a veth as a message needs it.
type end struct {
	link  plan.Link
	index int // 0: the kernel chooses
	// master is the index of the bridge, in the namespace of the link; 0: none.
	master int
}

// vethAdd creates a pair: near in the socket's namespace, up and enslaved; far in the
// namespace behind fd, to be set up there (the kernel refuses to do so before the pair
// is joined).
func vethAdd(near, far end, fd int) socket.Message {
	return linkAdd(near, "veth", func(data *nl.RtAttr) {
		peer := data.AddRtAttr(vethPeer, nil)
		header := nl.NewIfInfomsgChild(peer, unix.AF_UNSPEC)
		header.Index = int32(far.index)
		for _, a := range linkAttrs(far) {
			peer.AddRtAttr(int(a.Type), a.Data)
		}
		peer.AddRtAttr(unix.IFLA_NET_NS_FD, nl.Uint32Attr(uint32(fd)))
	})
}

// dummyAdd creates a dummy and sets it up. The kernel creates it without ARP.
func dummyAdd(e end) socket.Message { return linkAdd(e, "dummy", nil) }

// bridgeAdd creates a bridge and sets it up. Its MTU is set by a separate message
// (linkChange): once the last port leaves, the kernel only keeps an MTU that was set,
// not one given at creation.
func bridgeAdd(e end) socket.Message {
	e.link.MTU = 0
	return linkAdd(e, "bridge", nil)
}

// vxlanAdd creates a vxlan device over the device with index dev, and sets it up.
func vxlanAdd(e end, dev int) socket.Message {
	v := e.link.VXLAN
	return linkAdd(e, "vxlan", func(data *nl.RtAttr) {
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

// linkAdd creates a link of some kind and sets it up; data adds what only that kind has.
func linkAdd(e end, kind string, data func(*nl.RtAttr)) socket.Message {
	req := linkRequest(unix.NLM_F_CREATE|unix.NLM_F_EXCL, e.index)
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
func linkAttrs(e end) []*nl.RtAttr {
	attrs := []*nl.RtAttr{
		nl.NewRtAttr(unix.IFLA_IFNAME, nl.ZeroTerminated(e.link.Name)),
		nl.NewRtAttr(unix.IFLA_NUM_TX_QUEUES, nl.Uint32Attr(1)),
		nl.NewRtAttr(unix.IFLA_NUM_RX_QUEUES, nl.Uint32Attr(1)),
	}
	attrs = e.appendOwn(attrs)
	if e.master != 0 {
		attrs = append(attrs, nl.NewRtAttr(unix.IFLA_MASTER, nl.Uint32Attr(uint32(e.master))))
	}
	return attrs
}

// appendOwn appends the MTU and the MAC, where the link has its own.
func (e end) appendOwn(attrs []*nl.RtAttr) []*nl.RtAttr {
	if e.link.MTU != 0 {
		attrs = append(attrs, nl.NewRtAttr(unix.IFLA_MTU, nl.Uint32Attr(uint32(e.link.MTU))))
	}
	if e.link.MAC != [6]byte{} {
		attrs = append(attrs, nl.NewRtAttr(unix.IFLA_ADDRESS, e.link.MAC[:]))
	}
	return attrs
}

func hairpinSet(name string, on bool) socket.Message {
	req := socket.Request(unix.RTM_NEWLINK, 0)
	req.AddData(nl.NewIfInfomsg(unix.AF_UNSPEC))
	req.AddData(nl.NewRtAttr(unix.IFLA_IFNAME, nl.ZeroTerminated(name)))
	info := nl.NewRtAttr(unix.IFLA_LINKINFO, nil)
	info.AddRtAttr(nl.IFLA_INFO_SLAVE_KIND, []byte("bridge"))
	info.AddRtAttr(nl.IFLA_INFO_SLAVE_DATA, nil).AddRtAttr(brportMode, socket.Flag(on))
	req.AddData(info)
	return socket.Written(req)
}

func linkUp(index int) socket.Message { return socket.Written(linkRequest(0, index)) }

// linkChange sets MTU, MAC and master of an existing link, and sets it up. Without an
// index, the link is found by name.
func linkChange(e end) socket.Message {
	req := linkRequest(0, e.index)
	if e.index == 0 {
		req.AddData(nl.NewRtAttr(unix.IFLA_IFNAME, nl.ZeroTerminated(e.link.Name)))
	}
	for _, a := range e.appendOwn(nil) {
		req.AddData(a)
	}
	req.AddData(nl.NewRtAttr(unix.IFLA_MASTER, nl.Uint32Attr(uint32(e.master))))
	return socket.Written(req)
}

// linkDown takes a link down, which ends its routes.
func linkDown(name string) socket.Message {
	req := socket.Request(unix.RTM_NEWLINK, 0)
	header := nl.NewIfInfomsg(unix.AF_UNSPEC)
	header.Change = unix.IFF_UP
	req.AddData(header)
	req.AddData(nl.NewRtAttr(unix.IFLA_IFNAME, nl.ZeroTerminated(name)))
	m := socket.Written(req)
	m.Excuse = []unix.Errno{unix.ENODEV}
	return m
}

// linkDel removes a link by name; one that is already gone is fine.
func linkDel(name string) socket.Message {
	req := socket.Request(unix.RTM_DELLINK, 0)
	req.AddData(nl.NewIfInfomsg(unix.AF_UNSPEC))
	req.AddData(nl.NewRtAttr(unix.IFLA_IFNAME, nl.ZeroTerminated(name)))
	m := socket.Written(req)
	m.Excuse = []unix.Errno{unix.ENODEV}
	return m
}

func addrMessage(kind, flags int, p netip.Prefix, index int) socket.Message {
	req := socket.Request(kind, flags)
	body := nl.NewIfAddrmsg(socket.Family(p.Addr()))
	body.Index = uint32(index)
	body.Prefixlen = uint8(p.Bits())
	if p.Addr().IsLoopback() {
		body.Scope = unix.RT_SCOPE_HOST
	}
	if p.Addr().Is6() {
		// Duplicate address detection would keep the address tentative for a second.
		body.Flags = unix.IFA_F_NODAD
	}
	req.AddData(body)
	req.AddData(nl.NewRtAttr(unix.IFA_LOCAL, p.Addr().AsSlice()))
	req.AddData(nl.NewRtAttr(unix.IFA_ADDRESS, p.Addr().AsSlice()))
	if p.Addr().Is4() && p.Bits() < 31 {
		req.AddData(nl.NewRtAttr(unix.IFA_BROADCAST, broadcast(p)))
	}
	return socket.Written(req)
}

func broadcast(p netip.Prefix) net.IP {
	b := p.Addr().As4()
	host := uint32(1)<<(32-p.Bits()) - 1
	return binary.BigEndian.AppendUint32(nil, binary.BigEndian.Uint32(b[:])|host)
}

// protocols and routeTypes are the numbers of the words that plans use
// (include/uapi/linux/rtnetlink.h).
var (
	protocols = map[plan.RouteProtocol]uint8{plan.ByHand: unix.RTPROT_BOOT, plan.Bird: unix.RTPROT_BIRD, plan.BGP: unix.RTPROT_BGP}

	routeTypes = map[plan.RouteType]uint8{plan.Unicast: unix.RTN_UNICAST, plan.Blackhole: unix.RTN_BLACKHOLE, plan.Unreachable: unix.RTN_UNREACHABLE}
)

// wordOf finds the word for a number.
func wordOf[W comparable, N comparable](numbers map[W]N, n N) (word W, known bool) {
	for w, other := range numbers {
		if other == n {
			return w, true
		}
	}
	return word, false
}

func routeMessage(kind, flags int, r plan.Route, index int) socket.Message {
	req := socket.Request(kind, flags)
	body := &nl.RtMsg{RtMsg: unix.RtMsg{
		Family:  uint8(socket.Family(r.To.Addr())),
		Dst_len: uint8(r.To.Bits()),
		Table:   unix.RT_TABLE_MAIN,
	}}
	if kind == unix.RTM_NEWROUTE {
		body.Protocol, body.Type = protocols[r.Protocol], routeTypes[r.Type]
		body.Scope = unix.RT_SCOPE_UNIVERSE
		if !r.Via.IsValid() && r.Type == plan.Unicast {
			body.Scope = unix.RT_SCOPE_LINK
		}
	} else {
		body.Scope = unix.RT_SCOPE_NOWHERE
	}
	if r.Local {
		body.Table, body.Type = unix.RT_TABLE_LOCAL, unix.RTN_LOCAL
		if kind == unix.RTM_NEWROUTE {
			body.Scope = unix.RT_SCOPE_HOST
		}
	}
	if r.OnLink {
		body.Flags |= unix.RTNH_F_ONLINK
	}
	req.AddData(body)
	if r.To.Bits() > 0 {
		req.AddData(nl.NewRtAttr(unix.RTA_DST, r.To.Addr().AsSlice()))
	}
	if len(r.More) > 0 {
		req.AddData(nl.NewRtAttr(unix.RTA_MULTIPATH, nextHops(r, index)))
		return socket.Written(req)
	}
	if r.Via.IsValid() {
		req.AddData(nl.NewRtAttr(unix.RTA_GATEWAY, r.Via.AsSlice()))
	}
	if index != 0 {
		req.AddData(nl.NewRtAttr(unix.RTA_OIF, nl.Uint32Attr(uint32(index))))
	}
	return socket.Written(req)
}

// nextHops is a list of struct rtnexthop (include/uapi/linux/rtnetlink.h), of equal
// weight, each with its gateway.
func nextHops(r plan.Route, index int) []byte {
	var list []byte
	for _, via := range append([]netip.Addr{r.Via}, r.More...) {
		gateway := nl.NewRtAttr(unix.RTA_GATEWAY, via.AsSlice()).Serialize()
		list = binary.NativeEndian.AppendUint16(list, uint16(unix.SizeofRtNexthop+len(gateway)))
		flags := byte(0)
		if r.OnLink {
			flags = unix.RTNH_F_ONLINK
		}
		list = append(list, flags, 0)
		list = binary.NativeEndian.AppendUint32(list, uint32(index))
		list = append(list, gateway...)
	}
	return list
}

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

func neighMessage(kind, flags int, n plan.Neigh, index int) socket.Message {
	req := socket.Request(kind, flags)
	req.AddData(ndmsg{family: uint8(socket.Family(n.Addr)), index: uint32(index), state: unix.NUD_PERMANENT})
	req.AddData(nl.NewRtAttr(unix.NDA_DST, n.Addr.AsSlice()))
	if kind == unix.RTM_NEWNEIGH {
		req.AddData(nl.NewRtAttr(unix.NDA_LLADDR, n.MAC[:]))
	}
	return socket.Written(req)
}

func fdbMessage(kind, flags int, f plan.FDB, index int) socket.Message {
	req := socket.Request(kind, flags)
	req.AddData(ndmsg{family: unix.AF_BRIDGE, index: uint32(index), state: unix.NUD_PERMANENT, flags: unix.NTF_SELF})
	req.AddData(nl.NewRtAttr(unix.NDA_LLADDR, f.MAC[:]))
	req.AddData(nl.NewRtAttr(unix.NDA_DST, f.Dst.AsSlice()))
	return socket.Written(req)
}
