//go:build linux

package engine

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"time"

	"github.com/netlab/netlab/datapath/engine/inside"
	"github.com/netlab/netlab/datapath/kernel/features"
	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/datapath/plan/feature"
)

// How often, and how long, a command that wants to change a lab checks whether the
// command that created it has detached.
const (
	releaseTick     = 5 * time.Millisecond
	releasePatience = 3 * time.Second
)

// applyForAnother applies a plan for a command that did not create the lab. It waits
// until the creator has detached: until then the lab can end with it.
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

// apply makes the lab equal to a plan, or leaves it as it was. For a large lab it may
// reply before it has checked what the change does not touch: see checkRest.
func (e *engine) apply(ctx context.Context, req request) (reply, error) {
	type answer struct {
		reply
		err error
	}
	answered := make(chan answer, 1)
	// This goroutine holds the lock from before the change until everything is checked.
	// It ends with e.working; dismantle waits for it through the lock.
	go func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		r, rest, err := e.change(ctx, req)
		answered <- answer{r, err}
		if rest {
			e.checkRest()
		}
	}()
	a := <-answered
	return a.reply, a.err
}

// change is apply with the lock held; rest says that namespaces were left out.
func (e *engine) change(ctx context.Context, req request) (r reply, rest bool, err error) {
	e.changing.Store(true)
	defer e.changing.Store(false)
	if e.working.Err() != nil {
		return reply{}, false, errClosed
	}
	first := len(e.kernel.Names()) == 0
	if running := e.meta.Load(); !first && running.File != req.Meta.File {
		return reply{}, false, &ClashError{File: running.File}
	}
	want, digest, err := e.wanted(req.plan)
	if err != nil {
		return reply{}, false, err
	}
	if err := inside.Prepare(ctx, want); err != nil {
		return reply{}, false, err
	}
	// Before anything is changed: a full disk must not leave half of an update.
	if e.folder != nil {
		if err := e.folder.write(planFile+".new", req.plan); err != nil {
			return reply{}, false, err
		}
	}
	before, agents := e.kernel.Applied(), want.HasAgents()
	e.inside.AllowHostPrograms(req.Meta.HostPrograms)
	resume := e.inside.PauseChecks()
	defer resume()
	changes, rest, err := e.kernel.Update(ctx, want)
	if err == nil {
		if agents {
			// They ask for it as soon as they begin.
			e.publish(req.Meta.API, awaitObjects(ctx, req.objects))
		}
		begun := e.inside.Begin(req.Meta.Hosts, e.kernel.Namespace)
		if err = e.inside.AwaitConvergence(ctx, want); err == nil {
			err = begun.AwaitReady(ctx)
		}
		if err == nil && agents && len(begun) > 0 {
			// Agents put their rules first where the plan has others first.
			_, err = e.kernel.Apply(ctx, want)
		}
	}
	resume()
	if err == nil {
		err = e.inside.AwaitChecks(ctx)
	}
	if err != nil {
		return reply{}, false, e.undo(ctx, err, before, want, first)
	}
	inside.ForgetImages(want)
	e.digest = digest
	e.meta.Store(&req.Meta)
	if !agents {
		e.publish(req.Meta.API, awaitObjects(ctx, req.objects))
	}
	e.found.Store(&Check{})
	if e.folder != nil {
		e.folder.rename(planFile+".new", planFile)
	}
	for _, f := range changes.Requires() {
		e.proven[f] = true
	}
	left := e.drainingNow() // for as long as the lab is locked
	e.left.Store(&left)
	r = reply{Applied: report(changes, req.Lines)}
	if req.Lines && e.kernel.StandsIn(changes) {
		r.Applied.Lines = append(r.Applied.Lines, "# "+WireGuardInUserSpace)
	}
	return r, rest, nil
}

// seed is for digests that never leave the process.
var seed = maphash.MakeSeed()

// wanted decodes a plan, unless it is the one that was applied last: in a large lab that
// takes as long as reading the kernel.
func (e *engine) wanted(encoded string) (*plan.Plan, uint64, error) {
	digest := maphash.String(seed, encoded)
	if digest == e.digest {
		return e.kernel.Applied(), digest, nil
	}
	p, err := e.plans.Decode(encoded)
	if err == nil && p.Counts() && !e.accounting() {
		p.Uncount() // as kube-proxy does
	}
	return p, digest, err
}

// WireGuardInUserSpace says so.
const WireGuardInUserSpace = "WireGuard runs in user space, since this kernel has none"

func report(changes plan.Changes, lines bool) Applied {
	var a Applied
	if !changes.Empty() {
		a.Summary = changes.Summary()
	}
	if lines {
		a.Lines = changes.Lines()
	}
	return a
}

// undo restores the lab as it was before a failed change, and returns the error to
// report.
func (e *engine) undo(ctx context.Context, err error, before, want *plan.Plan, first bool) error {
	if e.folder != nil {
		e.folder.unlink(planFile + ".new")
	}
	var program *inside.ProgramError
	var limit *LimitError
	err = limited(err)
	switch {
	case errors.As(err, &program): // no feature of the kernel, but for what an agent does
		if lacks := e.require(ctx, want.AgentsNeed()); lacks != nil && ctx.Err() == nil {
			err = lacks
		}
	case errors.As(err, &limit): // no feature can be probed now: all would seem missing
	case ctx.Err() == nil:
		if lacks := e.require(ctx, plan.Requires(want)); lacks != nil {
			err = lacks
		}
	}
	if !first && e.working.Err() == nil {
		// A lab that was already running stays as it was, even if the user hung up.
		e.inside.AllowHostPrograms(e.meta.Load().HostPrograms)
		if _, back := e.kernel.Apply(context.Background(), before); back != nil {
			err = errors.Join(err, fmt.Errorf("restore the lab: %w", back))
		}
		e.publish(e.meta.Load().API, nil)
		// Interrupted, the user does not wait for what ran before.
		if again := e.inside.Begin(e.meta.Load().Hosts, e.kernel.Namespace); ctx.Err() == nil {
			err = errors.Join(err, e.inside.AwaitConvergence(ctx, before), again.AwaitReady(ctx), e.inside.AwaitChecks(ctx))
		}
	}
	return err
}

// check refuses changes to a running lab if the kernel lacks what they need: it must
// not be half-changed. A new lab leaves nothing behind on failure, so probing can wait
// until something fails.
func (e *engine) check(ctx context.Context, c plan.Changes) error {
	if len(e.kernel.Names()) == 0 {
		return nil
	}
	return e.require(ctx, c.Requires())
}

// require probes the features that a plan needs and that no earlier plan has proven.
func (e *engine) require(ctx context.Context, needs []feature.Feature) error {
	var unproven []feature.Feature
	for _, f := range needs {
		if !e.proven[f] {
			unproven = append(unproven, f)
		}
	}
	missing := features.Missing(ctx, unproven)
	for _, why := range missing {
		if limit := new(LimitError); errors.As(limited(why), &limit) {
			return limit
		}
	}
	if len(missing) > 0 {
		return &UnsupportedError{Missing: missing}
	}
	return nil
}
