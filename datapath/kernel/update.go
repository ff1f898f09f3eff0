//go:build linux

package kernel

import (
	"context"
	"slices"

	"github.com/netlab/netlab/datapath/plan"
)

// few is the number of namespaces up to which leaving any out is not worth it: reading
// them takes about ten milliseconds.
const few = 50

// Update is Apply for a running lab, and faster where possible: if the plan differs
// from the applied one only inside some namespaces, it reads and changes those, and
// reports that the rest was left out. The caller then calls Apply with the same plan,
// which repairs drift elsewhere.
//
// It falls back to Apply whenever links are added, changed or removed, by plan or by
// drift, since they involve two namespaces each; when the plans do not differ; when the
// rest would be small; and when the previous Apply failed.
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
	if !k.checked || want == k.applied || len(k.spaces) <= k.few {
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

// within reports whether the changes stay inside namespaces.
func within(c plan.Changes) bool {
	return len(c.Create)+len(c.Remove) == 0 && !slices.ContainsFunc(c.Edit, func(e plan.Edit) bool {
		return len(e.Add.Links)+len(e.Change.Links)+len(e.Delete.Links)+len(e.Delete.Deviations) > 0
	})
}

// update reads and changes only the given namespaces. It reports not done, with nothing
// changed, when that cannot be enough.
func (k *Kernel) update(ctx context.Context, want *plan.Plan, only map[string]bool) (changes plan.Changes, done bool, err error) {
	// The Apply that follows releases the rest: closing procfs takes milliseconds.
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
	changes = plan.Diff(have, part.Adopt(have, k.applied))
	if !within(changes) {
		return plan.Changes{}, false, nil
	}
	if err := k.check(ctx, changes); err != nil {
		return plan.Changes{}, false, err
	}
	k.checked = false
	if err := k.run(ctx, changes.Steps()); err != nil {
		return changes, false, err
	}
	k.applied = want
	k.noteRules(only)
	k.settleNeighs(only)
	// What was left out counts as checked as before: only a failed Apply shows
	// otherwise.
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
