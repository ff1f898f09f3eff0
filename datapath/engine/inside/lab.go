//go:build linux

package inside

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/netlab/netlab/datapath/agents/ingress"
	"github.com/netlab/netlab/datapath/agents/kubeapi"
	"github.com/netlab/netlab/datapath/cell"
	"github.com/netlab/netlab/datapath/flow"
	"github.com/netlab/netlab/datapath/kernel"
	"github.com/netlab/netlab/datapath/netns"
	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/datapath/plan/bgp"
	"github.com/netlab/netlab/datapath/plan/occupant"
	"github.com/netlab/netlab/datapath/probe"
	"golang.org/x/sys/unix"
)

// Lab holds what runs in the namespaces of a lab: agents, the programs of the
// scenario, and those that the user runs.
type Lab struct {
	server *probe.Server
	news   news // of what programs write

	hosts atomic.Pointer[[]byte] // in the format of /etc/hosts; never nil
	open  atomic.Bool            // programs are not confined

	api *kubeapi.Server // nil: this lab serves none

	authority func() (*ingress.Authority, error) // of ingress controllers
	trusted   atomic.Pointer[[]byte]             // its certificate, once there is one
	turn      chan struct{}                      // of those who make requests through controllers

	mu     sync.Mutex
	closed bool
	spaces map[string]*occupants
}

// occupants are what runs in one namespace.
type occupants struct {
	agents    []occupant.Agent
	programs  map[string]*program // by name
	tunnels   map[string]*tunnel  // by link
	speaker   *speaker            // nil: none
	names     names
	gateway   gateway
	proxy     *proxy // in user space; nil: none
	resolvers []occupant.Resolver
	files     []occupant.PodFiles
	door      io.Closer // to the API; nil: none
	visited   bool      // users have run programs here, which may have left others behind
}

// New makes that of a lab without namespaces.
func New() (*Lab, error) {
	server, err := probe.NewServer()
	if err != nil {
		return nil, err
	}
	in := &Lab{server: server, spaces: map[string]*occupants{}, turn: make(chan struct{}, 1)}
	in.authority = sync.OnceValues(in.newAuthority)
	in.hosts.Store(new([]byte))
	return in, nil
}

// Hooks are called by the kernel package when namespaces change, and are read.
func (in *Lab) Hooks() kernel.Hooks {
	return kernel.Hooks{Own: in.own, Enter: in.enter, Leave: in.leave, Running: in.running, Greet: in.greet, Met: in.met}
}

// own makes the network namespace of a program that may change it. Where a program has all rights
// of the engine anyway, it may be the engine's, and that of an agent is: there the kernel lets it
// have virtual servers.
func (in *Lab) own(n *plan.Netns) error {
	if in.open.Load() && n.HasAgent() {
		return os.NewSyscallError("unshare", unix.Unshare(unix.CLONE_NEWNET))
	}
	err := cell.Network()
	if err != nil && in.open.Load() {
		return os.NewSyscallError("unshare", unix.Unshare(unix.CLONE_NEWNET))
	}
	return err
}

// AllowHostPrograms says whether the programs that begin from now on have the machine's files
// and rights.
func (in *Lab) AllowHostPrograms(allowed bool) { in.open.Store(allowed) }

func (in *Lab) at(name string) *occupants {
	if in.spaces[name] == nil {
		in.spaces[name] = &occupants{programs: map[string]*program{}, tunnels: map[string]*tunnel{}}
	}
	return in.spaces[name]
}

// enter is the hook that the kernel package calls on a thread in the namespace.
func (in *Lab) enter(here netns.Here, name string, add, remove plan.Netns) error {
	in.mu.Lock()
	defer in.mu.Unlock()
	o := in.at(name)
	o.makeWay(&add)
	for _, a := range remove.Agents {
		in.server.Unlisten(name, a.Name)
		if a.DNS {
			o.names.end()
		}
		if a.Ingress != (occupant.Ingress{}) {
			o.gateway.end(a.Name)
		}
		// A clone: running hands out the list.
		o.agents = slices.DeleteFunc(slices.Clone(o.agents), func(b occupant.Agent) bool { return b.Name == a.Name })
	}
	for _, x := range remove.Execs {
		in.server.Unlisten(name, x.Name)
		if p := o.programs[x.Name]; p != nil {
			p.end()
			p.await()
		}
		delete(o.programs, x.Name)
	}
	if err := o.dig(add.Tunnels, remove.Tunnels); err != nil {
		return err
	}
	if err := o.speak(add.Speakers, remove.Speakers); err != nil {
		return err
	}
	if err := o.proxyPorts(add.ProxyPorts, remove.ProxyPorts); err != nil {
		return err
	}
	o.names.change(add.Records, remove.Records)
	o.gateway.change(add.Routing, remove.Routing)
	o.resolve(add.Resolvers, remove.Resolvers)
	o.holdFiles(add.Files, remove.Files)
	for _, a := range add.Agents {
		begin := in.server.Listen
		if a.DNS {
			begin = in.server.Watch
			if err := onceFree(func() error { return o.names.begin(add.IPv6, a) }); err != nil {
				return fmt.Errorf("name server %s: %w", a.Name, err)
			}
		}
		if a.Ingress != (occupant.Ingress{}) {
			if err := onceFree(func() error { return o.gateway.begin(in, a, add.IPv6) }); err != nil {
				return fmt.Errorf("ingress controller %s: %w", a.Name, err)
			}
			o.agents = append(o.agents, a)
			continue // what it passes on is for others
		}
		if err := onceFree(func() error { return begin(here, name, agent(a, add.IPv6)) }); err != nil {
			return fmt.Errorf("agent %s: %w", a.Name, err)
		}
		o.agents = append(o.agents, a)
	}
	for _, x := range add.Execs {
		watched := probe.Agent{Name: x.Name, Node: x.Node, IPv6: add.IPv6, Listen: sockets(x.Listen)}
		if err := in.server.Watch(here, name, watched); err != nil {
			return err
		}
		o.programs[x.Name] = newProgram(name, x, func() etc { return in.etcOf(name, x.Name) }, in.open.Load, in.news.tell)
	}
	return nil
}

// onceFree opens sockets, and tries again for a while where an address is in use: a socket that was
// closed just now lives on in a child of the engine, such as iptables-restore, from its fork until
// it runs its program.
func onceFree(open func() error) error {
	for deadline := time.Now().Add(flow.Stretched(time.Second, flow.TimeScale())); ; time.Sleep(time.Millisecond) {
		if err := open(); !errors.Is(err, unix.EADDRINUSE) || time.Now().After(deadline) {
			return err
		}
	}
}

func agent(a occupant.Agent, ipv6 bool) probe.Agent {
	p := probe.Agent{Name: a.Name, Node: a.Node, IPv6: ipv6, Listen: sockets(a.Listen)}
	if a.Health != (occupant.Health{}) {
		p.Health = &probe.Health{Namespace: a.Health.Namespace, Service: a.Health.Service, LocalEndpoints: a.Health.LocalEndpoints}
	}
	return p
}

func sockets(listen []occupant.Listen) (list []probe.Socket) {
	for _, l := range listen {
		list = append(list, probe.Socket{Protocol: flow.Protocol(l.Protocol), Port: l.Port})
	}
	return list
}

// Begin starts the programs that have not begun, once all namespaces are as planned, and
// returns them. Hosts are the lab's names in the format of /etc/hosts.
func (in *Lab) Begin(hosts []byte, space func(name string) (*netns.NS, error)) (list Begun) {
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
func (in *Lab) leave(name string, ns *netns.NS) {
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
	for _, t := range o.tunnels {
		t.Close()
	}
	o.end()
	if o.visited {
		killIn(ns)
	}
	delete(in.spaces, name)
}

// end ends what the engine does in a namespace beside agents, programs and tunnels.
func (o *occupants) end() {
	o.shut()
	o.names.end()
	o.gateway.endAll()
	if o.speaker != nil {
		o.speaker.end()
	}
	if o.proxy != nil {
		o.proxy.end()
	}
}

// running is the hook that adds what runs in a namespace to what was read from it.
func (in *Lab) running(name string, n *plan.Netns) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if o, ok := in.spaces[name]; ok {
		n.Agents = o.agents
		n.Records, n.Resolvers, n.Files, n.Routing = o.names.records, o.resolvers, o.files, o.gateway.routes
		for _, p := range o.programs {
			n.Execs = append(n.Execs, p.asPlanned())
		}
		for _, t := range o.tunnels {
			n.Tunnels = append(n.Tunnels, t.asPlanned())
		}
		if o.speaker != nil {
			n.Speakers = []bgp.Speaker{o.speaker.asPlanned()}
		}
		if o.proxy != nil {
			n.ProxyPorts = o.proxy.ports()
		}
		slices.SortFunc(n.Execs, func(a, b occupant.Exec) int { return cmp.Compare(a.Name, b.Name) })
	}
}

// visit notes that a user runs a program in a namespace. Whatever it leaves behind ends
// with the namespace.
func (in *Lab) visit(name string) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.at(name).visited = true
}

// Close ends all agents and all processes of the lab.
func (in *Lab) Close() {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.closed {
		return
	}
	in.closed = true
	_ = in.server.Close()
	var tunnels []*tunnel
	for _, o := range in.spaces {
		for _, p := range o.programs {
			p.end() // or it would be started again
		}
		tunnels = slices.AppendSeq(tunnels, maps.Values(o.tunnels))
		o.end()
	}
	clear(in.spaces)
	killAll()
	if len(tunnels) > 0 {
		time.Sleep(farewell)
	}
	for _, t := range tunnels {
		t.Close()
	}
}

// farewell is how long tunnels go on when all programs have ended, so that connections are
// closed at both ends: one whose last packets are lost keeps its namespace while they are
// sent again, for half a minute and more.
const farewell = 100 * time.Millisecond

// Programs are those of the scenario, by name.
func (in *Lab) Programs() (list []Program) {
	for _, p := range in.all() {
		list = append(list, p.status())
	}
	return list
}

// all are all programs of the scenario, by name.
func (in *Lab) all() []*program {
	in.mu.Lock()
	defer in.mu.Unlock()
	var all []*program
	for _, o := range in.spaces {
		for _, p := range o.programs {
			all = append(all, p)
		}
	}
	slices.SortFunc(all, func(a, b *program) int { return cmp.Compare(a.Name, b.Name) })
	return all
}
