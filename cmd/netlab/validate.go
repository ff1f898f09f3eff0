package main

import (
	"github.com/spf13/cobra"

	"github.com/netlab/netlab/cmd/netlab/command"
	"github.com/netlab/netlab/scenarios/language/source"
)

func validateCommand(u ui) *cobra.Command {
	var flags command.ScenarioFlags
	c := &cobra.Command{
		Use:   "validate [FILE…]",
		Short: "Check scenarios; needs no privileges and no kernel",
		Long: `Check scenarios, and report all their mistakes in one run. Takes files, folders (default:
this one) and globs; - is standard input. Exits 2 when one is invalid. Needs no privileges
and no kernel.

` + command.Folders,
		RunE: func(_ *cobra.Command, args []string) error {
			paths, err := u.Find(command.OrHere(args))
			if err != nil {
				return err
			}
			if u.AsJSON {
				return u.validateJSON(paths, flags)
			}
			return u.validate(paths, flags)
		},
	}
	flags.Register(c)
	u.JSONFlag(c, "the diagnostics")
	return c
}

func (u ui) validate(paths []string, flags command.ScenarioFlags) error {
	flags = flags.ForMany(paths)
	var failed []string
	for _, path := range paths {
		s, _, err := u.Compile(path, flags)
		switch {
		case command.IsTold(err):
			failed = append(failed, path)
		case err != nil:
			return err
		default:
			u.Print("%s: valid: %s, %s\n", path, command.Counts(s.Lab), command.Plural(len(s.Expects), "expectation"))
		}
	}
	if len(failed) > 0 {
		u.PartsOf(failed, flags)
		return command.Told(command.ExitInvalid)
	}
	return flags.Undeclared()
}

// validateJSON prints one array with the diagnostics of all scenarios.
func (u ui) validateJSON(paths []string, flags command.ScenarioFlags) error {
	flags = flags.ForMany(paths)
	all := source.Diagnostics{}
	for _, path := range paths {
		_, diags, err := flags.Diagnose(u.UI, path)
		if err != nil {
			return err
		}
		all = append(all, diags...)
	}
	if _, err := u.Text().Write(all.JSON()); err != nil {
		return err
	}
	if all.HasErrors() {
		return command.Told(command.ExitInvalid)
	}
	return flags.Undeclared()
}
