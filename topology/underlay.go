package topology

import (
	"encoding/binary"
	"net/netip"
	"slices"
)

// DefaultSubnet is the subnet of nodes and clients that name no other: node_cidr.
const DefaultSubnet = "default"

// Subnet is one link of the underlay. What is on it reaches its neighbours directly, and
// other subnets through routers only.
type Subnet struct {
	Name     string
	Written  Written
	CIDRs    []netip.Prefix
	Gateways []netip.Addr // the underlay's own addresses: the default route of nodes and clients
	MTU      int          // in bytes
	Origin   Origin
}

// Has reports whether an address is on the subnet.
func (s *Subnet) Has(a netip.Addr) bool {
	return slices.ContainsFunc(s.CIDRs, func(p netip.Prefix) bool { return p.Contains(a) })
}

// Router joins subnets: a host that forwards between them, and knows nothing of pods
// unless the lab gives it routes, or it learns them. What it has no other route to it sends to the underlay's own
// address on its first link, where it is lost.
type Router struct {
	Name    string
	Written Written
	Links   []*RouterLink // in the order of the file, at least two, each in a subnet of its own
	Routes  []Route
	Drops   []Drop
	// ReversePath drops IPv4 packets whose source the router would answer by another link
	// than the one that they arrived on (rp_filter of 1, RFC 3704).
	ReversePath bool
	// AS is the autonomous system of a router that speaks BGP with the nodes and routers on
	// its links, and so learns the way to pods; 0: it does not.
	AS     uint32
	Origin Origin
}

// RouterLink is a link of a router.
type RouterLink struct {
	Name   string // also of the device
	Subnet *Subnet
	Addrs  []netip.Addr
	MAC    MAC
	Link   Link
	Origin Origin
}

// Drop says which packets a router discards instead of forwarding them.
type Drop struct {
	Protocol Protocol // also ICMP; "": any
	Port     uint16   // destination; 0: any
	From, To []netip.Prefix
	Origin   Origin
}

// ICMP is a protocol that routers can drop.
const ICMP Protocol = "icmp"

// Netns is the name of the network namespace of the router in a plan.
func (r *Router) Netns() string { return "router." + r.Name }

// Addrs are the addresses of all links.
func (r *Router) Addrs() []netip.Addr {
	var out []netip.Addr
	for _, l := range r.Links {
		out = append(out, l.Addrs...)
	}
	return out
}

// Subnets are those that the router joins.
func (r *Router) Subnets() []*Subnet {
	var out []*Subnet
	for _, l := range r.Links {
		out = append(out, l.Subnet)
	}
	return out
}

// LinkTo is the router's link in a subnet; nil: it has none.
func (r *Router) LinkTo(s *Subnet) *RouterLink {
	return First(r.Links, func(l *RouterLink) bool { return l.Subnet == s })
}

// Routed reports whether a route that the scenario gives the router covers an address.
func (r *Router) Routed(a netip.Addr) bool { return covered(r.Routes, a) }

// distances are the numbers of routers between each subnet and the nearest of some; subnets
// from which none can be reached have none.
func (lab *Lab) distances(to ...*Subnet) map[*Subnet]int {
	out := map[*Subnet]int{}
	for _, s := range to {
		out[s] = 0
	}
	for queue := slices.Clone(to); len(queue) > 0; queue = queue[1:] {
		for _, r := range lab.Routers {
			if r.LinkTo(queue[0]) == nil {
				continue
			}
			for _, s := range r.Subnets() {
				if _, known := out[s]; !known {
					out[s] = out[queue[0]] + 1
					queue = append(queue, s)
				}
			}
		}
	}
	return out
}

// Owned reports whether a node, client or router has an address on the underlay.
func (lab *Lab) Owned(a netip.Addr) bool {
	return slices.ContainsFunc(lab.Nodes, func(n *Node) bool { return slices.Contains(n.Addrs, a) }) ||
		slices.ContainsFunc(lab.Clients, func(c *Client) bool { return slices.Contains(c.Addrs, a) }) ||
		slices.ContainsFunc(lab.Routers, func(r *Router) bool { return slices.Contains(r.Addrs(), a) })
}

// Joined reports whether routers lead from one subnet to another.
func (lab *Lab) Joined(a, b *Subnet) bool {
	_, ok := lab.distances(b)[a]
	return ok
}

// Next are the routers that lead from one of a host's own subnets towards the nearest of some
// others, by their links there. Routers that are equally near share the connections, as with
// OSPF; of several own subnets the first one counts. There are none where the host is on one
// of the others itself, or none can be reached.
func (lab *Lab) Next(own []*Subnet, to ...*Subnet) []*RouterLink {
	far := lab.distances(to...)
	var from *Subnet
	for _, s := range own {
		if d, ok := far[s]; ok && (from == nil || d < far[from]) {
			from = s
		}
	}
	if from == nil || far[from] == 0 {
		return nil
	}
	var out []*RouterLink
	for _, r := range lab.Routers {
		l := r.LinkTo(from)
		if l != nil && slices.ContainsFunc(r.Subnets(), func(s *Subnet) bool { d, ok := far[s]; return ok && d < far[from] }) {
			out = append(out, l)
		}
	}
	return out
}

// Via are the next hops of a host towards whichever of some nodes are nearest: the nodes
// themselves where they are on one of its own subnets, else routers. All are on one link.
func (lab *Lab) Via(own []*Subnet, nodes []*Node, ipv6 bool) []netip.Addr {
	var out []netip.Addr
	add := func(addrs []netip.Addr) {
		if a := OfFamily(addrs, ipv6); a.IsValid() && !slices.Contains(out, a) {
			out = append(out, a)
		}
	}
	for _, s := range own {
		for _, n := range nodes {
			if n.Subnet == s {
				add(n.Addrs)
			}
		}
		if len(out) > 0 {
			return out
		}
	}
	var to []*Subnet
	for _, n := range nodes {
		to = append(to, n.Subnet)
	}
	for _, l := range lab.Next(own, to...) {
		add(l.Addrs)
	}
	return out
}

// Learned is the next hop of a router that learns by BGP which pods a node has: the node where
// it is on one of the router's links, else the neighbour with the fewest routers on the way,
// and of several the one with the lowest router ID.
func (lab *Lab) Learned(r *Router, n *Node) (addrs []netip.Addr) {
	if r.LinkTo(n.Subnet) != nil {
		return n.Addrs
	}
	far := lab.distances(n.Subnet)
	var best []int // of what counts first
	for _, own := range r.Links {
		for _, x := range lab.Routers {
			l := x.LinkTo(own.Subnet)
			if x == r || l == nil {
				continue
			}
			for _, s := range x.Subnets() {
				d, ok := far[s]
				if !ok {
					continue
				}
				id := x.ID().As4()
				rank := []int{d, int(binary.BigEndian.Uint32(id[:]))}
				if best == nil || slices.Compare(rank, best) < 0 {
					best, addrs = rank, l.Addrs
				}
			}
		}
	}
	return addrs
}

// ID is the router ID of a router: that of its first address.
func (r *Router) ID() netip.Addr { return RouterID(r.Addrs()) }

// RouterID identifies a BGP speaker by its first address: the last four bytes of it.
func RouterID(addrs []netip.Addr) netip.Addr {
	b := addrs[0].AsSlice()
	return netip.AddrFrom4([4]byte(b[len(b)-4:]))
}

// Narrowest is the smallest MTU on the paths between nodes, and of what: a *Subnet or a
// *RouterLink.
func (lab *Lab) Narrowest() (mtu int, of any) {
	note := func(n int, what any) {
		if n != 0 && (mtu == 0 || n < mtu) {
			mtu, of = n, what
		}
	}
	var subnets []*Subnet
	for _, n := range lab.Nodes {
		if !slices.Contains(subnets, n.Subnet) {
			subnets = append(subnets, n.Subnet)
			note(n.Subnet.MTU, n.Subnet)
		}
	}
	for _, to := range subnets {
		far := lab.distances(to)
		path := slices.Clone(subnets) // and what is on the way from there
		for i := 0; i < len(path); i++ {
			for _, r := range lab.Routers {
				near := r.LinkTo(path[i])
				for _, l := range r.Links {
					d, ok := far[l.Subnet]
					if near == nil || !ok || d >= far[path[i]] {
						continue
					}
					note(near.Link.MTU, near)
					note(l.Link.MTU, l)
					note(l.Subnet.MTU, l.Subnet)
					if !slices.Contains(path, l.Subnet) {
						path = append(path, l.Subnet)
					}
				}
			}
		}
	}
	if mtu == 0 {
		mtu = lab.Network.MTU
	}
	return mtu, of
}
