//go:build linux

package virtual

import (
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"

	moby "github.com/moby/ipvs"
	"golang.org/x/sys/unix"

	"github.com/netlab/netlab/datapath/kernel/socket"
	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/datapath/plan/ipvs"
)

// A TCP real server removed from the plan is not deleted while it has connections,
// since they would be lost with it: its weight becomes 0, so that it gets no new ones,
// and Reap deletes it when the last has ended. UDP and SCTP have no end to wait for:
// their real servers are deleted immediately. One that is added again gets its weight
// back. (kubernetes pkg/proxy/ipvs/graceful_termination.go)

// drainKey identifies a draining real server.
type drainKey struct {
	Virtual netip.AddrPort
	Proto   string
	Real    netip.AddrPort
}

// connections are those of a real server at the last check; inactive ones are closing.
type connections struct{ Active, Inactive int }

// Draining is a real server of weight 0 that is deleted once it has no connections
// left.
type Draining struct {
	drainKey
	connections
}

// Drains are the draining real servers of one namespace.
type Drains struct{ all map[drainKey]connections }

// Any reports whether there are any.
func (s *Drains) Any() bool { return len(s.all) > 0 }

// All lists them.
func (s *Drains) All() []Draining {
	var list []Draining
	for at, seen := range s.all {
		list = append(list, Draining{at, seen})
	}
	return list
}

// Reap deletes those of the calling thread's namespace whose last connection has ended,
// and returns their number.
func (s *Drains) Reap() (deleted int, err error) {
	d, err := openDirector()
	if err != nil {
		return 0, err
	}
	defer d.Close()
	for at := range s.all {
		gone, err := s.finish(d, at)
		if err != nil {
			return deleted, err
		}
		if gone {
			deleted++
		}
	}
	return deleted, nil
}

// finish deletes a real server if it has no connections, and reports whether it is
// gone.
func (s *Drains) finish(d *director, at drainKey) (gone bool, err error) {
	server := &ipvs.Server{Addr: at.Virtual, Proto: at.Proto, Scheduler: "rr"} // found by its address
	service, err := serviceOf(server)
	if err != nil {
		return false, err
	}
	reals, err := d.destinations(service)
	if err != nil && !errors.Is(err, unix.ESRCH) {
		return false, err
	}
	i := slices.IndexFunc(reals, func(r *moby.Destination) bool { return realAddr(r) == at.Real })
	if i < 0 {
		delete(s.all, at)
		return true, nil
	}
	r := reals[i]
	if at.Proto == "tcp" && r.ActiveConnections+r.InactiveConnections > 0 {
		if r.Weight != 0 {
			r.Weight = 0
			c := ipvs.Command{Verb: "-e", Server: server, Real: &ipvs.Real{Addr: at.Real}}
			if err := d.ask(c.String(), func() error { return d.handle.UpdateDestination(service, r) }); err != nil {
				return false, err
			}
		}
		if s.all == nil {
			s.all = map[drainKey]connections{}
		}
		s.all[at] = connections{r.ActiveConnections, r.InactiveConnections}
		return false, nil
	}
	c := ipvs.Command{Verb: "-d", Server: server, Real: &ipvs.Real{Addr: at.Real}}
	err = d.ask(c.String(), func() error { return d.handle.DelDestination(service, r) })
	if err != nil && !errors.Is(err, unix.ENOENT) {
		return false, err
	}
	delete(s.all, at)
	return true, nil
}

// Run carries out commands in the calling thread's namespace. New virtual servers are
// created in batches, later changes are made one by one.
func (s *Drains) Run(list plan.VirtualCommands, memory *socket.Memory) error {
	n := 0
	for n < len(list) && (list[n].Verb == "-A" || n > 0 && list[n].Verb == "-a" && list[n].Server == list[n-1].Server) {
		n++
	}
	if n > 0 {
		if err := create(list[:n], memory); err != nil {
			return err
		}
	}
	if n == len(list) {
		return nil
	}
	d, err := openDirector()
	if err != nil {
		return err
	}
	defer d.Close()
	for i := range list[n:] {
		if err := s.change(d, &list[n+i]); err != nil {
			return err
		}
	}
	return nil
}

func (s *Drains) change(d *director, c *ipvs.Command) error {
	v := c.Server
	service, err := serviceOf(v)
	if err != nil {
		return err
	}
	switch c.Verb {
	case "-A":
		return d.ask(c.String(), func() error { return d.handle.NewService(service) })
	case "-E":
		if err := d.ask(c.String(), func() error { return d.handle.UpdateService(service) }); err != nil {
			return fmt.Errorf("%w%s", err, schedulerHint(err, v.Scheduler))
		}
		return nil
	case "-D": // immediately, with the connections of its real servers
		maps.DeleteFunc(s.all, func(at drainKey, _ connections) bool { return at.Virtual == v.Addr && at.Proto == v.Proto })
		err := d.ask(c.String(), func() error { return d.handle.DelService(service) })
		if errors.Is(err, unix.ESRCH) {
			return nil
		}
		return err
	}
	real := destinationOf(c.Real)
	at := drainKey{v.Addr, v.Proto, c.Real.Addr}
	switch c.Verb {
	case "-a":
		err := d.ask(c.String(), func() error { return d.handle.NewDestination(service, real) })
		if errors.Is(err, unix.EEXIST) { // it was draining, and is added again
			err = d.ask(c.String(), func() error { return d.handle.UpdateDestination(service, real) })
		}
		if err != nil {
			return err
		}
		delete(s.all, at)
		return nil
	case "-e":
		return d.ask(c.String(), func() error { return d.handle.UpdateDestination(service, real) })
	case "-d":
		_, err := s.finish(d, at)
		return err
	}
	return fmt.Errorf("unknown command %s", c)
}
