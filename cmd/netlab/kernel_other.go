//go:build !linux

package main

import (
	"context"
	"errors"
	"runtime"

	"github.com/spf13/cobra"
)

func child() {}

// elsewhere explains that these commands need a Linux kernel.
var elsewhere = &exitError{
	err:  errors.New("this command needs a Linux kernel, but this is " + runtime.GOOS),
	code: exitUnsupported,
	hint: "use a Linux machine: vagrant up && vagrant ssh -c 'netlab test scenarios/', or limactl start .ci/lima.yaml; see the README",
}

func kernelCommands(*ui) []*cobra.Command {
	var list []*cobra.Command
	for _, v := range kernelVerbs {
		list = append(list, &cobra.Command{
			Use: v.name, Short: v.short + " (needs Linux)", DisableFlagParsing: true,
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
