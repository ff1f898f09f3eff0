//go:build linux

package engine

import (
	"context"
	"time"
)

// reapInterval is how often the engine checks whether draining real servers have lost
// their last connection, as kube-proxy does (rsCheckDeleteInterval in kubernetes
// pkg/proxy/ipvs/graceful_termination.go).
const reapInterval = time.Minute

// drain deletes draining real servers that have no connections left, until ctx ends.
// What it cannot do now it tries again next time: meanwhile they get no new
// connections.
func (e *engine) drain(ctx context.Context) {
	tick := time.NewTicker(e.reapEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		e.mu.Lock()
		if e.working.Err() == nil && len(e.kernel.Draining()) > 0 {
			_, _ = e.kernel.Reap(ctx)
		}
		e.mu.Unlock()
	}
}

// draining lists the draining real servers. While the lab is changing they are unknown;
// during the check after a change, they are as they were.
func (e *engine) draining() []Draining {
	if !e.mu.TryRLock() {
		if left := e.left.Load(); left != nil && !e.changing.Load() {
			return *left
		}
		return nil
	}
	defer e.mu.RUnlock()
	return e.drainingNow()
}

func (e *engine) drainingNow() []Draining {
	var list []Draining
	for _, l := range e.kernel.Draining() {
		list = append(list, Draining{Netns: l.Netns, Virtual: l.Virtual.String(), Proto: l.Proto, Real: l.Real.String(), Active: l.Active, Inactive: l.Inactive})
	}
	return list
}
