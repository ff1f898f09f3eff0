package labs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/netlab/netlab/cmd/netlab/command"
	"github.com/netlab/netlab/datapath/engine"
	"github.com/netlab/netlab/scenarios/language/source"
)

// Commands are the verbs of this package, by name.
func Commands(shared *command.UI) map[string]*cobra.Command {
	u := ui{shared}
	return map[string]*cobra.Command{
		"up": upCommand(u), "down": downCommand(u), "ps": psCommand(u), "inspect": inspectCommand(u),
		"exec": execCommand(u), "shell": shellCommand(u), "status": statusCommand(u), "rules": rulesCommand(u), "logs": logsCommand(u),
		"kubectl": kubectlCommand(u), "api": apiCommand(u),
	}
}

// Running lists the labs that run.
func Running() ([]string, error) {
	running, err := engine.List()
	if err != nil {
		return nil, command.Broken(err, "make sure that you may read "+engine.StateDir())
	}
	return running, nil
}

// Name turns the name of a lab or its scenario file into the name of the lab. The
// file need not exist any more.
func Name(arg string) string {
	running, _ := engine.List()
	if slices.Contains(running, arg) {
		return arg
	}
	if info, err := os.Stat(arg); err == nil && info.IsDir() {
		if found, err := source.FindIn(arg); err == nil && len(found) == 1 {
			arg = found[0]
		}
		arg = source.Absolute(arg)
	}
	return source.ScenarioName(arg)
}

// TheLab is the name of the lab that the arguments mean: the one named, else the
// one whose scenario is in this folder, else the only one that runs; "" if none runs.
func TheLab(args []string) (string, error) {
	if len(args) > 0 && args[0] != "" {
		return Name(args[0]), nil
	}
	running, err := Running()
	if err != nil {
		return "", err
	}
	if len(running) <= 1 {
		return strings.Join(running, ""), nil
	}
	if found, err := source.FindIn("."); err == nil {
		here := slices.DeleteFunc(slices.Clone(running), func(name string) bool {
			return !slices.ContainsFunc(found, func(f string) bool { return Name(f) == name })
		})
		if len(here) == 1 {
			return here[0], nil
		}
	}
	return "", command.Usage(fmt.Errorf("several labs are running: %s", strings.Join(running, ", ")), "name one of them")
}

// Connect finds a running lab.
func Connect(ctx context.Context, args []string) (*engine.Client, engine.Info, error) {
	name, err := TheLab(args)
	if err != nil {
		return nil, engine.Info{}, err
	}
	if name == "" {
		return nil, engine.Info{}, command.Usage(errors.New("no lab is running"), "start one: netlab up FILE")
	}
	lab, err := engine.Connect(name)
	if errors.Is(err, engine.ErrNotRunning) {
		return nil, engine.Info{}, command.Usage(fmt.Errorf("no lab named %s is running", name), "see: netlab ps")
	}
	var info engine.Info
	if err == nil {
		info, err = lab.Info(ctx)
	}
	if err != nil {
		return nil, engine.Info{}, command.Broken(err, "remove it: netlab down "+name)
	}
	return lab, info, nil
}

// ui is what the commands of this package print to.
type ui struct{ *command.UI }
