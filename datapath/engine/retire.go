//go:build linux

package engine

import (
	"context"
	"time"

	"github.com/netlab/netlab/datapath/kernel"
)

// reapInterval is how often the engine looks whether real servers that left the plan
// have lost their last connection, as kube-proxy does
// (rsCheckDeleteInterval in kubernetes pkg/proxy/ipvs/graceful_termination.go).
const reapInterval = time.Minute

// retire deletes real servers that have no connections left, until ctx ends. What it
// cannot do now it tries again next time: meanwhile they get no new connections.
func (e *engine) retire(ctx context.Context) {
	tick := time.NewTicker(e.reapEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		e.mu.Lock()
		if e.working.Err() == nil && len(e.kernel.Leaving()) > 0 {
			_, _ = e.kernel.Reap(ctx)
		}
		e.mu.Unlock()
	}
}

// leaving lists the real servers that wait for their last connection. While the lab is
// changing nobody knows; while it is looked at behind a change, they are as they were.
func (e *engine) leaving() []Leaving {
	if !e.mu.TryRLock() {
		if left := e.left.Load(); left != nil && !e.changing.Load() {
			return *left
		}
		return nil
	}
	defer e.mu.RUnlock()
	return e.leavingNow()
}

// noteLeaving remembers them for as long as the lab is locked.
func (e *engine) noteLeaving() {
	list := e.leavingNow()
	e.left.Store(&list)
}

func (e *engine) leavingNow() []Leaving {
	var list []Leaving
	for _, l := range e.kernel.Leaving() {
		list = append(list, leavingOf(l))
	}
	return list
}

func leavingOf(l kernel.Leaving) Leaving {
	return Leaving{Netns: l.Netns, Virtual: l.Virtual.String(), Proto: l.Proto, Real: l.Real.String(), Active: l.Active, Inactive: l.Inactive}
}
