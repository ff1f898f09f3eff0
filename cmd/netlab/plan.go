package main

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/netlab/netlab/cmd/netlab/command"
	"github.com/netlab/netlab/datapath/plan/shell"
	"github.com/netlab/netlab/scenarios/expect/state"
	"github.com/netlab/netlab/scenarios/language"
)

func planCommand(u ui) *cobra.Command {
	var flags command.ScenarioFlags
	var o planOptions
	c := &cobra.Command{
		Use:   "plan [FILE]",
		Short: "Print what up would do",
		Long: `Print what up would do, as commands of ip and sysctl and input of iptables-restore. Needs
no privileges and no kernel. The same file gives the same bytes on every machine. A lab of
several subnets begins with a drawing of them.

` + command.Folders,
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			path, err := command.TheScenario(args)
			if err != nil {
				return err
			}
			o.path, o.flags = path, flags
			if o.diff || o.detailedExit {
				return u.planDiff(c.Context(), o)
			}
			return u.printPlan(o)
		},
	}
	flags.Register(c)
	flags.RegisterFault(c)
	o.register(c)
	u.JSONFlag(c, "the plan")
	return c
}

type planOptions struct {
	path         string
	flags        command.ScenarioFlags
	name         string
	diff         bool
	digest       bool
	detailedExit bool
}

func (o *planOptions) register(c *cobra.Command) {
	c.Flags().BoolVar(&o.diff, "diff", false, "print the difference from the running lab")
	c.Flags().BoolVar(&o.digest, "digest", false, "print a hash of the plan")
	c.Flags().BoolVar(&o.detailedExit, "detailed-exitcode", false, "exit 0 without changes, 1 on errors, 2 with changes")
	c.Flags().StringVar(&o.name, "name", "", "name of the lab, if it is not the scenario's")
}

func (u ui) printPlan(o planOptions) error {
	s, p, err := u.Compile(o.path, o.flags)
	if err != nil {
		return err
	}
	u.sayRead(s)
	switch {
	case o.digest:
		u.Print("%s\n", p.Digest())
	case u.AsJSON:
		data, err := json.MarshalIndent(p, "", "  ")
		if err != nil {
			return err
		}
		u.Print("%s\n", data)
	default:
		if subnets := command.Underlay(s.Lab); subnets != nil {
			for line := range strings.Lines(command.Draw(subnets)) {
				u.Print("# %s", line)
			}
			u.Print("\n")
		}
		if _, err = u.Text().Write(p.Text()); err == nil {
			u.printCommands(s)
		}
	}
	return err
}

// printCommands lists what expectations run when they are tested.
func (u ui) printCommands(s *language.Scenario) {
	first := true
	for _, e := range s.Expects {
		for _, c := range e.State {
			r, ok := c.(*state.Run)
			if !ok {
				continue
			}
			if first {
				u.Print("\n# netlab test also runs these programs, confined:\n")
				first = false
			}
			u.Print("# in %s: %s  # %s:%d\n", r.Netns, shell.Words(r.Command), r.Origin.File, r.Origin.Line)
		}
	}
}

// sayRead lists the files that were read for a scenario, with -v.
func (u ui) sayRead(s *language.Scenario) {
	if !u.Verbose {
		return
	}
	files := slices.Clone(s.Reads)
	for file := range s.Sources {
		files = append(files, s.Path(file))
	}
	slices.Sort(files)
	for _, file := range slices.Compact(files) {
		u.Say("read %s", file)
	}
}
