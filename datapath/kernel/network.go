//go:build linux

package kernel

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"github.com/netlab/netlab/datapath/kernel/links"
	"github.com/netlab/netlab/datapath/kernel/neighbours"
	"github.com/netlab/netlab/datapath/kernel/qdiscs"
	"github.com/netlab/netlab/datapath/kernel/routing"
	"github.com/netlab/netlab/datapath/kernel/socket"
	"github.com/netlab/netlab/datapath/plan"
)

// network queues the messages of a step on links and what depends on them.
func (r *runner) network(s *plan.Step) error {
	switch item := s.Item.(type) {
	case *plan.Pair:
		return r.pair(s, item)
	case *plan.Link:
		if s.Verb == plan.Delete {
			delete(r.here.index, item.Name)
			delete(r.here.userSpace, item.Name)
			if item.Type == plan.IPIP {
				return r.queue(s, links.Down(item.Name), links.Delete(item.Name))
			}
			return r.queue(s, links.Delete(item.Name))
		}
		return r.device(s, item)
	case *plan.LinkChange:
		return r.alter(s, item.Link)
	case *plan.Qdisc:
		return r.shape(s, item)
	}
	return r.item(s)
}

func (r *runner) device(s *plan.Step, l *plan.Link) error {
	e := links.End{Link: *l, Index: r.here.planned(l.Name)}
	switch l.Type {
	case plan.Bridge:
		// A bridge takes the smallest MTU of its ports until its own is changed
		// (br_mtu_auto_adjust in net/bridge/br_if.c); setting the current value does
		// not count.
		other := e
		other.Link.MTU--
		return r.queue(s, links.Bridge(e), links.Change(other), links.Change(e))
	case plan.IPIP:
		// Loading the module creates the device in every namespace, and so does creating a
		// namespace after that, unless net.core.fb_tunnels_only_for_init_net is set.
		delete(r.here.index, l.Name)
		add := links.Add(e, plan.IPIP)
		add.Excuse = []unix.Errno{unix.EEXIST}
		return r.queue(s, add, links.Change(links.End{Link: *l}))
	case plan.Dummy:
		return r.queue(s, links.Dummy(e))
	case plan.TUN:
		if err := r.tun(l); err != nil {
			return err
		}
		return r.queue(s, links.Change(e))
	case plan.WireGuard:
		if r.k.hasWireGuard(r.ctx) {
			return r.queue(s, links.Add(e, plan.WireGuard))
		}
		if err := r.tun(l); err != nil {
			return err
		}
		r.here.standIn(l.Name)
		return r.queue(s, links.Change(e))
	case plan.VXLAN:
		dev, err := r.indexOf(l.VXLAN.Dev)
		if err != nil {
			return err
		}
		return r.queue(s, links.VXLAN(e, dev))
	default:
		return fmt.Errorf("link %q: unknown type %q", l.Name, l.Type)
	}
}

// tun creates a TUN device in the namespace of the thread.
func (r *runner) tun(l *plan.Link) error {
	if err := r.flush(); err != nil { // links are created in order
		return err
	}
	return links.TUN(l.Name, r.here.planned(l.Name))
}

// pair creates a veth through the socket of the other end's namespace, which exists
// already: no thread has to enter it for that. This end is set up by the messages of
// the namespace here.
func (r *runner) pair(s *plan.Step, p *plan.Pair) error {
	other := r.k.spaces[p.Link.Peer.Netns]
	if p.Peer == nil || other == nil {
		return fmt.Errorf("link %q: its other end, %s in %s, is not in the plan", p.Link.Name, p.Link.Peer.Link, p.Link.Peer.Netns)
	}
	if err := r.flush(); err != nil {
		return err
	}
	if err := other.open(r.k); err != nil {
		return err
	}
	near := links.End{Link: *p.Peer, Index: other.planned(p.Peer.Name)}
	far := links.End{Link: *p.Link, Index: r.here.planned(p.Link.Name)}
	if near.Link.Master != "" {
		var err error
		if near.Master, err = other.indexOf(near.Link.Master); err != nil {
			return err
		}
	}
	batch := []socket.Message{links.Veth(near, far, r.here.ns.FD())}
	if near.Link.Hairpin {
		batch = append(batch, links.Hairpin(near.Link.Name, true))
	}
	if near.Index == 0 { // the kernel chooses both (veth_newlink in drivers/net/veth.c)
		delete(other.index, near.Link.Name)
		delete(r.here.index, far.Link.Name)
	}
	if err := other.sock.Do(socket.Part(s, batch...)); err != nil {
		return err
	}
	r.raises(other, near.Link.Name)
	if r.here.kind != plan.Pod {
		r.raises(r.here, far.Link.Name)
	}
	index, err := r.here.indexOf(far.Link.Name)
	if err != nil {
		return err
	}
	if far.Link.Master == "" {
		return r.queue(s, links.Up(index))
	}
	far.Index = index
	if far.Master, err = r.indexOf(far.Link.Master); err != nil {
		return err
	}
	return r.queue(s, links.Change(far))
}

func (r *runner) alter(s *plan.Step, l *plan.Link) (err error) {
	e := links.End{Link: *l}
	if e.Index, err = r.indexOf(l.Name); err != nil {
		return err
	}
	if l.Type == plan.Veth {
		r.raises(r.here, l.Name)
		r.raises(r.k.spaces[l.Peer.Netns], l.Peer.Link)
	}
	if l.Master == "" {
		return r.queue(s, links.Change(e))
	}
	if e.Master, err = r.indexOf(l.Master); err != nil {
		return err
	}
	return r.queue(s, links.Change(e), links.Hairpin(l.Name, l.Hairpin))
}

// raises notes that a link is to be waited for.
func (r *runner) raises(s *space, link string) {
	if s == nil {
		return
	}
	if r.raised[s] == nil {
		r.raised[s] = map[string]bool{}
	}
	r.raised[s][link] = true
}

// gone are the errors of deleting what no longer exists.
var gone = []unix.Errno{unix.ENOENT, unix.ESRCH, unix.EADDRNOTAVAIL, unix.ENODEV}

// item queues the message for what depends on a link.
func (r *runner) item(s *plan.Step) error {
	flags := unix.NLM_F_CREATE | unix.NLM_F_REPLACE
	kinds := struct{ addr, neigh, route int }{unix.RTM_NEWADDR, unix.RTM_NEWNEIGH, unix.RTM_NEWROUTE}
	switch {
	case s.Verb == plan.Delete:
		flags = 0
		kinds.addr, kinds.neigh, kinds.route = unix.RTM_DELADDR, unix.RTM_DELNEIGH, unix.RTM_DELROUTE
	case r.here.fresh:
		flags = unix.NLM_F_CREATE | unix.NLM_F_EXCL
	}
	var m socket.Message
	var err error
	on := func(link string) (index int) {
		index, err = r.indexOf(link)
		return index
	}
	switch x := s.Item.(type) {
	case *plan.Addr:
		m = routing.AddrMessage(kinds.addr, flags, x.Prefix, on(x.Link))
	case *plan.Neigh:
		m = neighbours.NeighMessage(kinds.neigh, flags, *x, on(x.Link))
	case *plan.FDB:
		m = neighbours.FDBMessage(kinds.neigh, flags, *x, on(x.Link))
	case *plan.Route:
		if x.Protocol == plan.BGP && s.Verb != plan.Delete {
			return r.leaveToSpeaker(s)
		}
		index := 0
		if x.Type == plan.Unicast {
			index = on(x.Dev)
		}
		m = routing.RouteMessage(kinds.route, flags, *x, index)
	default:
		return fmt.Errorf("unknown item %T", x)
	}
	if err != nil && s.Verb != plan.Delete {
		return err
	}
	if s.Verb == plan.Delete {
		m.Excuse = gone
	}
	return r.queue(s, m)
}

// leaveToSpeaker does nothing: the namespace's speaker sets the routes that it learns.
func (r *runner) leaveToSpeaker(s *plan.Step) error {
	if err := r.flush(); err != nil {
		return err
	}
	r.k.note(s)
	return nil
}

// shape adds or deletes qdiscs. One that differs is recreated: its queue is lost, as
// with a replacement by hand.
func (r *runner) shape(s *plan.Step, q *plan.Qdisc) error {
	index, err := r.indexOf(q.Link)
	if err != nil {
		if s.Verb == plan.Delete {
			return nil // deleted with the link
		}
		return err
	}
	var msgs []socket.Message
	if s.Verb != plan.Add {
		msgs = append(msgs, qdiscs.Delete(index, q.OfArrivals()))
	}
	if s.Verb != plan.Delete {
		msgs = append(msgs, qdiscs.Add(q, index)...)
	}
	return r.queue(s, msgs...)
}

// indexOf finds the index of a link of the namespace here, which may still be waiting
// to be created.
func (r *runner) indexOf(name string) (int, error) {
	if i, ok := r.here.index[name]; ok {
		return i, nil
	}
	if err := r.flush(); err != nil {
		return 0, err
	}
	return r.here.indexOf(name)
}

// planned is the index that a link gets; 0: the kernel chooses.
func (s *space) planned(name string) int {
	if !s.fresh {
		return 0
	}
	return s.index[name]
}

// open ensures that the namespace has a socket. The caller is on the thread of the
// Kernel, in any namespace.
func (s *space) open(k *Kernel) error {
	if s.sock != nil {
		return nil
	}
	if s.index == nil {
		s.index = map[string]int{}
	}
	return s.ns.Do(func() (err error) {
		s.sock, err = socket.OpenRoute(k.memory)
		return err
	})
}

func (s *space) indexOf(name string) (int, error) {
	if i, ok := s.index[name]; ok {
		return i, nil
	}
	req, err := unix.NewIfreq(name)
	if err != nil {
		return 0, fmt.Errorf("link %q: %w", name, err)
	}
	if err := unix.IoctlIfreq(s.sock.FD, unix.SIOCGIFINDEX, req); err != nil {
		return 0, fmt.Errorf("link %q: %w", name, err)
	}
	i := int(req.Uint32())
	s.index[name] = i
	return i, nil
}

// patience is how long the kernel may take to remove the far ends of veths whose
// namespaces were released, before we remove them ourselves.
const patience = 2 * time.Second

// awaitGone waits for the removal of veth ends whose other end was in a removed
// namespace: the kernel removes those in bulk, while deleting each takes an RCU grace
// period.
func (r *runner) awaitGone() error {
	deadline := time.Now().Add(patience)
	for _, end := range r.ends {
		s, ok := r.k.spaces[end.Netns]
		if !ok {
			continue
		}
		if err := s.open(r.k); err != nil {
			return err
		}
		if err := s.awaitGone(r.ctx, end, deadline); err != nil {
			return fmt.Errorf("%s: %w", end.Netns, err)
		}
	}
	return nil
}

func (s *space) awaitGone(ctx context.Context, end plan.Peer, deadline time.Time) error {
	for {
		delete(s.index, end.Link)
		if _, err := s.indexOf(end.Link); errors.Is(err, unix.ENODEV) {
			return nil
		}
		if time.Now().After(deadline) {
			return s.sock.Do(socket.Part(linkGone(end), links.Delete(end.Link)))
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(2 * time.Millisecond):
		}
	}
}

// linkGone is the step that deletes a link.
func linkGone(at plan.Peer) *plan.Step {
	return &plan.Step{Netns: at.Netns, Verb: plan.Delete, Item: &plan.Link{Name: at.Link}}
}
