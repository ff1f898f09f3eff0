//go:build linux

package kernel

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/netlab/netlab/datapath/kernel/conntrack"
	"github.com/netlab/netlab/datapath/kernel/nftables"
	"github.com/netlab/netlab/datapath/kernel/sets"
	"github.com/netlab/netlab/datapath/kernel/socket"
	"github.com/netlab/netlab/datapath/kernel/virtual"
	"github.com/netlab/netlab/datapath/kernel/xfrm"
	"github.com/netlab/netlab/datapath/netns"
	"github.com/netlab/netlab/datapath/plan"
)

// run carries out steps in order. Messages of adjacent steps for the same socket are
// sent together; rules of several namespaces are loaded in parallel, up to the next
// point where they must be in force.
func (k *Kernel) run(ctx context.Context, steps []plan.Step) error {
	r := k.runner(ctx)
	if err := r.carryOut(steps); err != nil {
		return err
	}
	if err := r.awaitUp(); err != nil {
		return err
	}
	if err := r.greet(); err != nil {
		return err
	}
	return r.awaitGone()
}

func (k *Kernel) runner(ctx context.Context) *runner {
	return &runner{k: k, ctx: ctx, rules: newLoader(ctx), raised: map[*space]map[string]bool{}}
}

func (r *runner) carryOut(steps []plan.Step) error {
	err := r.k.thread.Run(func(h netns.Here) error {
		r.thread = h
		for i := range steps {
			if err := r.step(&steps[i]); err != nil {
				return err
			}
		}
		return r.flush()
	})
	if err := errors.Join(err, r.rules.wait()); err != nil {
		return err
	}
	for _, s := range r.made {
		s.fresh = false
	}
	return nil
}

// runner is one run of steps.
type runner struct {
	k      *Kernel
	ctx    context.Context
	thread netns.Here
	rules  *loader
	here   *space // that the thread is in
	made   []*space
	raised map[*space]map[string]bool // links to wait for

	greetings []*greeting

	batch []socket.Message // not sent yet, all for the socket of the namespace here
	ends  []plan.Peer      // that disappear with removed namespaces
}

// step carries out one step, or queues its messages.
func (r *runner) step(s *plan.Step) error {
	if err := r.ctx.Err(); err != nil {
		return err
	}
	err := r.enter(s)
	if err == nil {
		err = r.do(s)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", s.Netns, err)
	}
	return nil
}

// enter moves the thread into the namespace of the step, unless that is to be created
// or removed.
func (r *runner) enter(s *plan.Step) error {
	switch s.Item.(type) {
	case *plan.Netns:
		return r.leave()
	case *plan.Removal, plan.RulesInForce:
		return r.flush()
	}
	to := r.k.spaces[s.Netns]
	switch to {
	case nil:
		return errors.New("no such network namespace")
	case r.here:
		return nil
	}
	if err := r.leave(); err != nil {
		return err
	}
	if err := r.thread.Enter(to.ns); err != nil {
		return err
	}
	r.here = to
	return nil
}

// leave finishes with the namespace that the thread is in.
func (r *runner) leave() error {
	if err := r.flush(); err != nil {
		return err
	}
	if s := r.here; s != nil && s.fresh && s.kind == plan.Pod && s.sock != nil {
		s.sock.Close() // nothing more goes through it, and there may be thousands
		s.sock, s.index = nil, nil
	}
	r.here = nil
	return nil
}

func (r *runner) flush() error {
	if len(r.batch) == 0 {
		return nil
	}
	batch := r.batch
	r.batch = r.batch[:0]
	if err := r.here.sock.Do(batch); err != nil {
		return err
	}
	if r.k.record != nil {
		for _, m := range batch {
			r.k.note(m.Label.(*plan.Step))
		}
	}
	return nil
}

// queue queues messages for the socket of the namespace here.
func (r *runner) queue(s *plan.Step, msgs ...socket.Message) error {
	r.batch = append(r.batch, socket.Part(s, msgs...)...)
	return nil
}

// do carries out a step in the namespace of the thread.
func (r *runner) do(s *plan.Step) error {
	switch s.Item.(type) {
	case *plan.Pair, *plan.Link, *plan.LinkChange, *plan.Addr, *plan.Neigh, *plan.FDB, *plan.Route, *plan.Qdisc:
		if err := r.here.open(r.k); err != nil {
			return err
		}
		return r.network(s)
	}
	if err := r.flush(); err != nil { // all others do not go through the queue
		return err
	}
	if err := r.other(s); err != nil {
		return err
	}
	r.k.note(s)
	return nil
}

func (r *runner) other(s *plan.Step) error {
	switch item := s.Item.(type) {
	case *plan.Netns:
		return r.create(item)
	case *plan.Removal:
		r.k.remove(s.Netns)
		r.ends = append(r.ends, item.Ends...)
	case plan.Sysctls:
		return r.sysctls(item)
	case *plan.Occupants:
		return r.occupants(s, item)
	case *plan.XfrmState, *plan.XfrmPolicy:
		return xfrm.Do(s)
	case *plan.Deviation:
		return r.repair(item)
	case plan.SetCommands:
		return sets.Run(r.ctx, r.k.memory, item)
	case plan.TableEdits:
		r.rules.load(s.Netns, r.here, item)
	case plan.NFTEdits:
		r.rules.nftLoad(s.Netns, r.here, item)
	case plan.VirtualCommands:
		r.here.virtual = true
		return r.here.drains.Run(item, r.k.memory)
	case *plan.Conntrack:
		if !r.here.fresh { // a new namespace has no connections
			return conntrack.Cut(item.UDP, item.Cut)
		}
	case plan.RulesInForce:
		err := r.rules.wait()
		r.rules = newLoader(r.ctx)
		return err
	default:
		return fmt.Errorf("unknown item %T", item)
	}
	return nil
}

// namespace makes a network namespace, and moves the thread into it.
func (r *runner) namespace(n *plan.Netns) (*netns.NS, error) {
	if !n.ChangedFromInside() || r.k.hooks.Own == nil {
		return r.thread.Create()
	}
	if err := r.k.hooks.Own(n); err != nil {
		return nil, fmt.Errorf("create network namespace: %w", err)
	}
	return netns.Current()
}

// create creates a namespace. The thread is inside it afterwards.
func (r *runner) create(n *plan.Netns) error {
	ns, err := r.namespace(n)
	if err != nil {
		return err
	}
	s := &space{ns: ns, kind: n.Kind, fresh: true, index: make(map[string]int, len(n.Links))}
	for i := range n.Links {
		s.index[n.Links[i].Name] = firstIndex + i
	}
	if n.Kind.Filters() {
		s.rules.sock, _ = nftables.Open() // already inside
		s.rules.bare = s.generation()
	}
	r.k.spaces[n.Name], r.here = s, s
	r.made = append(r.made, s)
	if !n.IPv6 {
		off := plan.Sysctl{Key: "net.ipv6.conf.all.disable_ipv6", Value: "1"}
		if err := r.k.proc.Set(off); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	if s.sock, err = socket.OpenRoute(r.k.memory); err != nil {
		return err
	}
	return s.sock.RaiseLoopback()
}

// firstIndex is the index of the first link of a new namespace. Those that the kernel
// chooses begin at 2, and it creates fallback devices in a new namespace before
// anything else: a handful for each loaded tunnel module.
const firstIndex = 100

func (r *runner) sysctls(list plan.Sysctls) error {
	for _, x := range list {
		if x.OfIPVS() { // they exist in every namespace once IPVS is loaded
			if _, err := virtual.Load(); err != nil {
				return err
			}
		}
		if err := r.k.proc.Set(x); err != nil {
			return explained(x, err)
		}
	}
	return nil
}

// explained says why a setting is not there that the kernel has.
func explained(x plan.Sysctl, err error) error {
	if x.OfIPVS() && errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("%w (the kernel hides the settings of IPVS from user namespaces, one of which the network of a node belongs to where programs of the scenario run confined; if you trust them: --allow-host-programs)", err)
	}
	return err
}

// occupants tells the owner what to start and stop in the namespace here.
func (r *runner) occupants(s *plan.Step, o *plan.Occupants) error {
	programs, err := r.wireGuards(s, o.Tunnels)
	if err != nil || r.k.hooks.Enter == nil {
		return err
	}
	these := plan.Netns{IPv6: o.IPv6, Agents: o.Agents, Execs: o.Execs, Tunnels: programs, Speakers: o.Speakers, ProxyPorts: o.ProxyPorts, Records: o.Records, Resolvers: o.Resolvers, Files: o.Files, Routing: o.Routing}
	var add, remove plan.Netns
	if s.Verb != plan.Delete {
		add = these
		for i := range programs {
			r.raises(r.here, programs[i].Link) // it has a carrier from then on
		}
	}
	if s.Verb != plan.Add {
		remove = these
	}
	return r.k.hooks.Enter(r.thread, s.Netns, add, remove)
}

// note records for tests what was carried out.
func (k *Kernel) note(s *plan.Step) {
	if k.record != nil {
		k.record(s)
	}
}

func (k *Kernel) remove(name string) {
	s, ok := k.spaces[name]
	if !ok {
		return
	}
	if k.hooks.Leave != nil {
		k.hooks.Leave(name, s.ns)
	}
	if s.sock != nil {
		s.sock.Close()
	}
	s.neighs.close()
	s.rules.close()
	s.ns.Close()
	delete(k.spaces, name)
}
