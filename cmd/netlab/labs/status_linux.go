package labs

import (
	"github.com/spf13/cobra"

	"github.com/netlab/netlab/cmd/netlab/command"
	"github.com/netlab/netlab/datapath/engine"
	"github.com/netlab/netlab/datapath/plan"
)

func statusCommand(u ui) *cobra.Command {
	c := &cobra.Command{
		Use: "status [LAB or FILE]",
		Long: `Compare the kernel with the plan that was applied last. Exits 0 when they are equal,
1 when something is missing, different or extra, or a program of a pod has ended. IPVS real
servers that left the plan and are draining are listed, but are not drift.

In a large lab, up may return before it has checked the namespaces that its change does not
touch. Status waits for that check and reports what it repaired; with -v, line by line.`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: completeLabs,
		RunE: func(c *cobra.Command, args []string) error {
			lab, info, err := Connect(c.Context(), args)
			if err != nil {
				return err
			}
			have, want, err := lab.Read(c.Context())
			if err != nil {
				return command.Broken(err, "remove it: netlab down "+info.Name)
			}
			// Again: what the check after the last change found is known by now.
			now, err := lab.Info(c.Context())
			if err != nil {
				return command.Broken(err, "remove it: netlab down "+info.Name)
			}
			info = now
			drift := plan.Drift(have, want)
			if u.AsJSON {
				if drift == nil {
					drift = []string{}
				}
				draining := info.Draining
				if draining == nil {
					draining = []engine.Draining{}
				}
				err = u.JSON(map[string]any{"lab": info.Name, "drift": drift, "draining": draining, "programs": append([]engine.Program{}, info.Programs...),
					"repaired": info.Check.Summary, "check_error": info.Check.Err})
			} else {
				u.printDrift(info.Name, relative(info.File), drift)
				u.printPrograms(info.Programs, func(p engine.Program) bool { return p.Restarts > 0 })
				u.printDraining(info.Draining)
				u.sayCheck(info.Name, info.Check)
			}
			if err == nil && len(drift) > 0 {
				err = command.Told(command.ExitFailed)
			}
			return err
		},
	}
	u.JSONFlag(c, "the drift")
	return c
}

// printDraining lists real servers that are draining, which is not drift.
func (u ui) printDraining(list []engine.Draining) {
	for _, l := range list {
		u.Print("%s: real server %s of %s %s is draining: %s, %d closing\n", l.Netns, l.Real, l.Proto, l.Virtual,
			command.Plural(l.Active, "connection"), l.Inactive)
	}
}

// sayCheck reports what was found after the last up returned.
func (u ui) sayCheck(name string, check engine.Check) {
	if check.Err != "" {
		u.Say("%s: the check after the last up failed: %s", name, check.Err)
	}
	if check.Summary == "" {
		return
	}
	u.Say("%s: the check after the last up repaired: %s", name, check.Summary)
	if u.Verbose {
		for _, line := range check.Lines {
			u.Say("%s", line)
		}
	}
}

func (u ui) printDrift(name, file string, drift []string) {
	if len(drift) == 0 {
		u.Print("%s: as planned\n", name)
		return
	}
	for _, line := range drift {
		u.Print("%s\n", line)
	}
	u.Say("%s has drifted in %s; repair it: netlab up %s", name, command.Plural(len(drift), "place"), file)
}
