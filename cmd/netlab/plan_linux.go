package main

import (
	"context"
	"errors"

	"github.com/netlab/netlab/cmd/netlab/command"
	"github.com/netlab/netlab/datapath/engine"
	"github.com/netlab/netlab/datapath/plan"
)

// planDiff prints the difference of a plan from the running lab.
func (u ui) planDiff(ctx context.Context, o planOptions) error {
	s, p, err := u.Compile(o.path, o.flags)
	if err != nil {
		return planFailed(err, o)
	}
	u.sayRead(s)
	name := o.name
	if name == "" {
		name = s.Name
	}
	p.Lab = name
	have := &plan.Plan{Lab: name}
	lab, err := engine.Connect(name)
	if err == nil {
		have, _, err = lab.Read(ctx)
	}
	if err != nil && !errors.Is(err, engine.ErrNotRunning) {
		return planFailed(command.Broken(err, "remove it: netlab down "+name), o)
	}
	err = nil // a lab that does not run is an empty one
	changes := plan.Diff(have, p)
	if !o.diff {
		o2 := o
		o2.detailedExit = false
		if err := u.printPlan(o2); err != nil {
			return planFailed(err, o)
		}
	} else if lines := changes.Lines(); u.AsJSON {
		err = u.JSON(map[string]any{"lab": name, "changes": append([]string{}, lines...)})
	} else if changes.Empty() {
		u.Print("%s: no change\n", name)
	} else {
		for _, line := range lines {
			u.Print("%s\n", line)
		}
	}
	if err != nil {
		return planFailed(err, o)
	}
	if o.detailedExit && !changes.Empty() {
		return command.Told(2)
	}
	return nil
}

// planFailed gives errors the exit code that --detailed-exitcode promises.
func planFailed(err error, o planOptions) error {
	var e *command.Error
	if o.detailedExit && errors.As(err, &e) {
		copied := *e
		copied.Code = 1
		return &copied
	}
	return err
}
