//go:build linux

package kernel

import (
	"context"

	"github.com/netlab/netlab/datapath/plan"
)

// few is how many namespaces it is not worth leaving out: to read them takes about ten
// milliseconds.
const few = 50

// Update is Apply for a lab that runs, and sooner when it can be: where the plan differs
// from the applied one inside of some namespaces only, it reads and changes those, and
// returns that the rest was left out. Whoever calls it then calls Apply with the same
// plan: what drifted elsewhere is put right there.
//
// It is Apply whenever links come, change or go, on paper or since something has drifted,
// since they concern two namespaces each; when nothing differs on paper; when the rest
// would be small; and when the Apply before it failed.
func (k *Kernel) Update(ctx context.Context, want *plan.Plan) (changes plan.Changes, rest bool, err error) {
	only := k.differing(want)
	if only == nil {
		changes, err = k.Apply(ctx, want)
		return changes, false, err
	}
	changes, done, err := k.update(ctx, want, only)
	if err != nil || done {
		return changes, done, err
	}
	changes, err = k.Apply(ctx, want)
	return changes, false, err
}

// differing names the namespaces in which the plan differs from the applied one; nil
// when all have to be read.
func (k *Kernel) differing(want *plan.Plan) map[string]bool {
	if !k.checked {
		return nil
	}
	paper := plan.Diff(k.applied, want)
	if paper.Empty() || !within(paper) || len(k.spaces)-len(paper.Edit) < k.few {
		return nil
	}
	only := make(map[string]bool, len(paper.Edit))
	for i := range paper.Edit {
		only[paper.Edit[i].Netns] = true
	}
	return only
}

// within reports whether the changes stay inside of namespaces.
func within(c plan.Changes) bool {
	for i := range c.Edit {
		e := &c.Edit[i]
		if len(e.Add.Links)+len(e.Change.Links)+len(e.Delete.Links) > 0 {
			return false
		}
	}
	return len(c.Create)+len(c.Remove) == 0
}

// update reads and changes the given namespaces alone. It is not done, and has changed
// nothing, when that cannot be enough.
func (k *Kernel) update(ctx context.Context, want *plan.Plan, only map[string]bool) (changes plan.Changes, done bool, err error) {
	// The Apply that follows settles the rest: to close procfs takes the kernel
	// milliseconds.
	defer k.hangUp()
	have, err := k.read(ctx, want, scope{trust: true, only: only})
	if err != nil {
		return changes, false, err
	}
	part := &plan.Plan{Lab: want.Lab}
	for i := range want.Netns {
		if only[want.Netns[i].Name] {
			part.Netns = append(part.Netns, want.Netns[i])
		}
	}
	changes = plan.Diff(have, part)
	if !within(changes) {
		return plan.Changes{}, false, nil
	}
	if err := k.check(ctx, changes); err != nil {
		return plan.Changes{}, false, err
	}
	k.checked = false
	if err := k.change(ctx, changes, want); err != nil {
		return changes, false, err
	}
	k.applied = want
	k.noteRules(only)
	// What was left out is as good as it was: only an Apply that fails shows otherwise.
	k.checked = true
	return changes, true, nil
}

// check asks the owner whether it refuses the changes.
func (k *Kernel) check(ctx context.Context, changes plan.Changes) error {
	if k.hooks.Check == nil || changes.Empty() {
		return nil
	}
	return k.hooks.Check(ctx, changes)
}
