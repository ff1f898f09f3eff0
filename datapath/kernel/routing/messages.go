//go:build linux

package routing

import (
	"encoding/binary"
	"net"
	"net/netip"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"github.com/netlab/netlab/datapath/kernel/socket"
	"github.com/netlab/netlab/datapath/plan"
)

// AddrMessage adds or deletes an address of the link with that index.
func AddrMessage(kind, flags int, p netip.Prefix, index int) socket.Message {
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

// RouteMessage adds or deletes a route through the link with that index; 0: none.
func RouteMessage(kind, flags int, r plan.Route, index int) socket.Message {
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
