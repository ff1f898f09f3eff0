//go:build !linux

package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/netlab/netlab/cmd/netlab/command"
)

func child() {}

func limits() error { return nil }

func kernelCommands(ui) []*cobra.Command {
	var list []*cobra.Command
	for _, v := range kernelVerbs {
		list = append(list, &cobra.Command{
			Use: v.name, Short: v.short + " (needs Linux)", DisableFlagParsing: true,
			RunE: func(*cobra.Command, []string) error { return command.Elsewhere },
		})
	}
	return list
}

func (u ui) planDiff(context.Context, planOptions) error { return command.Elsewhere }

// reachable finds the scenario: where there is no Linux kernel, no lab runs.
func (u ui) reachable(_ context.Context, args []string, _ *command.ScenarioFlags) (path string, lab runningLab, err error) {
	path, err = command.TheScenario(args)
	return path, nil, err
}
