//go:build linux

package kernel

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/netlab/netlab/datapath/kernel/deviations"
	"github.com/netlab/netlab/datapath/kernel/links"
	"github.com/netlab/netlab/datapath/kernel/neighbours"
	"github.com/netlab/netlab/datapath/kernel/nftables"
	"github.com/netlab/netlab/datapath/kernel/qdiscs"
	"github.com/netlab/netlab/datapath/kernel/routing"
	"github.com/netlab/netlab/datapath/kernel/sets"
	"github.com/netlab/netlab/datapath/kernel/settings"
	"github.com/netlab/netlab/datapath/kernel/socket"
	"github.com/netlab/netlab/datapath/kernel/virtual"
	"github.com/netlab/netlab/datapath/kernel/xfrm"
	"github.com/netlab/netlab/datapath/kernel/xtables"
	"github.com/netlab/netlab/datapath/netns"
	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/datapath/plan/ordered"
)

// Read returns the current state of the namespaces, as a plan. It reads only the
// sysctls that want names, since every namespace has hundreds. Of what agents of the scenario have
// made only the rules in built-in chains are in it, for plan.Adopt.
func (k *Kernel) Read(ctx context.Context, want *plan.Plan) (*plan.Plan, error) {
	return k.read(ctx, want, scope{})
}

// ReadAll is Read with all that agents and programs of the scenario have made, also links that nobody
// planned.
func (k *Kernel) ReadAll(ctx context.Context, want *plan.Plan) (*plan.Plan, error) {
	return k.read(ctx, want, scope{all: true})
}

// scope is how much is read.
type scope struct {
	all   bool            // also what agents and programs have made
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
	if r.only == nil {
		neighbours.Mistakes(have, want, r.learned, r.macs)
	}
	if !much.all {
		r.disregard(have, wanted)
	}
	return have, nil
}

func nameOf(n *plan.Netns) string { return n.Name }

// linksAt finds a link of a plan by its namespace and name.
type linksAt map[plan.Peer]*plan.Link

// index finds the links of the given namespaces (nil: all).
func index(p *plan.Plan, only map[string]bool) linksAt {
	all := linksAt{}
	if only == nil {
		all = make(linksAt, 3*len(p.Netns))
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
	learned []neighbours.Learned
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
func (r *reader) disregard(have *plan.Plan, wanted map[string]*plan.Netns) {
	for i := range r.k.applied.Netns {
		a := &r.k.applied.Netns[i]
		// A namespace that loses an agent is made anew, and has nothing of it.
		if w := wanted[a.Name]; !a.ChangedFromInside() || w != nil && a.LosesAgent(w) {
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
	d := deviations.Of(&n)
	devices, err := links.Read(sock, &links.Known{Want: want, Applied: r.applied[name], UserSpace: s.userSpace, Fresh: r.k.pristine, All: r.all}, &n)
	if err != nil {
		return n, err
	}
	r.meet(name, devices)
	names := devices.Names()
	// First: what changes from here on is read again.
	if r.trust && s.neighs.quiet() {
		r.quiet[name] = true
	} else {
		learned, err := neighbours.Read(sock, devices, want, &n)
		if err != nil {
			return n, err
		}
		r.learned = append(r.learned, learned...)
	}
	if slices.ContainsFunc(n.Links, func(l plan.Link) bool { return l.Type == plan.Bridge }) {
		if err := links.Groups(d, sock, devices); err != nil {
			return n, err
		}
	}
	if err := routing.Read(sock, devices, want, &n); err != nil {
		return n, err
	}
	if err := errors.Join(r.sysctls(want, &n), settings.Read(d, &r.k.proc, want, r.k.pristine), settings.Resolution(d, &r.k.proc, devices.Asking(want), want, r.k.pristine)); err != nil {
		return n, err
	}
	if err := errors.Join(r.filters(names, s, want, &n), xtables.Legacy(d, &r.k.proc, s.kind)); err != nil {
		return n, err
	}
	if r.trust && s.kind.Filters() && s.asPlanned() && !want.HasAgent() {
		r.known[name] = true
	} else if n.NFT, err = nftables.Read(s.kind.Filters()); err != nil {
		return n, err
	}
	if r.k.hooks.Running != nil {
		r.k.hooks.Running(name, &n)
	}
	links.Carriers(d, devices, want)
	return n, readWireGuards(&n)
}

// meet remembers links of a namespace, for those of others.
func (r *reader) meet(name string, devices links.Devices) {
	for _, x := range devices {
		self := plan.Peer{Netns: name, Link: x.Name}
		if len(x.MAC) == 6 {
			r.macs[plan.MAC(x.MAC)] = append(r.macs[plan.MAC(x.MAC)], self)
		}
		if x.Kind == plan.Veth {
			r.ends[self] = vethEnd{index: x.Index, peer: x.Peer()}
		}
	}
}

// join fills in the peers of veths. The kernel gives only the index of the other end,
// which is not unique across namespaces, so the ends that the plans name are tried.
// Those in namespaces that are not read are trusted.
func (r *reader) join(have *plan.Plan, plans ...linksAt) {
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
		d := deviations.Of(n)
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

// fresh reads what the kernel gives a new namespace, once, from a namespace made for that.
func (k *Kernel) fresh(h netns.Here) (*settings.Pristine, error) {
	if k.pristine != nil {
		return k.pristine, nil
	}
	ns, err := h.Create()
	if err != nil {
		return nil, err
	}
	defer ns.Close()
	sock, err := socket.OpenRoute(k.memory)
	if err != nil {
		return nil, err
	}
	defer sock.Close()
	inet, inet6, err := links.Loopback(sock)
	if err != nil {
		return nil, err
	}
	k.pristine, err = settings.New(&k.proc, inet, inet6)
	return k.pristine, err
}
