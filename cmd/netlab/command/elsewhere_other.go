//go:build !linux

package command

import (
	"errors"
	"runtime"
)

// Elsewhere explains that a command needs a Linux kernel.
var Elsewhere = &Error{
	Err:  errors.New("this command needs a Linux kernel, but this is " + runtime.GOOS),
	Code: ExitUnsupported,
	Hint: "use a Linux machine: vagrant up && vagrant ssh -c 'netlab test scenarios/', or limactl start .ci/lima.yaml; see the README",
}
