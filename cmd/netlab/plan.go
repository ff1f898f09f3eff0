package main

import (
	"encoding/json"

	"github.com/spf13/cobra"
)

func planCommand(u *ui) *cobra.Command {
	var flags scenarioFlags
	var o planOptions
	c := &cobra.Command{
		Use:   "plan [FILE]",
		Short: "Print what up would do",
		Long: `Print what up would do, as commands of ip and sysctl and input of iptables-restore. Needs
no privileges and no kernel. The same file gives the same bytes on every machine.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			path, err := theScenario(args)
			if err != nil {
				return err
			}
			o.path, o.flags = path, flags
			return u.plan(c.Context(), o)
		},
	}
	flags.register(c)
	o.register(c)
	return c
}

type planOptions struct {
	path         string
	flags        scenarioFlags
	name         string
	diff         bool
	digest       bool
	json         bool
	detailedExit bool
}

func (o *planOptions) register(c *cobra.Command) {
	c.Flags().BoolVar(&o.diff, "diff", false, "print the difference from the running lab")
	c.Flags().BoolVar(&o.digest, "digest", false, "print a hash of the plan")
	c.Flags().BoolVar(&o.json, "json", false, "print JSON")
	c.Flags().BoolVar(&o.detailedExit, "detailed-exitcode", false, "exit 0 without changes, 1 on errors, 2 with changes")
	c.Flags().StringVar(&o.name, "name", "", "name of the lab, if it is not the scenario's")
}

func (u *ui) printPlan(o planOptions) error {
	_, p, err := u.compile(o.path, o.flags)
	if err != nil {
		return err
	}
	switch {
	case o.digest:
		u.print("%s\n", p.Digest())
	case o.json:
		data, err := json.MarshalIndent(p, "", "  ")
		if err != nil {
			return err
		}
		u.print("%s\n", data)
	default:
		_, err = u.out.Write(p.Text())
	}
	return err
}
