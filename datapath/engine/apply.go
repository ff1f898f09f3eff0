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

// apply makes the lab equal to a plan, or leaves it as it was. Of a large lab it may
// answer before it has looked at what the change does not touch: see checkRest.
func (e *engine) apply(ctx context.Context, req request) (reply, error) {
	want, err := plan.Decode(bytes.NewReader(req.Plan))
	if err != nil {
		return reply{}, err
	}
	e.mu.Lock()
	r, rest, err := e.change(ctx, req, want)
	if rest {
		go e.checkRest()
	} else {
		e.mu.Unlock()
	}
	return r, err
}

// change is apply with the lock held; rest says that namespaces were left out.
func (e *engine) change(ctx context.Context, req request, want *plan.Plan) (r reply, rest bool, err error) {
	e.changing.Store(true)
	defer e.changing.Store(false)
	if e.working.Err() != nil {
		return reply{}, false, errClosed
	}
	first := len(e.kernel.Names()) == 0
	if running := e.meta.Load(); !first && running.File != req.Meta.File {
		return reply{}, false, &ClashError{File: running.File}
	}
	// Before anything is changed: a full disk must not leave half of an update.
	if e.folder != nil {
		if err := e.folder.write(planFile+".new", req.Plan); err != nil {
			return reply{}, false, err
		}
	}
	before := e.kernel.Applied()
	changes, rest, err := e.kernel.Update(ctx, want)
	if err != nil {
		return reply{}, false, e.undo(ctx, err, before, want, first)
	}
	e.meta.Store(&req.Meta)
	e.found.Store(&Check{})
	if e.folder != nil {
		e.folder.rename(planFile+".new", planFile)
	}
	for _, f := range changes.Requires() {
		e.proven[f] = true
	}
	e.noteLeaving()
	return reply{Applied: report(changes, req.Lines)}, rest, nil
}

func report(changes plan.Changes, lines bool) Applied {
	a := Applied{Created: len(changes.Create), Edited: len(changes.Edit), Removed: len(changes.Remove)}
	if !changes.Empty() {
		a.Summary = changes.Summary()
	}
	if lines {
		a.Lines = changes.Lines()
	}
	return a
}

// undo puts the lab back that was there before a change failed, and returns what to
// tell of the failure.
func (e *engine) undo(ctx context.Context, err error, before, want *plan.Plan, first bool) error {
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
	return err
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
