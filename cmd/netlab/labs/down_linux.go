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
		Use: "down [LAB or FILE]",
		Long: `Remove a lab, and return when its links and processes are gone. The scenario file need
not exist any more. It is not an error if the lab is not running.`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: completeLabs,
		RunE: func(c *cobra.Command, args []string) error {
			if all {
				return u.downAll(c.Context())
			}
			name, err := TheLab(args)
			if err != nil {
				return err
			}
			if name == "" {
				u.Print("no lab is running\n")
				return nil
			}
			return u.down(c.Context(), name)
		},
	}
	c.Flags().BoolVar(&all, "all", false, "remove all labs of this user")
	return c
}

func (u ui) downAll(ctx context.Context) error {
	names, err := Running()
	if err != nil {
		return err
	}
	if len(names) == 0 {
		u.Print("no lab is running\n")
	}
	var failed error
	for _, name := range names {
		failed = errors.Join(failed, u.down(ctx, name))
	}
	return failed
}

func (u ui) down(ctx context.Context, name string) error {
	done := u.Working("removing " + name)
	defer done()
	err := engine.Down(ctx, name)
	switch {
	case errors.Is(err, engine.ErrNotRunning):
		u.Print("%s is not running\n", name)
	case command.Interrupted(ctx):
		return command.ErrInterrupted
	case err != nil:
		return command.Broken(err, "try again: netlab down "+name)
	default:
		u.Print("%s is down\n", name)
	}
	return nil
}
