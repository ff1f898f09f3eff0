package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/netlab/netlab/datapath/bench"
	"github.com/netlab/netlab/datapath/engine"
	"github.com/netlab/netlab/datapath/vm"
)

// child is the part of main that plays the other roles of this program.
func child() {
	vm.Main()
	bench.Main()
	engine.Main()
}

// kernelCommands are the commands that need a Linux kernel.
func kernelCommands(u *ui) []*cobra.Command {
	return []*cobra.Command{
		upCommand(u), downCommand(u), psCommand(u), inspectCommand(u), execCommand(u), shellCommand(u),
		statusCommand(u), testCommand(u), doctorCommand(u), benchCommand(u), rulesCommand(u), vmCommand(u),
	}
}

// plan prints a plan, or the difference to the running lab.
func (u *ui) plan(ctx context.Context, o planOptions) error {
	if !o.diff && !o.detailedExit {
		return u.printPlan(o)
	}
	return u.planDiff(ctx, o)
}
