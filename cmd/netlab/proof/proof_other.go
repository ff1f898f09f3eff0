//go:build !linux

package proof

import (
	"context"

	"github.com/netlab/netlab/cmd/netlab/command"
)

// testForReal needs a Linux kernel.
func (u ui) testForReal(context.Context, []string, Options) error {
	e := *command.Elsewhere
	e.Hint = "test on paper, which works here: netlab test --paper FILE\n" + e.Hint
	return &e
}
