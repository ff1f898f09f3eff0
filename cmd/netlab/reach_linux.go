package main

import (
	"context"
	"slices"

	"github.com/netlab/netlab/cmd/netlab/command"
	"github.com/netlab/netlab/cmd/netlab/labs"
)

// reachable resolves the argument: a running lab, which can be dialed and has its
// scenario and its variables, else a scenario, which can only be followed on paper.
func (u ui) reachable(ctx context.Context, args []string, flags *command.ScenarioFlags) (path string, lab runningLab, err error) {
	running, err := labs.Running()
	if err != nil {
		return "", nil, err
	}
	name := ""
	if len(args) > 0 {
		name = labs.Name(args[0])
	} else if name, err = labs.TheLab(nil); err != nil {
		return "", nil, err
	}
	if !slices.Contains(running, name) {
		path, err = command.TheScenario(args)
		return path, nil, err
	}
	client, info, err := labs.Connect(ctx, []string{name})
	if err != nil {
		return "", nil, err
	}
	flags.Default(info.Vars, info.VarFiles, info.AllowPaths, info.Fault, info.Nodes)
	return info.File, client, nil
}
