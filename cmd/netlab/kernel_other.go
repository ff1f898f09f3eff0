//go:build !linux

package main

import (
	"context"
	"errors"
	"runtime"

	"github.com/spf13/cobra"
)

func child() {}

// elsewhere says why the commands that need a Linux kernel do nothing here.
var elsewhere = &exitError{
	err:  errors.New("this command needs a Linux kernel, and this is " + runtime.GOOS),
	code: exitUnsupported,
	hint: "in a Linux machine: vagrant up && vagrant ssh -c 'netlab test scenarios/', or limactl start .ci/lima.yaml; see the README",
}

func kernelCommands(*ui) []*cobra.Command {
	var list []*cobra.Command
	for use, short := range map[string]string{
		"up": "Make the running lab equal to a scenario", "down": "Remove a lab", "ps": "List the labs",
		"inspect": "Show everything in a lab", "exec": "Run a command in a node, pod or client",
		"shell": "Open a shell in a node, pod or client", "status": "Say what has drifted from the plan",
		"test": "Prove every expectation", "bench": "Measure netlab beside the floor",
		"rules": "Show the programmed rules", "doctor": "Say what this kernel can do",
		"vm": "Do the same in a small virtual machine with a full kernel",
	} {
		list = append(list, &cobra.Command{
			Use: use, Short: short + " (needs Linux)", DisableFlagParsing: true,
			RunE: func(*cobra.Command, []string) error { return elsewhere },
		})
	}
	return list
}

func (u *ui) plan(_ context.Context, o planOptions) error {
	if o.diff || o.detailedExit {
		return elsewhere
	}
	return u.printPlan(o)
}
