//go:build linux

package kernel

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/netlab/netlab/datapath/kernel/procfs"
	"github.com/netlab/netlab/datapath/kernel/settings"
	"github.com/netlab/netlab/datapath/kernel/socket"
	"github.com/netlab/netlab/datapath/kernel/virtual"
	"github.com/netlab/netlab/datapath/netns"
	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/datapath/plan/occupant"
)

// Hooks let the owner of a Kernel act inside the namespaces: it owns the agents and
// programs, which are processes and not kernel state.
type Hooks struct {
	// Check may refuse changes before any of them is made; nil: none are refused.
	Check func(ctx context.Context, c plan.Changes) error
	// Enter is called on a thread inside a namespace whose links are ready, with the
	// agents, programs, user-space tunnels and BGP speakers to start and those to stop.
	Enter func(here netns.Here, name string, add, remove plan.Netns) error
	// Own moves a thread into a new network namespace that programs in it may change, which will be
	// a namespace of the plan; nil: there are no such programs.
	Own func(n *plan.Netns) error
	// Leave is called before the namespace is removed.
	Leave func(name string, ns *netns.NS)
	// Running adds the agents, programs, tunnels and speakers that run in a namespace to what
	// was read.
	Running func(name string, read *plan.Netns)
	// Greet begins sessions of a user-space WireGuard tunnel with peers, and Met reports
	// whether it has had a handshake with all of them since a time.
	Greet func(name, link string, peers []occupant.WireGuardPeer) error
	Met   func(name, link string, peers []occupant.WireGuardPeer, since time.Time) bool
}

// Kernel is the set of network namespaces of one lab. It is not safe for concurrent
// use, except for Open.
type Kernel struct {
	hooks   Hooks
	spaces  map[string]*space
	applied *plan.Plan // the plan given to the last Apply or Update
	checked bool       // no Apply has failed since one that read everything
	few     int        // the constant; lower in tests
	thread  *netns.Thread
	record  func(*plan.Step) // for tests: what was carried out
	proc    procfs.FS
	lacksWG *bool          // WireGuard; nil: not known yet
	memory  *socket.Memory // of all netlink sockets

	pristine *settings.Pristine // nil: not known yet
}

// space is one network namespace of the lab.
type space struct {
	ns   *netns.NS
	kind plan.Kind
	// rules is for nodes: what Apply need not list again.
	rules     ruleset
	neighs    *watch // nil: they are always read
	virtual   bool
	userSpace map[string]bool // links that are TUN devices in place of WireGuard's
	drains    virtual.Drains  // IPVS real servers that are draining
	// During an Apply: an open socket, and the known indexes of links.
	sock  *socket.Socket
	index map[string]int
	fresh bool // being created: links have the indexes that create planned
}

// New returns a Kernel without namespaces.
func New(hooks Hooks) *Kernel {
	return &Kernel{
		hooks:   hooks,
		spaces:  map[string]*space{},
		applied: &plan.Plan{},
		few:     few,
		thread:  netns.NewThread(),
		proc:    procfs.FS{FD: -1},
		memory:  socket.NewMemory(),
	}
}

// Namespace returns the network namespace with the given name in the plan.
func (k *Kernel) Namespace(name string) (*netns.NS, error) {
	s, ok := k.spaces[name]
	if !ok {
		return nil, fmt.Errorf("no network namespace %q in this lab", name)
	}
	return s.ns, nil
}

// Names returns the names of all namespaces, sorted.
func (k *Kernel) Names() []string { return slices.Sorted(maps.Keys(k.spaces)) }

// Applied is the plan of the last Apply or Update.
func (k *Kernel) Applied() *plan.Plan { return k.applied }

// Apply makes the namespaces equal to the plan and returns what it changed. It reads
// their state and applies the difference. When that touches links of namespaces that
// stay, it reads again until there is no difference: replacing a link also removes the
// addresses and routes on it.
func (k *Kernel) Apply(ctx context.Context, want *plan.Plan) (plan.Changes, error) {
	defer k.settle()
	k.checked = false
	var first plan.Changes
	for pass := 0; ; pass++ {
		have, err := k.read(ctx, want, scope{trust: true})
		if err != nil {
			return first, err
		}
		changes := plan.Diff(have, want.Adopt(have, k.applied))
		more := len(changes.Again) > 0
		changes.Again = nil // after another read
		if pass > 0 {
			changes = changes.Written()
		}
		if pass == 0 {
			first = changes
			if err := k.check(ctx, changes); err != nil {
				return plan.Changes{}, err
			}
		}
		if changes.Empty() {
			k.succeed(want)
			return first, nil
		}
		if pass > 0 {
			first.Again = append(first.Again, changes)
		}
		if pass == 3 {
			return first, fmt.Errorf("changes did not take effect: %s", changes.Summary())
		}
		if err := k.run(ctx, changes.Steps()); err != nil {
			return first, err
		}
		if !more && !hasConsequences(changes) {
			k.succeed(want) // every message was acknowledged, and none undid another
			return first, nil
		}
	}
}

// succeed records that all namespaces are equal to the plan.
func (k *Kernel) succeed(want *plan.Plan) {
	k.applied, k.checked = want, true
	k.noteRules(nil)
	k.settleNeighs(nil)
}

// hasConsequences reports whether changes can take along what they do not name.
func hasConsequences(c plan.Changes) bool {
	return slices.ContainsFunc(c.Edit, func(e plan.Edit) bool {
		return len(e.Add.Links)+len(e.Change.Links)+len(e.Delete.Addrs)+len(e.Delete.Deviations) > 0
	})
}

// settle releases what only an Apply needs.
func (k *Kernel) settle() {
	k.hangUp()
	k.proc.Close()
}

func (k *Kernel) hangUp() {
	for _, s := range k.spaces {
		if s.sock != nil {
			s.sock.Close()
		}
		s.sock, s.index, s.fresh = nil, nil, false
	}
}

// Close releases all namespaces except the one named last, which the caller may watch
// while the kernel destroys the others. Closing descriptors is 200 times faster than
// deleting links one by one.
func (k *Kernel) Close(last string) {
	for name, s := range k.spaces {
		if k.hooks.Leave != nil {
			k.hooks.Leave(name, s.ns)
		}
		if name != last {
			s.neighs.close()
			s.rules.close()
			s.ns.Close()
			delete(k.spaces, name)
		}
	}
}
