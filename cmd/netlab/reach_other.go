//go:build !linux

package main

import "context"

// reachable finds the scenario: where there is no Linux kernel, no lab runs.
func (u *ui) reachable(_ context.Context, args []string) (path string, lab runningLab, err error) {
	path, err = theScenario(args)
	return path, nil, err
}
