package labs

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/netlab/netlab/cmd/netlab/command"
	"github.com/netlab/netlab/datapath/engine"
)

func downCommand(u ui) *cobra.Command {
	var all bool
	c := &cobra.Command{
		Use: "down [LAB or FILE…]",
		Long: `Remove a lab, and return when its links and processes are gone. The scenario file need
not exist any more. It is not an error if the lab is not running.`,
		ValidArgsFunction: completeLabs,
		RunE: func(c *cobra.Command, args []string) error {
			var labs []string
			var err error
			switch {
			case all:
				labs, err = Running()
			case len(args) > 1:
				for _, arg := range args {
					labs = append(labs, Name(arg))
				}
			default:
				name := ""
				if name, err = TheLab(args); name != "" {
					labs = []string{name}
				}
			}
			if err != nil {
				return err
			}
			return u.downAll(c.Context(), labs)
		},
	}
	u.JSONFlag(c, "which were removed")
	c.Flags().BoolVar(&all, "all", false, "remove all labs of this user")
	return c
}

func (u ui) downAll(ctx context.Context, labs []string) error {
	if len(labs) == 0 && !u.AsJSON {
		u.Print("no lab is running\n")
	}
	removed, absent := []string{}, []string{}
	var failed error
	for _, name := range labs {
		switch err := u.down(ctx, name); {
		case errors.Is(err, engine.ErrNotRunning):
			absent = append(absent, name)
		case err != nil:
			failed = errors.Join(failed, err)
		default:
			removed = append(removed, name)
		}
	}
	if u.AsJSON && failed == nil {
		return u.JSON(map[string][]string{"removed": removed, "not_running": absent})
	}
	return failed
}

func (u ui) down(ctx context.Context, name string) error {
	done := u.Working("removing " + name)
	err := engine.Down(ctx, name)
	done()
	said := "%s is down\n"
	switch {
	case errors.Is(err, engine.ErrNotRunning):
		said = "%s is not running\n"
	case command.Interrupted(ctx):
		return command.ErrInterrupted
	case err != nil:
		return command.Broken(err, "try again: netlab down "+name)
	}
	if !u.AsJSON {
		u.Print(said, name)
	}
	return err
}
