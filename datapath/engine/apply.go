//go:build linux

package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"github.com/netlab/netlab/datapath/kernel"
	"github.com/netlab/netlab/datapath/plan"
)

// How often, and how long, a command that wants to change a lab looks whether the
// command which makes it has let it go.
const (
	releaseTick     = 5 * time.Millisecond
	releasePatience = 3 * time.Second
)

// applyForAnother applies a plan for a command that did not make the lab. It
// waits for the one that does: until then the lab can vanish with its maker.
func (e *engine) applyForAnother(ctx context.Context, req request) (reply, error) {
	for waited := time.Duration(0); !e.detached.Load(); {
		if waited > releasePatience {
			return reply{}, ErrBusy
		}
		select {
		case <-ctx.Done():
			return reply{}, ctx.Err()
		case <-time.After(releaseTick):
		}
		if !e.changing.Load() {
			waited += releaseTick
		}
	}
	return e.apply(ctx, req)
}

// apply makes the lab equal to a plan, or leaves it as it was.
func (e *engine) apply(ctx context.Context, req request) (reply, error) {
	want, err := plan.Decode(bytes.NewReader(req.Plan))
	if err != nil {
		return reply{}, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.changing.Store(true)
	defer e.changing.Store(false)
	if e.working.Err() != nil {
		return reply{}, errClosed
	}
	first := len(e.kernel.Names()) == 0
	if running := e.meta.Load(); !first && running.File != req.Meta.File {
		return reply{}, &ClashError{File: running.File}
	}
	// Before anything is changed: a full disk must not leave half of an update.
	if e.folder != nil {
		if err := e.folder.write(planFile+".new", req.Plan); err != nil {
			return reply{}, err
		}
	}
	before := e.kernel.Applied()
	changes, err := e.kernel.Apply(ctx, want)
	if err != nil {
		if e.folder != nil {
			e.folder.unlink(planFile + ".new")
		}
		switch {
		case errors.Is(err, unix.EMFILE):
			// Nothing can be tried out now, so the features would all seem missing.
			err = fmt.Errorf("%w (limit of this shell: ulimit -n; a lab needs about 2 per pod)", err)
		case ctx.Err() == nil:
			if lacks := e.require(ctx, plan.Requires(want)); lacks != nil {
				err = lacks
			}
		}
		if !first && e.working.Err() == nil {
			// A lab that ran before stays as it was, also when the user hung up.
			if _, back := e.kernel.Apply(context.Background(), before); back != nil {
				err = errors.Join(err, fmt.Errorf("put the lab back: %w", back))
			}
		}
		return reply{}, err
	}
	e.meta.Store(&req.Meta)
	if e.folder != nil {
		e.folder.rename(planFile+".new", planFile)
	}
	for _, f := range changes.Requires() {
		e.proven[f] = true
	}
	a := Applied{Created: len(changes.Create), Edited: len(changes.Edit), Removed: len(changes.Remove)}
	if !changes.Empty() {
		a.Summary = changes.Summary()
	}
	if req.Lines {
		a.Lines = changes.Lines()
	}
	return reply{Applied: a}, nil
}

// check refuses changes of a lab that runs when the kernel lacks what they need: it
// must not be half-changed. What goes wrong with a new lab leaves nothing behind
// anyhow, so that trying can wait until something does.
func (e *engine) check(ctx context.Context, c plan.Changes) error {
	if len(e.kernel.Names()) == 0 {
		return nil
	}
	return e.require(ctx, c.Requires())
}

// require tries the features that a plan needs and no plan before it has proven.
func (e *engine) require(ctx context.Context, needs []plan.Feature) error {
	var unproven []plan.Feature
	for _, f := range needs {
		if !e.proven[f] {
			unproven = append(unproven, f)
		}
	}
	if missing := kernel.Missing(ctx, unproven); len(missing) > 0 {
		return &UnsupportedError{Missing: missing}
	}
	return nil
}
