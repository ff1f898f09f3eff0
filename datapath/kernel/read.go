//go:build linux

package kernel

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/netlab/netlab/datapath/kernel/deviations"
	"github.com/netlab/netlab/datapath/kernel/nftables"
	"github.com/netlab/netlab/datapath/kernel/qdiscs"
	"github.com/netlab/netlab/datapath/kernel/sets"
	"github.com/netlab/netlab/datapath/kernel/socket"
	"github.com/netlab/netlab/datapath/kernel/virtual"
	"github.com/netlab/netlab/datapath/kernel/xfrm"
	"github.com/netlab/netlab/datapath/kernel/xtables"
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
	r := reader{k: k, scope: much, applied: ordered.Index(k.applied.Netns, nameOf), ends: map[plan.Peer]vethEnd{}, macs: map[plan.MAC][]plan.Peer{}, known: map[string]bool{}, quiet: map[string]bool{}}
	err := k.thread.Run(func(h netns.Here) error {
		if len(k.spaces) > 0 {
			if _, err := k.fresh(h); err != nil {
				return err
			}
		}
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
	if err := k.readRules(ctx, have, r.known); err != nil {
		return nil, err
	}
	have.Sort()
	r.planned(have)
	r.mistakes(have, want)
	r.disregard(have)
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
	ends    map[plan.Peer]vethEnd
	applied map[string]*plan.Netns
	known   map[string]bool // namespaces whose rules need not be listed
	quiet   map[string]bool // namespaces whose neighbours and forwarding entries need not be

	macs    map[plan.MAC][]plan.Peer // the links that have each
	learned []learned
}

// planned gives namespaces whose rules, or neighbours and forwarding entries, are
// unchanged those of the applied plan, in its order.
func (r *reader) planned(have *plan.Plan) {
	if len(r.known)+len(r.quiet) == 0 {
		return
	}
	for i := range have.Netns {
		n := &have.Netns[i]
		a := r.applied[n.Name]
		if r.known[n.Name] && a != nil {
			n.Tables, n.NFT = a.Tables, a.NFT
		}
		if r.quiet[n.Name] && a != nil {
			n.Neighs, n.FDB = a.Neighs, a.FDB
		}
	}
}

// disregard leaves out what programs have made that may.
func (r *reader) disregard(have *plan.Plan) {
	for i := range r.k.applied.Netns {
		a := &r.k.applied.Netns[i]
		if !a.ChangedFromInside() {
			continue
		}
		if at := slices.IndexFunc(have.Netns, func(n plan.Netns) bool { return n.Name == a.Name }); at >= 0 {
			have.Netns[at].Disregard(a)
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
	sock, err := socket.OpenRoute(r.k.memory)
	if err != nil {
		return n, err
	}
	defer sock.Close()
	d := notesOf(&n)
	names, devices, err := r.links(sock, want, &n)
	if err != nil {
		return n, err
	}
	// First: what changes from here on is read again.
	if r.trust && s.neighs.quiet() {
		r.quiet[name] = true
	} else if err := errors.Join(r.neighs(sock, names, &n), r.fdb(sock, names, devices, want, &n)); err != nil {
		return n, err
	}
	if slices.ContainsFunc(n.Links, func(l plan.Link) bool { return l.Type == plan.Bridge }) {
		if err := d.groups(sock, names, devices); err != nil {
			return n, err
		}
	}
	follow, err := r.addrs(sock, names, devices, want, &n)
	if err != nil {
		return n, err
	}
	if err := errors.Join(r.routes(sock, names, follow, want, &n), d.routingRules(sock), d.nextHops(sock)); err != nil {
		return n, err
	}
	if err := errors.Join(r.sysctls(want, &n), r.settings(d, want, r.k.pristine), r.resolution(d, devices, want)); err != nil {
		return n, err
	}
	if err := errors.Join(r.filters(names, s, want, &n), xtables.Legacy(d.List, &r.k.proc, s.kind)); err != nil {
		return n, err
	}
	if r.trust && s.kind.Filters() && s.asPlanned() {
		r.known[name] = true
	} else if n.NFT, err = nftables.Read(s.kind.Filters()); err != nil {
		return n, err
	}
	if r.k.hooks.Running != nil {
		r.k.hooks.Running(name, &n)
	}
	d.carriers(devices, want)
	return n, readWireGuards(&n)
}

func (r *reader) links(sock *socket.Socket, want, n *plan.Netns) (map[int]string, map[int]*netDevice, error) {
	list, err := sock.Dump(unix.RTM_GETLINK, linkDump())
	if err != nil {
		return nil, nil, fmt.Errorf("links: %w", err)
	}
	d := notesOf(n)
	names, devices := make(map[int]string, len(list)), make(map[int]*netDevice, len(list))
	for _, m := range list {
		x, err := parseDevice(m)
		if err != nil {
			return nil, nil, fmt.Errorf("links: %w", err)
		}
		names[x.index], devices[x.index] = x.name, x
	}
	renamed(d, r.k.spaces[n.Name], names, devices, want)
	for _, x := range devices {
		if len(x.mac) == 6 {
			r.macs[plan.MAC(x.mac)] = append(r.macs[plan.MAC(x.mac)], plan.Peer{Netns: n.Name, Link: x.name})
		}
	}
	for _, m := range list {
		l, err := netlink.LinkDeserialize(nil, m[unix.NLMSG_HDRLEN:])
		if err != nil {
			return nil, nil, fmt.Errorf("links: %w", err)
		}
		a := l.Attrs()
		a.Name = names[a.Index]
		if _, ok := l.(*netlink.Veth); ok {
			r.ends[plan.Peer{Netns: n.Name, Link: a.Name}] = vethEnd{index: a.Index, peer: a.ParentIndex}
		}
		down, x := a.Flags&net.FlagUp == 0, devices[a.Index]
		if a.Flags&net.FlagLoopback != 0 || wants(want, a.Name) {
			d.device(x)
			d.tunnel(x)
			d.conf(x, want, r.k.pristine)
		}
		if a.Flags&net.FlagLoopback != 0 || down && fallback[a.Name] && !wants(want, a.Name) {
			continue
		}
		if old := r.applied[n.Name]; !wants(want, a.Name) && (old == nil || !wants(old, a.Name)) {
			d.stranger(x)
			continue
		}
		link := plan.Link{Name: a.Name, Type: plan.LinkType(l.Type()), MTU: a.MTU, Master: names[a.MasterIndex], Down: down}
		copy(link.MAC[:], a.HardwareAddr)
		link.Hairpin = socket.Number(x.port[brportMode]) == 1
		if l, ok := l.(*netlink.Vxlan); ok {
			link.VXLAN = plan.VXLANAttrs{ID: l.VxlanId, Port: l.Port, Dev: names[l.VtepDevIndex], Learning: l.Learning, Local: addrOf(l.SrcAddr)}
		}
		if _, ok := l.(*netlink.Tuntap); ok {
			link.Type = plan.TUN
			if r.k.spaces[n.Name].userSpace[a.Name] {
				link.Type, link.UserSpace = plan.WireGuard, true
			}
		}
		n.Links = append(n.Links, link)
	}
	return names, devices, nil
}

// fallback are the devices that drivers create in every namespace once they are loaded.
// They are down, and cannot be deleted.
var fallback = map[string]bool{"tunl0": true, "sit0": true, "gre0": true, "gretap0": true, "erspan0": true, "ip_vti0": true,
	"ip6tnl0": true, "ip6gre0": true, "ip6_vti0": true, "ifb0": true, "ifb1": true}

func wants(n *plan.Netns, link string) bool {
	return slices.ContainsFunc(n.Links, func(l plan.Link) bool { return l.Name == link })
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

// filters reads what affects packets beyond routing and rules: qdiscs, sets, and virtual
// servers where there could be any.
func (r *reader) filters(names map[int]string, s *space, want *plan.Netns, n *plan.Netns) (err error) {
	if err := qdiscs.Read(names, want, n); err != nil {
		return err
	}
	var odd []sets.Odd
	if n.Sets, odd, err = sets.Read(r.k.memory); err != nil && len(want.Sets) > 0 {
		return err // not where the kernel lacks them, and nothing needs them
	}
	for _, o := range odd {
		d := notesOf(n)
		d.Foreign(fmt.Sprintf("set %s: member %s %s", o.Set, o.Member, o.What), fmt.Sprintf("ip netns exec %s ipset del %s %s", n.Name, o.Set, o.Member),
			plan.Request{Family: unix.NETLINK_NETFILTER, Message: o.Delete})
	}
	if err := xfrm.Read(r.k.memory, n); err != nil {
		return err
	}
	foreign, err := virtual.Any(&r.k.proc)
	if err != nil {
		return err
	}
	if s.virtual || len(want.Virtual) > 0 || foreign {
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

// addrOf is an address of the library; the zero Addr if it has none.
func addrOf(ip net.IP) netip.Addr {
	a, _ := netip.AddrFromSlice(ip)
	return a.Unmap()
}

// notes are the deviations of a network namespace.
type notes struct{ deviations.List }

func notesOf(n *plan.Netns) notes { return notes{deviations.Of(n)} }
