//go:build linux

package engine

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/netlab/netlab/datapath/flow"
	"github.com/netlab/netlab/datapath/netns"
	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/datapath/probe"
)

// inside holds what runs in the namespaces of a lab: agents, the programs of the
// scenario, and those that the user runs.
type inside struct {
	server *probe.Server
	news   news // of what programs write

	hosts atomic.Pointer[[]byte] // in the format of /etc/hosts; never nil

	mu     sync.Mutex
	closed bool
	spaces map[string]*occupants
}

// occupants are what runs in one namespace.
type occupants struct {
	agents   []plan.Agent
	programs map[string]*program // by name
	visited  bool                // users have run programs here, which may have left others behind
}

func (in *inside) at(name string) *occupants {
	if in.spaces[name] == nil {
		in.spaces[name] = &occupants{programs: map[string]*program{}}
	}
	return in.spaces[name]
}

// enter is the hook that the kernel package calls on a thread in the namespace.
func (in *inside) enter(here netns.Here, name string, add, remove plan.Netns) error {
	if len(add.Agents)+len(add.Execs)+len(remove.Agents)+len(remove.Execs) == 0 {
		return nil
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	o := in.at(name)
	for _, a := range remove.Agents {
		in.server.Unlisten(name, a.Name)
		// A clone: running hands out the list.
		o.agents = slices.DeleteFunc(slices.Clone(o.agents), func(b plan.Agent) bool { return b.Name == a.Name })
	}
	for _, x := range remove.Execs {
		in.server.Unlisten(name, x.Name)
		if p := o.programs[x.Name]; p != nil {
			p.end()
			p.await()
		}
		delete(o.programs, x.Name)
	}
	for _, a := range add.Agents {
		if err := in.server.Listen(here, name, agent(a, add.IPv6)); err != nil {
			return fmt.Errorf("agent %s: %w", a.Name, err)
		}
		o.agents = append(o.agents, a)
	}
	for _, x := range add.Execs {
		watched := probe.Agent{Name: x.Name, Node: x.Node, IPv6: add.IPv6, Listen: sockets(x.Listen)}
		if err := in.server.Watch(here, name, watched); err != nil {
			return err
		}
		o.programs[x.Name] = newProgram(name, x, in.hostsNow, in.news.tell)
	}
	return nil
}

func agent(a plan.Agent, ipv6 bool) probe.Agent {
	p := probe.Agent{Name: a.Name, Node: a.Node, IPv6: ipv6, Listen: sockets(a.Listen)}
	if a.Health != (plan.Health{}) {
		p.Health = &probe.Health{Namespace: a.Health.Namespace, Service: a.Health.Service, LocalEndpoints: a.Health.LocalEndpoints}
	}
	return p
}

func sockets(listen []plan.Listen) (list []probe.Socket) {
	for _, l := range listen {
		list = append(list, probe.Socket{Protocol: flow.Protocol(l.Protocol), Port: l.Port})
	}
	return list
}

func (in *inside) hostsNow() []byte { return *in.hosts.Load() }

// begin starts the programs that have not begun, once all namespaces are as planned, and
// returns them.
func (in *inside) begin(hosts []byte, space func(name string) (*netns.NS, error)) (list []*program) {
	in.hosts.Store(&hosts)
	in.mu.Lock()
	defer in.mu.Unlock()
	for name, o := range in.spaces {
		for _, p := range o.programs {
			if ns, err := space(name); err == nil && p.begin(ns) {
				list = append(list, p)
			}
		}
	}
	return list
}

// leave is the hook that the kernel package calls before a namespace is removed.
func (in *inside) leave(name string, ns *netns.NS) {
	in.mu.Lock()
	defer in.mu.Unlock()
	o, ok := in.spaces[name]
	if !ok {
		return
	}
	for _, a := range o.agents {
		in.server.Unlisten(name, a.Name)
	}
	for _, p := range o.programs {
		in.server.Unlisten(name, p.Name)
		p.end()
		go p.await()
	}
	if o.visited {
		killIn(ns)
	}
	delete(in.spaces, name)
}

// running is the hook that adds what runs in a namespace to what was read from it.
func (in *inside) running(name string, n *plan.Netns) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if o, ok := in.spaces[name]; ok {
		n.Agents = o.agents
		for _, p := range o.programs {
			n.Execs = append(n.Execs, p.asPlanned())
		}
		slices.SortFunc(n.Execs, func(a, b plan.Exec) int { return cmp.Compare(a.Name, b.Name) })
	}
}

var errClosed = errors.New("the lab is going down")

// visit notes that a user runs a program in a namespace. Whatever it leaves behind ends
// with the namespace.
func (in *inside) visit(name string) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.at(name).visited = true
}

// close ends all agents and all processes of the lab.
func (in *inside) close() {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.closed {
		return
	}
	in.closed = true
	_ = in.server.Close()
	for _, o := range in.spaces {
		for _, p := range o.programs {
			p.end() // or it would be started again
		}
	}
	clear(in.spaces)
	killAll()
}
