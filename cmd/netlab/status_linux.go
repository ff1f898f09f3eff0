package main

import (
	"github.com/spf13/cobra"

	"github.com/netlab/netlab/datapath/engine"
	"github.com/netlab/netlab/datapath/plan"
)

func statusCommand(u *ui) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "status [LAB]",
		Short: "Say what in the kernel has drifted from the plan",
		Long: `Compare the kernel with the plan that was applied last. Exits 0 when they are equal,
1 when something is missing, different or extra. Real servers of IPVS that left the plan and
wait for the end of their last connection are listed, and are no drift.

In a large lab, up may answer before it has looked at the namespaces that its change does not
touch. Status waits for that, and tells what was put right there; with -v, line by line.`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: completeLabs,
		RunE: func(c *cobra.Command, args []string) error {
			lab, info, err := connect(c.Context(), args)
			if err != nil {
				return err
			}
			have, want, err := lab.Read(c.Context())
			if err != nil {
				return broken(err, "remove it: netlab down "+info.Name)
			}
			// Again: what was found behind the last change is known by now.
			now, err := lab.Info(c.Context())
			if err != nil {
				return broken(err, "remove it: netlab down "+info.Name)
			}
			info = now
			drift := plan.Drift(have, want)
			if asJSON {
				if drift == nil {
					drift = []string{}
				}
				leaving := info.Leaving
				if leaving == nil {
					leaving = []engine.Leaving{}
				}
				err = u.json(map[string]any{"lab": info.Name, "drift": drift, "leaving": leaving,
					"repaired": info.Check.Summary, "check_error": info.Check.Err})
			} else {
				u.printDrift(info.Name, relative(info.File), drift)
				u.printLeaving(info.Leaving)
				u.sayCheck(info.Name, info.Check)
			}
			if err == nil && len(drift) > 0 {
				err = told(exitFailed)
			}
			return err
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

// printLeaving names real servers that are no drift: they wait for their last connection.
func (u *ui) printLeaving(list []engine.Leaving) {
	for _, l := range list {
		u.print("%s: real server %s of %s %s is leaving: %s, %d closing\n", l.Netns, l.Real, l.Proto, l.Virtual,
			plural(l.Active, "connection"), l.Inactive)
	}
}

// sayCheck tells what was found behind the answer of the last up.
func (u *ui) sayCheck(name string, check engine.Check) {
	if check.Err != "" {
		u.say("%s: after the last up, not all could be looked at: %s", name, check.Err)
	}
	if check.Summary == "" {
		return
	}
	u.say("%s: after the last up more was put right: %s", name, check.Summary)
	if u.verbose {
		for _, line := range check.Lines {
			u.say("%s", line)
		}
	}
}

func (u *ui) printDrift(name, file string, drift []string) {
	if len(drift) == 0 {
		u.print("%s: as planned\n", name)
		return
	}
	for _, line := range drift {
		u.print("%s\n", line)
	}
	u.say("%s has drifted in %s; put it right: netlab up %s", name, plural(len(drift), "place"), file)
}
