//go:build !unix

package command

import "time"

var started = time.Now()

// processorTime is the time that passed, where the system does not say how much of it was used.
func processorTime() time.Duration { return time.Since(started) }
