//go:build linux

package kernel

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/moby/ipvs"
	"golang.org/x/sys/unix"

	"github.com/netlab/netlab/datapath/netns"
	"github.com/netlab/netlab/datapath/plan"
)

// A TCP real server that leaves the plan is not deleted while it has connections,
// since the kernel forgets those with it: its weight becomes 0, so that it gets no new
// ones, and Reap deletes it when the last is over. Datagrams have no end to wait for:
// real servers of UDP and SCTP go at once. One that comes back gets its weight back.
// (kubernetes pkg/proxy/ipvs/graceful_termination.go)

// departure names a real server that waits for its last connection.
type departure struct {
	virtual netip.AddrPort
	proto   string
	real    netip.AddrPort
}

// departures are those of one namespace, with what was last seen of them.
type departures map[departure]connections

type connections struct{ active, inactive int }

// Leaving is a real server of weight 0 that is deleted when it has no connections
// left.
type Leaving struct {
	Netns   string
	Virtual netip.AddrPort
	Proto   string
	Real    netip.AddrPort
	// Active and Inactive are its connections when it was last looked at; inactive ones
	// are closing.
	Active, Inactive int
}

// Leaving lists the real servers that wait for their last connection, sorted.
func (k *Kernel) Leaving() []Leaving {
	var list []Leaving
	for name, s := range k.spaces {
		for at, seen := range s.leaving {
			list = append(list, Leaving{name, at.virtual, at.proto, at.real, seen.active, seen.inactive})
		}
	}
	slices.SortFunc(list, func(a, b Leaving) int {
		if c := strings.Compare(a.Netns, b.Netns); c != 0 {
			return c
		}
		if c := a.Virtual.Compare(b.Virtual); c != 0 {
			return c
		}
		return a.Real.Compare(b.Real)
	})
	return list
}

// Reap deletes the leaving real servers whose last connection is over, and returns how
// many those were. kube-proxy does it every minute.
func (k *Kernel) Reap(ctx context.Context) (deleted int, err error) {
	err = k.thread.Run(func(h netns.Here) error {
		for _, name := range k.Names() {
			s := k.spaces[name]
			if len(s.leaving) == 0 {
				continue
			}
			if err := ctx.Err(); err != nil {
				return err
			}
			if err := h.Enter(s.ns); err != nil {
				return err
			}
			n, err := s.reap()
			deleted += n
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
		return nil
	})
	return deleted, err
}

// reap is Reap for the calling thread's namespace.
func (s *space) reap() (deleted int, err error) {
	d, err := openDirector()
	if err != nil {
		return 0, err
	}
	defer d.close()
	for at := range s.leaving {
		gone, err := s.leave(d, at)
		if err != nil {
			return deleted, err
		}
		if gone {
			deleted++
		}
	}
	return deleted, nil
}

// leave deletes a real server if it has no connections, and reports whether it is gone.
func (s *space) leave(d *director, at departure) (gone bool, err error) {
	service, err := serviceOf(&plan.VirtualServer{Addr: at.virtual, Proto: at.proto, Scheduler: "rr"}) // found by its address
	if err != nil {
		return false, err
	}
	reals, err := d.destinations(service)
	if err != nil && !errors.Is(err, unix.ESRCH) {
		return false, err
	}
	i := slices.IndexFunc(reals, func(r *ipvs.Destination) bool { return realAddr(r) == at.real })
	if i < 0 {
		delete(s.leaving, at)
		return true, nil
	}
	r := reals[i]
	if at.proto == "tcp" && r.ActiveConnections+r.InactiveConnections > 0 {
		if r.Weight != 0 {
			r.Weight = 0
			if err := d.ask("-e", service, r, func() error { return d.handle.UpdateDestination(service, r) }); err != nil {
				return false, err
			}
		}
		if s.leaving == nil {
			s.leaving = departures{}
		}
		s.leaving[at] = connections{r.ActiveConnections, r.InactiveConnections}
		return false, nil
	}
	err = d.ask("-d", service, r, func() error { return d.handle.DelDestination(service, r) })
	if err != nil && !errors.Is(err, unix.ENOENT) {
		return false, err
	}
	delete(s.leaving, at)
	return true, nil
}

// editVirtual changes the virtual servers of the calling thread's namespace.
func (s *space) editVirtual(e *plan.Edit, memory *scratch) error {
	if err := addVirtual(e.Add.Virtual, memory); err != nil || len(e.Virtual)+len(e.Delete.Virtual) == 0 {
		return err
	}
	d, err := openDirector()
	if err != nil {
		return err
	}
	defer d.close()
	for i := range e.Virtual {
		if err := s.editOne(d, &e.Virtual[i]); err != nil {
			return err
		}
	}
	for i := range e.Delete.Virtual {
		v := &e.Delete.Virtual[i]
		for at := range s.leaving {
			if at.virtual == v.Addr && at.proto == v.Proto {
				delete(s.leaving, at)
			}
		}
	}
	return d.remove(e.Delete.Virtual)
}

func (s *space) editOne(d *director, e *plan.VirtualEdit) error {
	v := &e.Server
	service, err := serviceOf(v)
	if err != nil {
		return err
	}
	if e.Renew {
		if err := d.ask("-E", service, nil, func() error { return d.handle.UpdateService(service) }); err != nil {
			return fmt.Errorf("%w%s", err, schedulerHint(err, v.Scheduler))
		}
	}
	for i := range e.Add {
		real := destinationOf(&e.Add[i])
		err := d.ask("-a", service, real, func() error { return d.handle.NewDestination(service, real) })
		if errors.Is(err, unix.EEXIST) { // it was leaving, and comes back
			err = d.ask("-e", service, real, func() error { return d.handle.UpdateDestination(service, real) })
		}
		if err != nil {
			return err
		}
		delete(s.leaving, departure{v.Addr, v.Proto, e.Add[i].Addr})
	}
	for i := range e.Change {
		real := destinationOf(&e.Change[i])
		if err := d.ask("-e", service, real, func() error { return d.handle.UpdateDestination(service, real) }); err != nil {
			return err
		}
	}
	for i := range e.Delete {
		if _, err := s.leave(d, departure{v.Addr, v.Proto, e.Delete[i].Addr}); err != nil {
			return err
		}
	}
	return nil
}
