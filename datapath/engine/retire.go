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
// changing nobody knows.
func (e *engine) leaving() []Leaving {
	if !e.mu.TryRLock() {
		return nil
	}
	defer e.mu.RUnlock()
	var list []Leaving
	for _, l := range e.kernel.Leaving() {
		list = append(list, leavingOf(l))
	}
	return list
}

func leavingOf(l kernel.Leaving) Leaving {
	return Leaving{Netns: l.Netns, Virtual: l.Virtual.String(), Proto: l.Proto, Real: l.Real.String(), Active: l.Active, Inactive: l.Inactive}
}
