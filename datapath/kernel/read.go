//go:build linux

package kernel

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"slices"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"github.com/netlab/netlab/datapath/kernel/nftables"
	"github.com/netlab/netlab/datapath/kernel/sets"
	"github.com/netlab/netlab/datapath/kernel/socket"
	"github.com/netlab/netlab/datapath/kernel/virtual"
	"github.com/netlab/netlab/datapath/netns"
	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/datapath/plan/ordered"
)

// Read returns the current state of the namespaces, as a plan. It reads only the
// sysctls that want names, since every namespace has hundreds.
func (k *Kernel) Read(ctx context.Context, want *plan.Plan) (*plan.Plan, error) {
	return k.read(ctx, want, scope{})
}

// scope is how much is read.
type scope struct {
	trust bool            // skip rules that the kernel says are unchanged since they were applied
	only  map[string]bool // the namespaces to read; nil: all
}

// read is Read limited to a scope.
func (k *Kernel) read(ctx context.Context, want *plan.Plan, much scope) (*plan.Plan, error) {
	have := &plan.Plan{Lab: want.Lab}
	wanted := ordered.Index(want.Netns, nameOf)
	r := reader{k: k, scope: much, ends: map[plan.Peer]vethEnd{}, known: map[string]bool{}, quiet: map[string]bool{}}
	err := k.thread.Run(func(h netns.Here) error {
		for _, name := range k.Names() {
			if much.only != nil && !much.only[name] {
				continue
			}
			if err := ctx.Err(); err != nil {
				return err
			}
			n, err := r.namespace(h, name, wanted[name])
			if err != nil {
				return fmt.Errorf("%s: read: %w", name, err)
			}
			have.Netns = append(have.Netns, n)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	r.join(have, index(want, much.only), index(k.applied, much.only))
	r.planned(have)
	if err := k.readRules(ctx, have, r.known); err != nil {
		return nil, err
	}
	have.Sort()
	return have, nil
}

func nameOf(n *plan.Netns) string { return n.Name }

// links finds a link of a plan by its namespace and name.
type links map[plan.Peer]*plan.Link

// index finds the links of the given namespaces (nil: all).
func index(p *plan.Plan, only map[string]bool) links {
	all := links{}
	if only == nil {
		all = make(links, 3*len(p.Netns))
	}
	for i := range p.Netns {
		n := &p.Netns[i]
		if only != nil && !only[n.Name] {
			continue
		}
		for j := range n.Links {
			all[plan.Peer{Netns: n.Name, Link: n.Links[j].Name}] = &n.Links[j]
		}
	}
	return all
}

// vethEnd is how the kernel identifies the other end of a veth.
type vethEnd struct{ index, peer int }

type reader struct {
	k *Kernel
	scope
	ends  map[plan.Peer]vethEnd
	known map[string]bool // namespaces whose rules need not be listed
	quiet map[string]bool // namespaces whose neighbours and forwarding entries need not be
}

// planned gives namespaces whose rules, or neighbours and forwarding entries, are
// unchanged those of the applied plan.
func (r *reader) planned(have *plan.Plan) {
	if len(r.known)+len(r.quiet) == 0 {
		return
	}
	applied := ordered.Index(r.k.applied.Netns, nameOf)
	for i := range have.Netns {
		n := &have.Netns[i]
		a := applied[n.Name]
		if r.known[n.Name] && a != nil {
			n.Tables, n.NFT = a.Tables, a.NFT
		}
		if r.quiet[n.Name] && a != nil {
			n.Neighs, n.FDB = a.Neighs, a.FDB
		}
	}
}

func (r *reader) namespace(h netns.Here, name string, want *plan.Netns) (plan.Netns, error) {
	s := r.k.spaces[name]
	n := plan.Netns{Name: name, Kind: s.kind}
	if want == nil {
		want = &plan.Netns{}
	}
	if err := h.Enter(s.ns); err != nil {
		return n, err
	}
	handle, err := netlink.NewHandle(unix.NETLINK_ROUTE)
	if err != nil {
		return n, err
	}
	defer handle.Close()
	names, err := r.links(handle, want, &n)
	if err != nil {
		return n, err
	}
	// First: what changes from here on is read again.
	steps := []func(*netlink.Handle, map[int]string, *plan.Netns) error{neighs, fdb, addrs, routes}
	if r.trust && s.neighs.quiet() {
		r.quiet[name] = true
		steps = steps[2:]
	}
	for _, step := range steps {
		if err := step(handle, names, &n); err != nil {
			return n, err
		}
	}
	if err := r.sysctls(want, &n); err != nil {
		return n, err
	}
	if err := r.filters(handle, names, s, want, &n); err != nil {
		return n, err
	}
	if r.trust && s.kind == plan.Node && s.rules.asPlanned() {
		r.known[name] = true
	} else if n.NFT, err = nftables.Read(s.kind == plan.Node); err != nil {
		return n, err
	}
	if r.k.hooks.Running != nil {
		r.k.hooks.Running(name, &n)
	}
	return n, nil
}

func (r *reader) links(handle *netlink.Handle, want, n *plan.Netns) (map[int]string, error) {
	list, err := handle.LinkList()
	if err != nil {
		return nil, fmt.Errorf("links: %w", err)
	}
	names := make(map[int]string, len(list))
	for _, l := range list {
		names[l.Attrs().Index] = l.Attrs().Name
	}
	var hairpins map[int]bool
	if slices.ContainsFunc(list, func(l netlink.Link) bool { return l.Type() == "bridge" }) {
		if hairpins, err = hairpinPorts(); err != nil {
			return nil, fmt.Errorf("bridge ports: %w", err)
		}
	}
	for _, l := range list {
		a := l.Attrs()
		if _, ok := l.(*netlink.Veth); ok {
			r.ends[plan.Peer{Netns: n.Name, Link: a.Name}] = vethEnd{index: a.Index, peer: a.ParentIndex}
		}
		down := a.Flags&net.FlagUp == 0
		if a.Flags&net.FlagLoopback != 0 || down && fallback[a.Name] && !wants(want, a.Name) {
			continue
		}
		link := plan.Link{Name: a.Name, Type: plan.LinkType(l.Type()), MTU: a.MTU, Master: names[a.MasterIndex], Down: down}
		copy(link.MAC[:], a.HardwareAddr)
		link.Hairpin = hairpins[a.Index]
		if l, ok := l.(*netlink.Vxlan); ok {
			link.VXLAN = plan.VXLANAttrs{ID: l.VxlanId, Port: l.Port, Dev: names[l.VtepDevIndex], Learning: l.Learning, Local: addrOf(l.SrcAddr)}
		}
		n.Links = append(n.Links, link)
	}
	return names, nil
}

// fallback are the devices that drivers create in every namespace once they are loaded.
// They are down, and cannot be deleted.
var fallback = map[string]bool{"tunl0": true, "sit0": true, "gre0": true, "gretap0": true, "erspan0": true, "ip_vti0": true,
	"ip6tnl0": true, "ip6gre0": true, "ip6_vti0": true, "ifb0": true, "ifb1": true}

func wants(n *plan.Netns, link string) bool {
	return slices.ContainsFunc(n.Links, func(l plan.Link) bool { return l.Name == link })
}

// hairpinPorts lists the bridge ports of the calling thread's namespace that have
// hairpin on, by index, in a single dump for all bridges.
func hairpinPorts() (map[int]bool, error) {
	req := nl.NewNetlinkRequest(unix.RTM_GETLINK, unix.NLM_F_DUMP)
	req.AddData(nl.NewIfInfomsg(unix.AF_BRIDGE))
	msgs, err := req.Execute(unix.NETLINK_ROUTE, 0)
	if err != nil {
		return nil, err
	}
	ports := map[int]bool{}
	for _, m := range msgs {
		header := nl.DeserializeIfInfomsg(m)
		err := socket.EachAttr(m[header.Len():], func(kind uint16, value []byte) error {
			if kind != unix.IFLA_PROTINFO {
				return nil
			}
			return socket.EachAttr(value, func(kind uint16, value []byte) error {
				if kind == brportMode && value[0] == 1 {
					ports[int(header.Index)] = true
				}
				return nil
			})
		})
		if err != nil {
			return nil, err
		}
	}
	return ports, nil
}

// join fills in the peers of veths. The kernel gives only the index of the other end,
// which is not unique across namespaces, so the ends that the plans name are tried.
// Those in namespaces that are not read are trusted.
func (r *reader) join(have *plan.Plan, plans ...links) {
	for i := range have.Netns {
		for j := range have.Netns[i].Links {
			link := &have.Netns[i].Links[j]
			self := plan.Peer{Netns: have.Netns[i].Name, Link: link.Name}
			mine, ok := r.ends[self]
			if !ok {
				continue
			}
			for _, p := range plans {
				planned, ok := p[self]
				if !ok {
					continue
				}
				other, read := r.ends[planned.Peer]
				left := r.only != nil && !r.only[planned.Peer.Netns]
				if left || read && other.index == mine.peer && other.peer == mine.index {
					link.Peer = planned.Peer
					break
				}
			}
		}
	}
}

func addrs(handle *netlink.Handle, names map[int]string, n *plan.Netns) error {
	list, err := handle.AddrList(nil, netlink.FAMILY_ALL)
	if err != nil {
		return fmt.Errorf("addresses: %w", err)
	}
	for _, a := range list {
		p := prefix(a.IPNet)
		if a.LinkIndex == 1 && p.Addr().IsLoopback() || p.Addr().IsLinkLocalUnicast() && p.Addr().Is6() {
			continue // the kernel's own
		}
		n.Addrs = append(n.Addrs, plan.Addr{Link: names[a.LinkIndex], Prefix: p})
		if p.Addr().Is6() {
			n.IPv6 = true
		}
	}
	return nil
}

func routes(handle *netlink.Handle, names map[int]string, n *plan.Netns) error {
	list, err := handle.RouteListFiltered(netlink.FAMILY_ALL, &netlink.Route{Table: unix.RT_TABLE_UNSPEC}, netlink.RT_FILTER_TABLE)
	if err != nil {
		return fmt.Errorf("routes: %w", err)
	}
	for _, r := range list {
		switch {
		case r.Protocol == unix.RTPROT_KERNEL:
			continue
		case r.Table == unix.RT_TABLE_LOCAL && r.Type == unix.RTN_LOCAL:
			n.Routes = append(n.Routes, plan.Route{To: prefix(r.Dst), Dev: names[r.LinkIndex], Local: true})
			continue
		case r.Table != unix.RT_TABLE_MAIN || r.Type != unix.RTN_UNICAST:
			continue
		}
		route := plan.Route{Dev: names[r.LinkIndex], Via: addrOf(r.Gw), OnLink: r.Flags&int(netlink.FLAG_ONLINK) != 0}
		if r.Dst == nil {
			route.To = netip.PrefixFrom(netip.IPv4Unspecified(), 0)
			if r.Family == unix.AF_INET6 {
				route.To = netip.PrefixFrom(netip.IPv6Unspecified(), 0)
			}
		} else {
			route.To = prefix(r.Dst)
		}
		for i, hop := range r.MultiPath {
			if i > 0 {
				route.More = append(route.More, addrOf(hop.Gw))
				continue
			}
			route.Via, route.Dev = addrOf(hop.Gw), names[hop.LinkIndex]
			route.OnLink = hop.Flags&int(netlink.FLAG_ONLINK) != 0
		}
		n.Routes = append(n.Routes, route)
	}
	return nil
}

func neighs(handle *netlink.Handle, names map[int]string, n *plan.Netns) error {
	return permanent(handle, netlink.FAMILY_ALL, "neighbours", func(e *netlink.Neigh, mac plan.MAC) {
		n.Neighs = append(n.Neighs, plan.Neigh{Link: names[e.LinkIndex], Addr: addrOf(e.IP), MAC: mac})
	})
}

func fdb(handle *netlink.Handle, names map[int]string, n *plan.Netns) error {
	if !slices.ContainsFunc(n.Links, func(l plan.Link) bool { return l.Type == plan.VXLAN }) {
		return nil
	}
	return permanent(handle, unix.AF_BRIDGE, "forwarding entries", func(e *netlink.Neigh, mac plan.MAC) {
		n.FDB = append(n.FDB, plan.FDB{Link: names[e.LinkIndex], Dst: addrOf(e.IP), MAC: mac})
	})
}

// permanent calls do for each permanent entry of a family that has an address and a MAC.
func permanent(handle *netlink.Handle, family int, what string, do func(e *netlink.Neigh, mac plan.MAC)) error {
	list, err := handle.NeighList(0, family)
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	for i := range list {
		if e := &list[i]; e.State&unix.NUD_PERMANENT != 0 && addrOf(e.IP).IsValid() && len(e.HardwareAddr) == 6 {
			do(e, plan.MAC(e.HardwareAddr))
		}
	}
	return nil
}

// filters reads what affects packets beyond routing and rules: qdiscs; sets and virtual
// servers where there could be any.
func (r *reader) filters(handle *netlink.Handle, names map[int]string, s *space, want *plan.Netns, n *plan.Netns) (err error) {
	if err := qdiscs(handle, names, n); err != nil {
		return err
	}
	if s.sets || len(want.Sets) > 0 {
		if n.Sets, err = sets.Read(); err != nil {
			return err
		}
	}
	if s.virtual || len(want.Virtual) > 0 {
		if n.Virtual, err = virtual.Read(&r.k.proc, &s.drains); err != nil {
			return err
		}
	}
	return nil
}

func (r *reader) sysctls(want *plan.Netns, n *plan.Netns) error {
	for _, s := range want.Sysctls {
		value, err := r.k.proc.Get(s.Key)
		if err != nil {
			return err
		}
		n.Sysctls = append(n.Sysctls, plan.Sysctl{Key: s.Key, Value: value})
	}
	return nil
}

func prefix(n *net.IPNet) netip.Prefix {
	bits, _ := n.Mask.Size()
	return netip.PrefixFrom(addrOf(n.IP), bits)
}

// addrOf is an address of the library; the zero Addr if it has none.
func addrOf(ip net.IP) netip.Addr {
	a, _ := netip.AddrFromSlice(ip)
	return a.Unmap()
}
