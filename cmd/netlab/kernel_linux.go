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

// limits are those of this process, if they are too low for anything.
func limits() error {
	if err := engine.Limits(); err != nil {
		return &command.Error{Err: err, Code: command.ExitUnsupported}
	}
	return nil
}

// kernelCommands makes the commands of kernelVerbs.
func kernelCommands(u ui) []*cobra.Command {
	commands := labs.Commands(u.UI)
	commands["doctor"], commands["bench"], commands["vm"] = doctorCommand(u), benchCommand(u), machine.Command(u.UI)
	var list []*cobra.Command
	for _, v := range kernelVerbs {
		c := commands[v.name]
		if c == nil {
			panic("no command for the verb " + v.name + " of kernel.go: make it in kernel_linux.go or labs/labs_linux.go")
		}
		c.Short = v.short
		list = append(list, c)
	}
	return list
}
