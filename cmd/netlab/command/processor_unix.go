//go:build unix

package command

import (
	"syscall"
	"time"
)

// processorTime is what this process has used of the processors. It does not pass while others
// keep them busy.
func processorTime() time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		panic(err) // the arguments are right
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
