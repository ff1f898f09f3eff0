package command

import (
	"context"
	"errors"

	"github.com/spf13/cobra"
)

// Guard wraps a command: wrong arguments are usage errors, and --timeout applies.
func Guard(u *UI, c *cobra.Command) {
	if args := c.Args; args != nil {
		c.Args = func(c *cobra.Command, list []string) error {
			if err := args(c, list); err != nil {
				return Usage(err, "usage: "+c.UseLine())
			}
			return nil
		}
	}
	do := c.RunE
	if do == nil {
		return
	}
	c.RunE = func(c *cobra.Command, list []string) error {
		if u.Timeout <= 0 {
			return do(c, list)
		}
		ctx, cancel := context.WithTimeoutCause(c.Context(), u.Timeout, &TimeoutError{u.Timeout})
		defer cancel()
		c.SetContext(ctx)
		err := do(c, list)
		if err != nil && context.Cause(ctx) != nil && errors.As(context.Cause(ctx), new(*TimeoutError)) {
			return context.Cause(ctx)
		}
		return err
	}
}
