package main

import (
	"github.com/spf13/cobra"

	"github.com/netlab/netlab/scenarios/language"
	"github.com/netlab/netlab/scenarios/language/source"
)

func validateCommand(u *ui) *cobra.Command {
	var flags scenarioFlags
	var asJSON bool
	c := &cobra.Command{
		Use:   "validate [FILE…]",
		Short: "Check scenarios; needs no privileges and no kernel",
		Long: `Check scenarios, and report all their mistakes in one run. Takes files, folders (default:
this one) and globs; - is standard input. Exits 2 when one is invalid. Needs no privileges
and no kernel.`,
		RunE: func(_ *cobra.Command, args []string) error {
			paths, err := source.Find(orHere(args))
			if err != nil {
				return usage(err, "name a scenario file")
			}
			if asJSON {
				return u.validateJSON(paths, flags)
			}
			return u.validate(paths, flags)
		},
	}
	flags.register(c)
	c.Flags().BoolVar(&asJSON, "json", false, "print the diagnostics as JSON")
	return c
}

func (u *ui) validate(paths []string, flags scenarioFlags) error {
	failed := false
	for _, path := range paths {
		s, _, err := u.compile(path, flags)
		switch {
		case isTold(err):
			failed = true
		case err != nil:
			return err
		default:
			u.print("%s: valid: %s, %s\n", path, counts(s.Lab), plural(len(s.Expects), "expectation"))
		}
	}
	if failed {
		return told(exitInvalid)
	}
	return nil
}

// validateJSON prints one array with the diagnostics of all scenarios.
func (u *ui) validateJSON(paths []string, flags scenarioFlags) error {
	options, err := flags.options(u)
	if err != nil {
		return err
	}
	all := source.Diagnostics{}
	for _, path := range paths {
		_, diags := language.Load(path, options)
		all = append(all, diags...)
	}
	if _, err := u.out.Write(all.JSON()); err != nil {
		return err
	}
	if all.HasErrors() {
		return told(exitInvalid)
	}
	return nil
}
