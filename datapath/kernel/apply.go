//go:build linux

package kernel

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/netlab/netlab/datapath/netns"
	"github.com/netlab/netlab/datapath/plan"
)

// change applies one difference: new namespaces first, then edits, then what goes.
// Rules of a namespace are loaded while later namespaces are being made.
func (k *Kernel) change(ctx context.Context, changes plan.Changes, want *plan.Plan) error {
	rules := newLoader(ctx)
	w := &work{k: k, plan: want, want: index(want, nil), made: map[plan.Peer]bool{}, rules: rules}
	err := k.thread.Run(func(h netns.Here) error {
		for _, n := range changes.Create {
			if err := ctx.Err(); err != nil {
				return err
			}
			if err := w.create(h, n); err != nil {
				return fmt.Errorf("%s: %w", n.Name, err)
			}
		}
		for _, e := range changes.Edit {
			if err := ctx.Err(); err != nil {
				return err
			}
			if err := w.edit(h, e); err != nil {
				return fmt.Errorf("%s: %w", e.Netns, err)
			}
		}
		return nil
	})
	if err := errors.Join(err, rules.wait()); err != nil {
		return err
	}
	if err := k.thread.Run(func(h netns.Here) error { return w.settle(h, changes.Edit) }); err != nil {
		return err
	}
	for _, name := range changes.Remove {
		k.remove(name)
	}
	return k.prune(ctx, changes.Edit)
}

// remove gives one namespace back.
func (k *Kernel) remove(name string) {
	s, ok := k.spaces[name]
	if !ok {
		return
	}
	if k.hooks.Leave != nil {
		k.hooks.Leave(name)
	}
	if s.sock != nil {
		s.sock.close()
	}
	s.ns.Close()
	delete(k.spaces, name)
}

// links finds a link of a plan by its namespace and name.
type links map[plan.Peer]linkAt

type linkAt struct {
	plan.Link
	index int // in a new namespace
}

// firstIndex is the index of the first link of a new namespace. Those that the kernel
// chooses begin at 2, and it makes devices in a new namespace before anybody else can
// (fallback.go): a handful for each tunnel module that is loaded.
const firstIndex = 100

// index finds the links of the given namespaces, of all with nil.
func index(p *plan.Plan, only map[string]bool) links {
	all := links{}
	if only == nil {
		all = make(links, 3*len(p.Netns))
	}
	for _, n := range p.Netns {
		if only != nil && !only[n.Name] {
			continue
		}
		for i, l := range n.Links {
			all[plan.Peer{Netns: n.Name, Link: l.Name}] = linkAt{l, firstIndex + i}
		}
	}
	return all
}

// work is one run of change.
type work struct {
	k     *Kernel
	plan  *plan.Plan // that is applied
	want  links
	made  map[plan.Peer]bool // veth ends that this run has made
	rules *loader
}

// create makes one namespace with all that is in it. The thread is inside the new
// namespace from the first step on; veths are made through the socket of their
// other end's namespace, which the kernel lets us do without going there.
func (w *work) create(h netns.Here, n plan.Netns) error {
	ns, err := h.Create()
	if err != nil {
		return err
	}
	s := &space{ns: ns, kind: n.Kind, fresh: true, index: make(map[string]int, len(n.Links))}
	if n.Kind == plan.Node {
		s.rules.bare = generation()
	}
	w.k.spaces[n.Name] = s
	if !n.IPv6 {
		off := plan.Sysctl{Key: "net.ipv6.conf.all.disable_ipv6", Value: "1"}
		if err := w.k.proc.set(off); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	if s.sock, err = openRtnl(w.k.memory); err != nil {
		return err
	}
	if err := w.needIPVS(&n); err != nil {
		return err
	}
	late, err := w.sysctls(n.Sysctls, true)
	if err != nil {
		return err
	}
	if err := w.fill(s, n); err != nil {
		return err
	}
	if _, err := w.sysctls(late, false); err != nil {
		return err
	}
	if err := w.growSets(s, &plan.Edit{Add: n}); err != nil {
		return err
	}
	if tables := plan.Edits(n.Tables); len(tables) > 0 {
		w.rules.load(n.Name, s, tables)
	}
	w.rules.nftLoad(n.Name, s, plan.NFTEdits(n.NFT))
	if len(n.Virtual) > 0 {
		s.virtual = true
		if err := addVirtual(n.Virtual, w.k.memory); err != nil {
			return err
		}
	}
	if n.Kind == plan.Pod {
		s.sock.close() // nothing will be made through it, and there may be thousands
		s.sock, s.index = nil, nil
	}
	if w.k.hooks.Enter != nil {
		return w.k.hooks.Enter(h, n.Name, n, plan.Netns{})
	}
	return nil
}

// fill makes links, addresses, neighbours, forwarding entries and routes of a new
// namespace.
func (w *work) fill(s *space, n plan.Netns) (err error) {
	batch := make([]message, 0, 2+2*len(n.Links)+len(n.Addrs)+len(n.Routes)+len(n.Neighs)+len(n.FDB))
	batch = append(batch, linkUp(1, ipText("link set dev lo up")))
	for i, l := range n.Links {
		at := linkAt{l, firstIndex + i}
		s.index[l.Name] = at.index
		if l.Type != plan.Veth {
			made, err := w.device(s, at)
			if err != nil {
				return err
			}
			batch = append(batch, made...)
			continue
		}
		if _, ok := w.k.spaces[l.Peer.Netns]; !ok {
			continue // made together with its other end, which comes later
		}
		if err := w.pair(n.Name, s, at); err != nil {
			return err
		}
		if at.index, err = s.indexOf(l.Name); err != nil {
			return err
		}
		batch = append(batch, w.raise(s, at))
	}
	items, err := w.additions(s, n, unix.NLM_F_CREATE|unix.NLM_F_EXCL)
	if err != nil {
		return err
	}
	shaping, err := s.shape(n.Qdiscs)
	if err != nil {
		return err
	}
	return s.sock.do(slices.Concat(batch, items, shaping))
}

// device is what makes a link which is not a veth.
func (w *work) device(s *space, l linkAt) ([]message, error) {
	e := end{link: l.Link, index: l.index}
	switch l.Type {
	case plan.Bridge:
		// A bridge takes the smallest MTU of its ports until somebody changes its own
		// (br_mtu_auto_adjust in net/bridge/br_if.c); to set what it has is no change.
		other := e
		other.link.MTU--
		return []message{
			bridgeAdd(e, ipText("link add dev %s type bridge", l.Name)),
			linkChange(other, ipText("link set dev %s mtu %d", l.Name, other.link.MTU)),
			linkChange(e, ipText("link set dev %s mtu %d", l.Name, l.MTU)),
		}, nil
	case plan.Dummy:
		return []message{dummyAdd(e, ipText("link add dev %s type dummy", l.Name))}, nil
	case plan.VXLAN:
		dev, err := s.indexOf(l.VXLAN.Dev)
		if err != nil {
			return nil, err
		}
		return []message{vxlanAdd(e, dev,
			ipText("link add dev %s mtu %d type vxlan id %d dev %s", l.Name, l.MTU, l.VXLAN.ID, l.VXLAN.Dev))}, nil
	default:
		return nil, fmt.Errorf("link %q: unknown type %q", l.Name, l.Type)
	}
}

// pair makes a veth whose other end lives in a namespace that exists, through the
// socket of that namespace.
func (w *work) pair(name string, s *space, far linkAt) error {
	self := plan.Peer{Netns: name, Link: far.Name}
	if w.made[self] {
		return nil
	}
	other := w.k.spaces[far.Peer.Netns]
	near, ok := w.want[far.Peer]
	if !ok {
		return fmt.Errorf("link %q: the plan lacks its other end, %s in %s", far.Name, far.Peer.Link, far.Peer.Netns)
	}
	if err := other.open(w.k); err != nil {
		return err
	}
	if !other.fresh {
		near.index = 0
	}
	if !s.fresh {
		far.index = 0
	}
	e := end{link: near.Link, index: near.index}
	if near.Master != "" {
		var err error
		if e.master, err = other.indexOf(near.Master); err != nil {
			return err
		}
	}
	batch := []message{vethAdd(e, end{link: far.Link, index: far.index}, s.ns.FD(),
		ipText("link add dev %s type veth peer name %s netns %s", near.Name, far.Name, name))}
	if near.Hairpin {
		batch = append(batch, hairpinSet(near.Name, true, ipText("link set dev %s type bridge_slave hairpin on", near.Name)))
	}
	if err := other.sock.do(batch); err != nil {
		return fmt.Errorf("%s: %w", far.Peer.Netns, err)
	}
	if near.index != 0 {
		other.index[near.Name] = near.index
	} else {
		delete(s.index, far.Name) // the kernel chose both (veth_newlink in drivers/net/veth.c)
	}
	w.made[self], w.made[far.Peer] = true, true
	return nil
}

// raise is the message that raises the far end of a veth.
func (w *work) raise(s *space, l linkAt) message {
	if l.Master == "" {
		return linkUp(l.index, ipText("link set dev %s up", l.Name))
	}
	return linkChange(end{link: l.Link, index: l.index, master: s.index[l.Master]},
		ipText("link set dev %s master %s up", l.Name, l.Master))
}

// additions are the messages that add addresses, neighbours, forwarding entries
// and routes, in the order in which they depend on each other.
func (w *work) additions(s *space, n plan.Netns, flags int) ([]message, error) {
	return s.items(n, [4]int{unix.RTM_NEWADDR, unix.RTM_NEWNEIGH, unix.RTM_NEWNEIGH, unix.RTM_NEWROUTE}, flags, "add")
}

// deletions are the messages that take them away; what is gone already is fine.
func (w *work) deletions(s *space, n plan.Netns) ([]message, error) {
	msgs, err := s.items(n, [4]int{unix.RTM_DELADDR, unix.RTM_DELNEIGH, unix.RTM_DELNEIGH, unix.RTM_DELROUTE}, 0, "del")
	for i := range msgs {
		msgs[i].excuse = []unix.Errno{unix.ENOENT, unix.ESRCH, unix.EADDRNOTAVAIL, unix.ENODEV}
	}
	return msgs, err
}

// items are the messages of one verb for everything that lies on links: the kinds
// are those of addresses, neighbours, forwarding entries and routes.
func (s *space) items(n plan.Netns, kinds [4]int, flags int, verb string) ([]message, error) {
	var msgs []message
	var missing error
	on := func(link string) int {
		i, err := s.indexOf(link)
		if err != nil && missing == nil && verb == "add" {
			missing = err
		}
		return i
	}
	for _, a := range n.Addrs {
		msgs = append(msgs, addrMessage(kinds[0], flags, a.Prefix, on(a.Link), ipText("address %s %s dev %s", verb, a.Prefix, a.Link)))
	}
	for _, e := range n.Neighs {
		msgs = append(msgs, neighMessage(kinds[1], flags, e, on(e.Link), ipText("neigh %s %s dev %s", verb, e.Addr, e.Link)))
	}
	for _, f := range n.FDB {
		msgs = append(msgs, fdbMessage(kinds[2], flags, f, on(f.Link), ipText("fdb %s %x dev %s dst %s", verb, f.MAC, f.Link, f.Dst)))
	}
	for _, r := range n.Routes {
		says := ipText("route %s %s via %s dev %s", verb, r.To, r.Via, r.Dev)
		if r.Local {
			says = ipText("route %s local %s dev %s", verb, r.To, r.Dev)
		}
		msgs = append(msgs, routeMessage(kinds[3], flags, r, on(r.Dev), says))
	}
	return msgs, missing
}

// shape are the messages that make qdiscs.
func (s *space) shape(list []plan.Qdisc) ([]message, error) {
	var msgs []message
	for i := range list {
		index, err := s.indexOf(list[i].Link)
		if err != nil {
			return nil, err
		}
		s.qdiscs = true
		msgs = append(msgs, qdiscAdd(&list[i], index)...)
	}
	return msgs, nil
}

// unshape are the messages that take qdiscs away; links that are gone took theirs
// along.
func (s *space) unshape(list []plan.Qdisc) []message {
	var msgs []message
	for i := range list {
		if index, err := s.indexOf(list[i].Link); err == nil {
			msgs = append(msgs, qdiscDel(&list[i], index))
		}
	}
	return msgs
}

// sysctls writes settings. Those of a link that is not there yet are returned
// when later is set, and are an error otherwise.
func (w *work) sysctls(list []plan.Sysctl, later bool) (late []plan.Sysctl, err error) {
	for _, s := range list {
		err := w.k.proc.set(s)
		if later && errors.Is(err, os.ErrNotExist) {
			late = append(late, s)
		} else if err != nil {
			return nil, err
		}
	}
	return late, nil
}

// open makes sure that the namespace has a socket. The caller is on the thread of
// the Kernel, in any namespace.
func (s *space) open(k *Kernel) error {
	if s.sock != nil {
		return nil
	}
	if s.index == nil {
		s.index = map[string]int{}
	}
	return s.ns.Do(func() (err error) {
		s.sock, err = openRtnl(k.memory)
		return err
	})
}

// indexOf finds the index of a link of the namespace.
func (s *space) indexOf(name string) (int, error) {
	if i, ok := s.index[name]; ok {
		return i, nil
	}
	req, err := unix.NewIfreq(name)
	if err != nil {
		return 0, fmt.Errorf("link %q: %w", name, err)
	}
	if err := unix.IoctlIfreq(s.sock.fd, unix.SIOCGIFINDEX, req); err != nil {
		return 0, fmt.Errorf("link %q: %w", name, err)
	}
	i := int(req.Uint32())
	s.index[name] = i
	return i, nil
}

// ipText defers the formatting of a command line to the rare error.
func ipText(format string, args ...any) func() string {
	return func() string {
		tool := "ip "
		if strings.HasPrefix(format, "fdb") {
			tool = "bridge "
		}
		return tool + fmt.Sprintf(format, args...)
	}
}
