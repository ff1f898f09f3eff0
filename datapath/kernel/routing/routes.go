//go:build linux

package routing

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"github.com/netlab/netlab/datapath/kernel/deviations"
	"github.com/netlab/netlab/datapath/kernel/links"
	"github.com/netlab/netlab/datapath/kernel/socket"
	"github.com/netlab/netlab/datapath/plan"
)

// entry is what identifies a route that the kernel adds with an address.
type entry struct {
	table    uint32
	kind     uint8
	to       netip.Prefix
	dev      int
	src      netip.Addr // of a connected route
	priority uint32
}

// kernelRoute is a route as a dump describes it.
type kernelRoute struct {
	message  []byte
	header   unix.RtMsg
	to       netip.Prefix
	table    uint32
	dev      int
	via      netip.Addr
	src      netip.Addr
	priority uint32
	hops     []hop
	more     []string // what no plan has
}

type hop struct {
	via    netip.Addr
	dev    int
	onLink bool
}

// userPriority is the metric of IPv6 routes that were given none (IP6_RT_PRIO_USER), and
// connectedPriority that of those that come with an address (IP6_RT_PRIO_ADDRCONF).
const (
	userPriority      = 1024
	connectedPriority = 256
)

func parseRoute(m []byte) (*kernelRoute, error) {
	if len(m) < unix.NLMSG_HDRLEN+unix.SizeofRtMsg {
		return nil, socket.ErrShort
	}
	b := m[unix.NLMSG_HDRLEN:]
	r := &kernelRoute{message: m, header: unix.RtMsg{Family: b[0], Dst_len: b[1], Src_len: b[2], Tos: b[3], Table: b[4], Protocol: b[5], Scope: b[6], Type: b[7],
		Flags: binary.NativeEndian.Uint32(b[8:])}}
	r.table = uint32(r.header.Table)
	to := netip.IPv4Unspecified()
	if r.header.Family == unix.AF_INET6 {
		to = netip.IPv6Unspecified()
	}
	odd := func(format string, args ...any) { r.more = append(r.more, fmt.Sprintf(format, args...)) }
	if r.header.Tos != 0 {
		odd("tos %d", r.header.Tos)
	}
	err := socket.EachAttr(b[unix.SizeofRtMsg:], func(kind uint16, v []byte) (err error) {
		switch kind {
		case unix.RTA_DST:
			to = socket.Address(v)
		case unix.RTA_TABLE:
			r.table = socket.Number(v)
		case unix.RTA_OIF:
			r.dev = int(socket.Number(v))
		case unix.RTA_GATEWAY:
			r.via = socket.Address(v)
		case unix.RTA_PREFSRC:
			r.src = socket.Address(v)
		case unix.RTA_PRIORITY:
			r.priority = socket.Number(v)
		case unix.RTA_MULTIPATH:
			r.hops, err = parseHops(v, odd)
		case unix.RTA_CACHEINFO:
			if len(v) >= 12 && binary.NativeEndian.Uint32(v[8:]) != 0 {
				odd("expires")
			}
		case unix.RTA_PREF:
			if socket.Number(v) != 0 {
				odd("pref %d", socket.Number(v))
			}
		case unix.RTA_SRC:
			odd("from %s", socket.Address(v))
		case nextHopOf:
			odd("nhid %d", socket.Number(v))
		case unix.RTA_METRICS:
			odd("with metrics")
		case unix.RTA_ENCAP_TYPE:
			odd("encap")
		case unix.RTA_ENCAP:
		case unix.RTA_VIA:
			odd("via another family")
		default:
			odd("attribute %d", kind)
		}
		return err
	})
	r.to = netip.PrefixFrom(to, int(r.header.Dst_len))
	return r, err
}

func parseHops(b []byte, odd func(string, ...any)) (list []hop, err error) {
	for len(b) >= unix.SizeofRtNexthop {
		size := int(binary.NativeEndian.Uint16(b))
		if size < unix.SizeofRtNexthop || size > len(b) {
			return nil, socket.ErrShort
		}
		h := hop{dev: int(binary.NativeEndian.Uint32(b[4:])), onLink: b[2]&unix.RTNH_F_ONLINK != 0}
		if b[3] != 0 {
			odd("weight %d", int(b[3])+1)
		}
		err = socket.EachAttr(b[unix.SizeofRtNexthop:size], func(kind uint16, v []byte) error {
			if kind == unix.RTA_GATEWAY {
				h.via = socket.Address(v)
			} else {
				odd("next hop attribute %d", kind)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		list, b = append(list, h), b[min(socket.Align(size), len(b)):]
	}
	return list, nil
}

// entry is the route as an address brings it along.
func (r *kernelRoute) entry() entry {
	e := entry{table: r.table, kind: r.header.Type, to: r.to, dev: r.dev, priority: r.priority}
	if e.kind == unix.RTN_UNICAST {
		e.src = r.src
	}
	return e
}

// planned is the route in the words of plans; false if they have none for it.
func (r *kernelRoute) planned(names map[int]string) (plan.Route, bool) {
	if len(r.more) > 0 || r.src.IsValid() || len(r.hops) == 1 {
		return plan.Route{}, false
	}
	priority := uint32(0)
	if r.header.Family == unix.AF_INET6 {
		priority = userPriority
	}
	if r.header.Type == unix.RTN_LOCAL && r.table == unix.RT_TABLE_LOCAL && !r.via.IsValid() && r.priority == priority {
		return plan.Route{To: r.to, Dev: names[r.dev], Local: true}, true
	}
	kind, known := wordOf(routeTypes, r.header.Type)
	if !known || r.table != unix.RT_TABLE_MAIN || r.priority != priority {
		return plan.Route{}, false
	}
	route := plan.Route{Type: kind, To: r.to, Dev: names[r.dev], Via: r.via, OnLink: r.header.Flags&unix.RTNH_F_ONLINK != 0}
	if kind != plan.Unicast {
		route.Dev = "" // IPv6 says lo
	}
	if r.header.Family == unix.AF_INET && kind == plan.Unicast {
		scope := uint8(unix.RT_SCOPE_UNIVERSE)
		if !r.via.IsValid() && len(r.hops) == 0 {
			scope = unix.RT_SCOPE_LINK
		}
		if r.header.Scope != scope {
			return plan.Route{}, false
		}
	}
	if route.Protocol, known = wordOf(protocols, r.header.Protocol); !known {
		route.Protocol = plan.RouteProtocol(strconv.Itoa(int(r.header.Protocol)))
	}
	for i, h := range r.hops {
		if h.dev != r.hops[0].dev || h.onLink != r.hops[0].onLink {
			return plan.Route{}, false
		}
		if i > 0 {
			route.More = append(route.More, h.via)
			continue
		}
		route.Via, route.Dev, route.OnLink = h.via, names[h.dev], h.onLink
	}
	return route, true
}

// routeWords are the types of routes, as ip route names them.
var routeWords = []string{"unspec", "unicast", "local", "broadcast", "anycast", "multicast", "blackhole", "unreachable", "prohibit", "throw", "nat", "xresolve"}

// tableWord is a table, as ip route names it.
func tableWord(table uint32) string {
	switch table {
	case unix.RT_TABLE_MAIN:
		return "main"
	case unix.RT_TABLE_LOCAL:
		return "local"
	case unix.RT_TABLE_DEFAULT:
		return "default"
	}
	return strconv.Itoa(int(table))
}

// words is the route as ip route takes it to delete it.
func (r *kernelRoute) words(names map[int]string) string {
	var w []string
	if r.header.Type != unix.RTN_UNICAST && int(r.header.Type) < len(routeWords) {
		w = append(w, routeWords[r.header.Type])
	}
	switch {
	case r.to.Bits() == 0:
		w = append(w, "default")
	case r.to.IsSingleIP():
		w = append(w, r.to.Addr().String())
	default:
		w = append(w, r.to.String())
	}
	for _, h := range r.hops {
		w = append(w, "nexthop")
		if h.via.IsValid() {
			w = append(w, "via", h.via.String())
		}
		w = append(w, "dev", names[h.dev])
	}
	if r.via.IsValid() {
		w = append(w, "via", r.via.String())
	}
	if r.dev != 0 {
		w = append(w, "dev", names[r.dev])
	}
	if r.src.IsValid() {
		w = append(w, "src", r.src.String())
	}
	if r.table != unix.RT_TABLE_MAIN {
		w = append(w, "table", tableWord(r.table))
	}
	if r.priority != 0 && !(r.header.Family == unix.AF_INET6 && r.priority == userPriority) {
		w = append(w, "metric", strconv.Itoa(int(r.priority)))
	}
	return strings.Join(append(w, r.more...), " ")
}

// undone is the request that deletes the route. Flags that only the kernel sets are refused.
func (r *kernelRoute) undone() plan.Request {
	q := deviations.Undo(unix.NETLINK_ROUTE, unix.RTM_DELROUTE, r.message)
	binary.NativeEndian.PutUint32(q.Message[unix.NLMSG_HDRLEN+8:], r.header.Flags&unix.RTNH_F_ONLINK)
	return q
}

// family is the word that ip takes for IPv6.
func (r *kernelRoute) family() string {
	if r.header.Family == unix.AF_INET6 {
		return "-6 "
	}
	return ""
}

// destination is what a plan has at most one route to.
type destination struct {
	to    netip.Prefix
	local bool
}

// readRoutes reads the routes of all tables. What plans can have is read as such; those that the
// kernel adds with addresses have to be there, and nothing else.
func readRoutes(sock *socket.Socket, devices links.Devices, own *owed, want, n *plan.Netns) error {
	list, missing, err := allRoutes(sock, own)
	for tries := 0; err == nil && tries < routeTries && slices.ContainsFunc(missing, func(x owedRoute) bool { return x.to.Addr().Is6() }); tries++ {
		time.Sleep(2 * time.Millisecond)
		list, missing, err = allRoutes(sock, own)
	}
	if err != nil {
		return fmt.Errorf("routes: %w", err)
	}
	d, names, again := deviations.Of(n), devices.Names(), map[destination]bool{}
	for _, x := range list {
		if x.follows(own) {
			continue
		}
		route, ok := x.planned(names)
		if at := (destination{x.to, route.Local}); ok && x.header.Protocol != unix.RTPROT_KERNEL && !again[at] {
			again[at] = true
			n.Routes = append(n.Routes, route)
			continue
		}
		d.Foreign("route "+x.words(names), d.IP("%sroute delete %s", x.family(), x.words(names)), x.undone())
	}
	for _, x := range missing {
		if replaced(x.entry, want.Routes) {
			continue
		}
		words := x.words(names)
		d.Missing("route "+words, x.command(d, words, names), x.again()...)
	}
	return nil
}

// routeTries is how often routes are read again when one of IPv6 is missing: a worker of the
// kernel adds it some time after the address (addrconf_dad_work in net/ipv6/addrconf.c).
const routeTries = 40

// allRoutes reads the routes, and finds those that addresses should have brought along.
func allRoutes(sock *socket.Socket, own *owed) (list []*kernelRoute, missing []owedRoute, err error) {
	dumped, err := sock.Dump(unix.RTM_GETROUTE, (&nl.RtMsg{}).Serialize())
	if err != nil {
		return nil, nil, err
	}
	there := map[entry]bool{}
	for _, m := range dumped {
		x, err := parseRoute(m)
		if err != nil {
			return nil, nil, err
		}
		if x.header.Flags&unix.RTM_F_CLONED != 0 || x.header.Family != unix.AF_INET && x.header.Family != unix.AF_INET6 {
			continue
		}
		if list = append(list, x); x.follows(own) {
			there[x.entry()] = true
		}
	}
	for _, x := range own.routes {
		if !there[x.entry] {
			missing = append(missing, x)
		}
	}
	return list, missing, nil
}

// follows reports whether the kernel has added the route with an address.
func (r *kernelRoute) follows(own *owed) bool {
	return r.header.Protocol == unix.RTPROT_KERNEL && len(r.more)+len(r.hops) == 0 && !r.via.IsValid() && own.allows(r.entry())
}

// replaced reports whether a route of the plan takes the place of a connected one, which IPv4
// allows: it has one route per destination and metric.
func replaced(e entry, routes []plan.Route) bool {
	return e.to.Addr().Is4() && e.table == unix.RT_TABLE_MAIN && slices.ContainsFunc(routes, func(r plan.Route) bool { return !r.Local && r.To.Masked() == e.to })
}
