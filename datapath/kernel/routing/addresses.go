//go:build linux

package routing

import (
	"encoding/binary"
	"fmt"
	"math"
	"net/netip"
	"slices"
	"strings"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"github.com/netlab/netlab/datapath/kernel/deviations"
	"github.com/netlab/netlab/datapath/kernel/links"
	"github.com/netlab/netlab/datapath/kernel/socket"
	"github.com/netlab/netlab/datapath/plan"
)

// Attribute numbers and flags of addresses (include/uapi/linux/if_addr.h).
const (
	addrPriority  = 9  // IFA_RT_PRIORITY
	addrProto     = 11 // IFA_PROTO
	addrOfKernel  = 3  // IFAPROT_KERNEL_LL
	noPrefixRoute = unix.IFA_F_NOPREFIXROUTE
)

// kernelAddr is an address as a dump describes it.
type kernelAddr struct {
	message   []byte
	prefix    netip.Prefix
	peer      netip.Addr
	broadcast netip.Addr
	index     int
	scope     uint8
	proto     uint8
	flags     uint32
	priority  uint32
	expires   bool
}

func parseAddr(m []byte) (*kernelAddr, error) {
	attrs, err := socket.Attrs(m, unix.SizeofIfAddrmsg)
	if err != nil {
		return nil, err
	}
	b := m[unix.NLMSG_HDRLEN:]
	a := &kernelAddr{message: m, scope: b[3], index: int(binary.NativeEndian.Uint32(b[4:])), flags: uint32(b[2]), proto: uint8(socket.Number(attrs[addrProto])), priority: socket.Number(attrs[addrPriority]), broadcast: socket.Address(attrs[unix.IFA_BROADCAST])}
	if v, ok := attrs[unix.IFA_FLAGS]; ok {
		a.flags = socket.Number(v)
	}
	local, peer := socket.Address(attrs[unix.IFA_LOCAL]), socket.Address(attrs[unix.IFA_ADDRESS])
	if !local.IsValid() {
		local = peer
	}
	if peer != local {
		a.peer = peer
	}
	a.prefix = netip.PrefixFrom(local, int(b[1]))
	if v := attrs[unix.IFA_CACHEINFO]; len(v) >= 8 {
		a.expires = binary.NativeEndian.Uint32(v) != math.MaxUint32 || binary.NativeEndian.Uint32(v[4:]) != math.MaxUint32
	}
	return a, nil
}

const lifetime = "a lifetime"

// odd says in what the address is not as plans have it; empty: it is.
func (a *kernelAddr) odd() string {
	var w []string
	if a.peer.IsValid() {
		w = append(w, "peer "+a.peer.String())
	}
	scope := uint8(unix.RT_SCOPE_UNIVERSE)
	switch ip := a.prefix.Addr(); {
	case ip.IsLoopback():
		scope = unix.RT_SCOPE_HOST
	case ip.IsLinkLocalUnicast() && ip.Is6():
		scope = unix.RT_SCOPE_LINK
	}
	if a.scope != scope {
		w = append(w, fmt.Sprintf("scope %d", a.scope))
	}
	if a.expires {
		w = append(w, lifetime)
	}
	if a.flags&noPrefixRoute != 0 {
		w = append(w, "noprefixroute")
	}
	if a.priority != 0 {
		w = append(w, fmt.Sprintf("metric %d", a.priority))
	}
	if a.broadcast.IsValid() && a.prefix.Bits() < 31 && a.broadcast != lastOf(a.prefix) {
		w = append(w, "brd "+a.broadcast.String())
	}
	if a.flags&unix.IFA_F_DADFAILED != 0 {
		w = append(w, "a duplicate")
	}
	return strings.Join(w, ", ")
}

// owed are the routes that the kernel has because of addresses: those that have to be there,
// and those that may.
type owed struct {
	routes []owedRoute
	may    map[entry]bool
}

type owedRoute struct {
	entry
	addr *kernelAddr
}

// allows reports whether a route follows from an address, or is one that the kernel has
// anyway.
func (o *owed) allows(e entry) bool {
	if !e.to.Addr().Is4() {
		switch {
		case e.to.Addr().IsMulticast() && e.table == unix.RT_TABLE_LOCAL, e.priority == math.MaxUint32:
			return true
		}
	}
	return o.may[e]
}

func (x *owedRoute) words(names map[int]string) string {
	r := kernelRoute{header: unix.RtMsg{Type: x.kind}, to: x.to, dev: x.dev, src: x.src, table: x.table}
	return r.words(names)
}

// command is that which adds the route again. The kernel makes those of IPv6 addresses
// itself, so the address is added again.
func (x *owedRoute) command(d deviations.List, words string, names map[int]string) string {
	if x.to.Addr().Is4() {
		return d.IP("route replace %s proto kernel scope %s", words, scopeWords[scopeOf(x.kind)])
	}
	return d.IP("address delete %s dev %s && %s", x.addr.prefix, names[x.dev], d.IP("address add %s dev %s nodad", x.addr.prefix, names[x.dev]))
}

var scopeWords = map[uint8]string{unix.RT_SCOPE_LINK: "link", unix.RT_SCOPE_HOST: "host"}

func scopeOf(kind uint8) uint8 {
	if kind == unix.RTN_LOCAL {
		return unix.RT_SCOPE_HOST
	}
	return unix.RT_SCOPE_LINK
}

// again are the requests that add a route that follows from an address.
func (x *owedRoute) again() []plan.Request {
	if x.to.Addr().Is4() {
		return []plan.Request{x.message(x.addr.prefix.Addr())}
	}
	return []plan.Request{deviations.Undo(unix.NETLINK_ROUTE, unix.RTM_DELADDR, x.addr.message),
		setAddr(x.addr.prefix, x.addr.index)}
}

// setAddr gives a link an address, or makes it again what plans have.
func setAddr(p netip.Prefix, index int) plan.Request {
	return deviations.RouteRequest(AddrMessage(unix.RTM_NEWADDR, unix.NLM_F_CREATE|unix.NLM_F_REPLACE, p, index))
}

// message adds a route of IPv4 as the kernel does, so that it takes it along with the address
// (fib_magic in net/ipv4/fib_frontend.c).
func (e entry) message(src netip.Addr) plan.Request {
	req := socket.Request(unix.RTM_NEWROUTE, unix.NLM_F_CREATE|unix.NLM_F_REPLACE)
	req.AddData(&nl.RtMsg{RtMsg: unix.RtMsg{Family: unix.AF_INET, Dst_len: uint8(e.to.Bits()), Table: uint8(e.table), Protocol: unix.RTPROT_KERNEL, Scope: scopeOf(e.kind), Type: e.kind}})
	req.AddData(nl.NewRtAttr(unix.RTA_DST, e.to.Addr().AsSlice()))
	req.AddData(nl.NewRtAttr(unix.RTA_PREFSRC, src.AsSlice()))
	req.AddData(nl.NewRtAttr(unix.RTA_OIF, nl.Uint32Attr(uint32(e.dev))))
	return deviations.RouteRequest(socket.Written(req))
}

// owe adds the routes that follow from an address (fib_add_ifaddr in
// net/ipv4/fib_frontend.c, addrconf_prefix_route and others in net/ipv6/addrconf.c).
func (o *owed) owe(a *kernelAddr, dev *links.Device) {
	up, of := dev.Flags&unix.IFF_UP != 0, a.prefix
	network, own := of.Masked(), netip.PrefixFrom(of.Addr(), of.Addr().BitLen())
	add := func(required bool, table uint32, kind uint8, to netip.Prefix, src netip.Addr, priority uint32) {
		e := entry{table: table, kind: kind, to: to, dev: dev.Index, src: src, priority: priority}
		o.may[e] = true
		if required && up {
			o.routes = append(o.routes, owedRoute{e, a})
		}
	}
	if of.Addr().Is4() {
		add(true, unix.RT_TABLE_LOCAL, unix.RTN_LOCAL, own, netip.Addr{}, 0)
		lo := dev.Flags&unix.IFF_LOOPBACK != 0
		primary := a.flags&unix.IFA_F_SECONDARY == 0
		if network != own && a.flags&noPrefixRoute == 0 && primary {
			if lo {
				add(true, unix.RT_TABLE_LOCAL, unix.RTN_LOCAL, network, netip.Addr{}, a.priority)
			} else {
				add(true, unix.RT_TABLE_MAIN, unix.RTN_UNICAST, network, of.Addr(), a.priority)
			}
		}
		if a.peer.IsValid() {
			add(false, unix.RT_TABLE_MAIN, unix.RTN_UNICAST, netip.PrefixFrom(a.peer, of.Bits()).Masked(), of.Addr(), a.priority)
		}
		if of.Bits() < 31 {
			add(primary, unix.RT_TABLE_LOCAL, unix.RTN_BROADCAST, netip.PrefixFrom(lastOf(of), 32), netip.Addr{}, 0)
			add(false, unix.RT_TABLE_LOCAL, unix.RTN_BROADCAST, netip.PrefixFrom(network.Addr(), 32), netip.Addr{}, 0)
		}
		if a.broadcast.IsValid() {
			add(false, unix.RT_TABLE_LOCAL, unix.RTN_BROADCAST, netip.PrefixFrom(a.broadcast, 32), netip.Addr{}, 0)
		}
		return
	}
	usable := a.flags&(unix.IFA_F_TENTATIVE|unix.IFA_F_DADFAILED) == 0
	priority := uint32(connectedPriority)
	if a.priority != 0 {
		priority = a.priority
	}
	add(usable, unix.RT_TABLE_LOCAL, unix.RTN_LOCAL, own, netip.Addr{}, 0)
	add(usable && dev.Index != links.LoopbackIndex && a.flags&noPrefixRoute == 0, unix.RT_TABLE_MAIN, unix.RTN_UNICAST, network, netip.Addr{}, priority)
	add(false, unix.RT_TABLE_LOCAL, unix.RTN_ANYCAST, netip.PrefixFrom(network.Addr(), 128), netip.Addr{}, 0)
}

// readAddrs reads the addresses. Those that the kernel gives links by itself have to be there.
func readAddrs(sock *socket.Socket, devices links.Devices, want, n *plan.Netns) (*owed, error) {
	list, err := sock.Dump(unix.RTM_GETADDR, make([]byte, unix.SizeofIfAddrmsg))
	if err != nil {
		return nil, fmt.Errorf("addresses: %w", err)
	}
	d, names := deviations.Of(n), devices.Names()
	o := &owed{may: map[entry]bool{}}
	linkLocal, loopbacks := map[int]bool{}, map[netip.Prefix]bool{}
	for _, m := range list {
		a, err := parseAddr(m)
		if err != nil {
			return nil, fmt.Errorf("addresses: %w", err)
		}
		dev := devices[a.index]
		if dev == nil {
			continue // created since
		}
		o.owe(a, dev)
		on, ip := names[a.index], a.prefix.Addr()
		switch odd := a.odd(); {
		case a.index == links.LoopbackIndex && (a.prefix == loopback4 || a.prefix == loopback6) && odd == "":
			loopbacks[a.prefix] = true
			continue
		case ip.Is6() && ip.IsLinkLocalUnicast() && (a.proto == addrOfKernel || ip == linkLocalOf(dev.MAC) || !planned(want, on, a.prefix) && !tellsProto(list)):
			linkLocal[a.index] = true
			continue
		case odd != "" && (planned(want, on, a.prefix) || a.index == links.LoopbackIndex && (a.prefix == loopback4 || a.prefix == loopback6)):
			x := plan.Deviation{What: fmt.Sprintf("address %s dev %s", a.prefix, on), Wrong: "has " + odd}
			if odd != lifetime { // only that can be changed
				x.Command, x.Repair = d.IP("address delete %s dev %s", a.prefix, on), []plan.Request{deviations.Undo(unix.NETLINK_ROUTE, unix.RTM_DELADDR, m)}
			} else {
				x.Command, x.Repair = d.IP("address replace %s dev %s", a.prefix, on), []plan.Request{setAddr(a.prefix, a.index)}
				n.Addrs = append(n.Addrs, plan.Addr{Link: on, Prefix: a.prefix})
			}
			d.Add(x)
		case ip.Is6() && ip.IsLinkLocalUnicast() && !planned(want, on, a.prefix):
			d.Foreign(fmt.Sprintf("address %s dev %s", a.prefix, on), d.IP("address delete %s dev %s", a.prefix, on), deviations.Undo(unix.NETLINK_ROUTE, unix.RTM_DELADDR, m))
		default:
			if ip.Is6() && ip.IsLinkLocalUnicast() {
				linkLocal[a.index] = true
			}
			n.Addrs = append(n.Addrs, plan.Addr{Link: on, Prefix: a.prefix})
		}
		if ip.Is6() && !ip.IsLinkLocalUnicast() {
			n.IPv6 = true
		}
	}
	again := func(p netip.Prefix, dev *links.Device) {
		d.Missing(fmt.Sprintf("address %s dev %s", p, dev.Name), d.IP("address add %s dev %s", p, dev.Name),
			setAddr(p, dev.Index))
	}
	for _, p := range []netip.Prefix{loopback4, loopback6} {
		if lo := devices[links.LoopbackIndex]; !loopbacks[p] && lo != nil && (p.Addr().Is4() || want.IPv6) {
			again(p, lo)
		}
	}
	for i, dev := range devices {
		if want.IPv6 && dev.Ethernet() && dev.Up() && !linkLocal[i] && dev.AddsLinkLocal() {
			again(netip.PrefixFrom(linkLocalOf(dev.MAC), 64), dev)
		}
	}
	return o, nil
}

// lastOf is the address of a block of IPv4 by which all of it is meant.
func lastOf(p netip.Prefix) netip.Addr {
	last, _ := netip.AddrFromSlice(broadcast(p).To4())
	return last
}

var loopback4, loopback6 = netip.MustParsePrefix("127.0.0.1/8"), netip.MustParsePrefix("::1/128")

func planned(n *plan.Netns, link string, p netip.Prefix) bool {
	return slices.ContainsFunc(n.Addrs, func(a plan.Addr) bool { return a.Link == link && a.Prefix == p })
}

// tellsProto reports whether the kernel says who added an address, as it does since 5.18.
func tellsProto(list [][]byte) bool {
	return slices.ContainsFunc(list, func(m []byte) bool {
		a, err := parseAddr(m)
		return err == nil && a.proto != 0
	})
}

// linkLocalOf is the link-local address that the kernel derives from a MAC.
func linkLocalOf(mac []byte) netip.Addr {
	if len(mac) != 6 {
		return netip.Addr{}
	}
	return netip.AddrFrom16([16]byte{0xfe, 0x80, 8: mac[0] ^ 2, 9: mac[1], 10: mac[2], 11: 0xff, 12: 0xfe, 13: mac[3], 14: mac[4], 15: mac[5]})
}
