//go:build linux

package kernel

import (
	"sync"

	"golang.org/x/sys/unix"

	"github.com/netlab/netlab/datapath/kernel/routing"
	"github.com/netlab/netlab/datapath/kernel/socket"
	"github.com/netlab/netlab/datapath/plan"
)

// Routes sets routes of a network namespace for a program that learns them. It is safe for
// concurrent use.
type Routes struct {
	mu   sync.Mutex
	here space
}

// OpenRoutes opens those of the network namespace of the calling thread.
func OpenRoutes() (*Routes, error) {
	sock, err := socket.OpenRoute(socket.NewMemory())
	if err != nil {
		return nil, err
	}
	return &Routes{here: space{sock: sock}}, nil
}

// Set adds a route, or puts it in the place of the one to the same destination.
func (r *Routes) Set(x plan.Route) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.here.index = map[string]int{} // a link with that name may be another one by now
	index, err := r.here.indexOf(x.Dev)
	if err != nil {
		return err
	}
	return r.send(unix.RTM_NEWROUTE, unix.NLM_F_CREATE|unix.NLM_F_REPLACE, x, index)
}

// Remove removes a route, unless it is gone already.
func (r *Routes) Remove(x plan.Route) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.send(unix.RTM_DELROUTE, 0, x, 0)
}

func (r *Routes) send(kind, flags int, x plan.Route, index int) error {
	m := routing.RouteMessage(kind, flags, x, index)
	if kind == unix.RTM_DELROUTE {
		m.Excuse = gone
	}
	step := &plan.Step{Verb: plan.Change, Item: &x}
	return r.here.sock.Do(socket.Part(step, m))
}

// Close ends the use of the namespace. The routes stay.
func (r *Routes) Close() { r.here.sock.Close() }
