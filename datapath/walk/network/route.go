package network

import (
	"cmp"
	"net/netip"
	"slices"

	"github.com/netlab/netlab/datapath/plan"
)

// route is a route of the main table: one of the plan, or one that the kernel
// adds with an address.
type route struct {
	kind plan.RouteType
	to   netip.Prefix
	via  netip.Addr
	more []netip.Addr
	dev  *Link
	text string
}

// Hop is where a packet goes next.
type Hop struct {
	Local bool // to this host itself
	Dev   *Link
	Next  netip.Addr   // gateway, or the destination when it is on the link
	More  []netip.Addr // further gateways, over which connections are spread
	Text  string       // the route in ip route syntax
	// Refuses is the type of a route that leads nowhere, which Lookup returns without
	// success.
	Refuses plan.RouteType
}

func (h *Host) indexRoutes() {
	for _, a := range h.addrs {
		if !a.prefix.IsSingleIP() {
			to := a.prefix.Masked()
			h.routes = append(h.routes, route{to: to, dev: a.link, text: to.String() + " dev " + a.link.Name})
		}
	}
	for i := range h.Routes {
		r := &h.Routes[i]
		if r.Local {
			continue // in table local
		}
		if r.Type != plan.Unicast && r.To.IsValid() && h.Speaks(r.To.Addr()) {
			h.routes = append(h.routes, route{kind: r.Type, to: r.To.Masked(), text: string(r.Type) + " " + r.To.String()})
			continue
		}
		if dev := h.links[r.Dev]; dev != nil && r.To.IsValid() && h.Speaks(r.To.Addr()) {
			h.routes = append(h.routes, route{to: r.To.Masked(), via: r.Via, more: r.More, dev: dev, text: routeText(r)})
		}
	}
	slices.SortStableFunc(h.routes, func(a, b route) int { return cmp.Compare(b.to.Bits(), a.to.Bits()) })
}

func routeText(r *plan.Route) string {
	text := r.To.String()
	if r.To.Bits() == 0 {
		text = "default"
	}
	if r.Via.IsValid() {
		text += " via " + r.Via.String()
	}
	for _, a := range r.More {
		text += " or " + a.String()
	}
	text += " dev " + r.Dev
	if r.Protocol == plan.BGP {
		text += " proto bgp"
	}
	if r.OnLink {
		text += " onlink"
	}
	return text
}

// Lookup searches the routing tables, local first. It reports false if no route leads to
// dst: there is none, or one that refuses.
func (h *Host) Lookup(dst netip.Addr) (Hop, bool) {
	if !h.Speaks(dst) {
		return Hop{}, false
	}
	if h.IsLocal(dst) {
		return Hop{Local: true, Dev: h.Lo, Next: dst, Text: "local " + dst.String() + " dev lo"}, true
	}
	for _, r := range h.routes {
		if !r.to.Contains(dst) {
			continue
		}
		if r.kind != plan.Unicast {
			return Hop{Text: r.text, Refuses: r.kind}, false
		}
		next := dst
		if r.via.IsValid() {
			next = r.via
		}
		return Hop{Dev: r.dev, Next: next, More: r.more, Text: r.text}, true
	}
	return Hop{}, false
}

// Why says why a lookup found no way to an address.
func (to Hop) Why(h *Host, dst netip.Addr) string {
	if to.Refuses != plan.Unicast {
		return h.Name + " has the route " + to.Text
	}
	return h.Name + " has no route to " + dst.String()
}

// Source is the address that a process of the host sends from by default. Where nothing but a
// local route makes the destination the host's own, IPv4 sends from it all the same
// (ip_route_output_key_hash_rcu in net/ipv4/route.c), and IPv6 from an address that a link has.
func (h *Host) Source(dst netip.Addr, to Hop) netip.Addr {
	switch {
	case to.Local && dst.Is4() && dst.IsLoopback():
		return netip.AddrFrom4([4]byte{127, 0, 0, 1})
	case to.Local && (dst.Is4() || dst.IsLoopback() || h.assigned(dst)):
		return dst
	default:
		return h.Egress(to.Dev, dst, to.Next)
	}
}

// Egress is the address of the link that a packet leaves by, which MASQUERADE uses.
// IPv4 takes the first address whose network holds the next hop, else the link's first,
// else another link's (inet_select_addr in net/ipv4/devinet.c); IPv6 the one that
// shares the longest prefix with the destination, of which those bits count that the
// address's own prefix has (RFC 6724 rule 8; ipv6_get_saddr_eval in net/ipv6/addrconf.c).
func (h *Host) Egress(dev *Link, dst, next netip.Addr) netip.Addr {
	var best, other netip.Addr
	bits, otherBits := -1, -1
	for _, a := range h.addrs {
		ip := a.prefix.Addr()
		if ip.Is4() != dst.Is4() || ip.IsLoopback() {
			continue
		}
		score := 0
		switch {
		case dst.Is6():
			score = min(commonBits(ip, dst), a.prefix.Bits())
		case a.prefix.Contains(next):
			score = 1
		}
		if a.link == dev && score > bits {
			best, bits = ip, score
		}
		if dst.Is4() {
			score = 0
		}
		if a.link != dev && score > otherBits {
			other, otherBits = ip, score
		}
	}
	if best.IsValid() {
		return best
	}
	return other
}

// assigned reports whether a link of the host has an address.
func (h *Host) assigned(ip netip.Addr) bool {
	return slices.ContainsFunc(h.addrs, func(a address) bool { return a.prefix.Addr() == ip })
}

// First is the address of a link that the kernel finds first: the first one that it got in
// IPv4, the last one in IPv6 (ipv6_link_dev_addr in net/ipv6/addrconf.c).
func (h *Host) First(dev *Link, ipv6 bool) (found netip.Addr) {
	for _, a := range h.addrs {
		if ip := a.prefix.Addr(); a.link == dev && ip.Is6() == ipv6 && (ipv6 || !found.IsValid()) {
			found = ip
		}
	}
	return found
}

func commonBits(a, b netip.Addr) int {
	x, y := a.As16(), b.As16()
	for i := range 128 {
		if (x[i/8]^y[i/8])>>(7-i%8)&1 != 0 {
			return i
		}
	}
	return 128
}
