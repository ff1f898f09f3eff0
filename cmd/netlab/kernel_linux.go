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

// kernelCommands makes the commands of kernelVerbs.
func kernelCommands(u *ui) []*cobra.Command {
	commands := map[string]func(*ui) *cobra.Command{
		"up": upCommand, "down": downCommand, "ps": psCommand, "inspect": inspectCommand, "exec": execCommand, "shell": shellCommand,
		"status": statusCommand, "doctor": doctorCommand, "bench": benchCommand, "rules": rulesCommand, "vm": vmCommand,
	}
	var list []*cobra.Command
	for _, v := range kernelVerbs {
		c := commands[v.name](u)
		c.Short = v.short
		list = append(list, c)
	}
	return list
}

// plan prints a plan, or its difference from the running lab.
func (u *ui) plan(ctx context.Context, o planOptions) error {
	if !o.diff && !o.detailedExit {
		return u.printPlan(o)
	}
	return u.planDiff(ctx, o)
}
