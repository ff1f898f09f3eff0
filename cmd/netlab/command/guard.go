package command

import (
	"context"
	"errors"

	"github.com/spf13/cobra"
)

// Guard wraps a command: wrong arguments are usage errors, and --timeout applies. One that
// changes nothing on the machine ends at the first signal, whatever it is doing.
func Guard(u *UI, c *cobra.Command, changes bool) {
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
		ctx, end := u.Under(c.Context())
		defer end()
		c.SetContext(ctx)
		var err error
		if changes {
			err = do(c, list)
		} else {
			err = u.untilSignal(func() error { return do(c, list) })
		}
		if err != nil && errors.As(context.Cause(ctx), new(*TimeoutError)) {
			return context.Cause(ctx)
		}
		return err
	}
}

// Under is the context of what the user asked for: that of the command, with --timeout.
func (u *UI) Under(ctx context.Context) (limited context.Context, end func()) {
	end = func() {}
	if u.Timeout > 0 {
		ctx, end = context.WithTimeoutCause(ctx, u.Timeout, &TimeoutError{u.Timeout})
	}
	u.ctx = ctx
	return ctx, end
}
