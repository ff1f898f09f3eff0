package userspace

import (
	"context"
	"sync"
)

// mostChecks is how many checks a proxy makes at a time.
const mostChecks = 64

// gate lets checks in, unless it is closed.
type gate struct {
	room chan struct{} // one for each check

	mu  sync.Mutex
	ctx context.Context // of the checks that are in
	end context.CancelFunc
}

func newGate() *gate {
	g := &gate{room: make(chan struct{}, mostChecks)}
	g.ctx, g.end = context.WithCancel(context.Background())
	return g
}

// enter waits until a check may begin; false: the context has ended before.
func (g *gate) enter(ctx context.Context) bool {
	if ctx.Err() != nil {
		return false
	}
	select {
	case g.room <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

func (g *gate) leave() { <-g.room }

// during is the context of a check that has entered: it ends with the given one, and when the gate
// closes.
func (g *gate) during(ctx context.Context) (context.Context, context.CancelFunc) {
	g.mu.Lock()
	inside := g.ctx
	g.mu.Unlock()
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(inside, cancel)
	return ctx, func() { stop(); cancel() }
}

// close breaks off the checks that are in, and keeps others out until the gate is opened.
func (g *gate) close() (open func()) {
	g.mu.Lock()
	g.end()
	g.mu.Unlock()
	for range mostChecks {
		g.room <- struct{}{}
	}
	g.mu.Lock()
	g.ctx, g.end = context.WithCancel(context.Background())
	g.mu.Unlock()
	return sync.OnceFunc(func() {
		for range mostChecks {
			<-g.room
		}
	})
}
