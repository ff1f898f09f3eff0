//go:build linux

package engine

import (
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/netlab/netlab/datapath/flow"
	"github.com/netlab/netlab/datapath/netns"
	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/datapath/probe"
)

// inside holds what runs in the namespaces of a lab: agents, the programs of the
// scenario, and those that the user runs.
type inside struct {
	server *probe.Server

	mu     sync.Mutex
	closed bool
	spaces map[string]*occupants
}

// occupants are what runs in one namespace.
type occupants struct {
	agents   []plan.Agent
	execs    []plan.Exec
	programs map[string]*exec.Cmd // of execs, by name
	visited  bool                 // users have run programs here, which may have left others behind
}

func (in *inside) at(name string) *occupants {
	if in.spaces[name] == nil {
		in.spaces[name] = &occupants{programs: map[string]*exec.Cmd{}}
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
		o.stop(x.Name)
	}
	for _, a := range add.Agents {
		if err := in.server.Listen(here, name, agent(a, add.IPv6)); err != nil {
			return fmt.Errorf("agent %s: %w", a.Name, err)
		}
		o.agents = append(o.agents, a)
	}
	for _, x := range add.Execs {
		if err := o.start(x); err != nil {
			return fmt.Errorf("program of %s: %w", x.Name, err)
		}
	}
	return nil
}

func agent(a plan.Agent, ipv6 bool) probe.Agent {
	p := probe.Agent{Name: a.Name, Node: a.Node, IPv6: ipv6}
	for _, l := range a.Listen {
		p.Listen = append(p.Listen, probe.Socket{Protocol: flow.Protocol(l.Protocol), Port: l.Port})
	}
	if a.Health != (plan.Health{}) {
		p.Health = &probe.Health{Namespace: a.Health.Namespace, Service: a.Health.Service, LocalEndpoints: a.Health.LocalEndpoints}
	}
	return p
}

// start runs a program of the scenario. The thread is already in the namespace.
func (o *occupants) start(x plan.Exec) error {
	cmd := exec.Command(x.Argv[0], x.Argv[1:]...)
	cmd.Env = append(cmd.Environ(), x.Env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return err
	}
	go func() { _ = cmd.Wait() }()
	o.programs[x.Name] = cmd
	o.execs = append(o.execs, x)
	return nil
}

func (o *occupants) stop(name string) {
	if cmd := o.programs[name]; cmd != nil {
		_ = unix.Kill(-cmd.Process.Pid, unix.SIGKILL)
	}
	delete(o.programs, name)
	o.execs = slices.DeleteFunc(slices.Clone(o.execs), func(x plan.Exec) bool { return x.Name == name })
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
	for x := range o.programs {
		o.stop(x)
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
		n.Agents, n.Execs = o.agents, o.execs
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
	clear(in.spaces)
	killAll()
}
