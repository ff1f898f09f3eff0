package main

import (
	"github.com/spf13/cobra"

	"github.com/netlab/netlab/cmd/netlab/command"
	"github.com/netlab/netlab/cmd/netlab/labs"
	"github.com/netlab/netlab/cmd/netlab/machine"
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
func kernelCommands(u *command.UI) []*cobra.Command {
	commands := map[string]func(*command.UI) *cobra.Command{
		"up": labs.UpCommand, "down": labs.DownCommand, "ps": labs.PSCommand, "inspect": labs.InspectCommand, "exec": labs.ExecCommand, "shell": labs.ShellCommand,
		"status": labs.StatusCommand, "doctor": doctorCommand, "bench": benchCommand, "rules": labs.RulesCommand, "vm": machine.Command,
	}
	var list []*cobra.Command
	for _, v := range kernelVerbs {
		c := commands[v.name](u)
		c.Short = v.short
		list = append(list, c)
	}
	return list
}
