//go:build !linux

package main

import "context"

// testForReal needs a Linux kernel.
func (u *ui) testForReal(context.Context, []string, testOptions) error {
	e := *elsewhere
	e.hint = "test on paper, which works here: netlab test --paper FILE\n" + e.hint
	return &e
}
