package inside

import (
	"fmt"
	"strings"

	"github.com/netlab/netlab/datapath/plan/occupant"
)

// ProgramError says what is wrong with a program of the scenario.
type ProgramError struct {
	Pod    string // the name of the program: that of its pod
	File   string // where the pod is declared
	Line   int
	Why    string
	Output []string // its last lines
	// Missing is the program, if it is not installed.
	Missing string
	// Image: it is its image that is wrong, or that cannot be confined.
	Image bool
	// Refused: this machine does not let us confine it.
	Refused bool
	// Virtual: it is an agent, confined, whose work needs virtual servers.
	Virtual bool
}

func (e *ProgramError) Error() string {
	text := fmt.Sprintf("%s:%d: %s %s", e.File, e.Line, occupant.Called(e.Pod), e.Why)
	if len(e.Output) > 0 {
		text += "; its last lines:\n    " + strings.Join(e.Output, "\n    ")
	}
	return text
}

// Remedy is what to do about it.
func (e *ProgramError) Remedy() string {
	if e.Missing != "" {
		return "install it, or name another program"
	}
	if e.Image && e.Refused {
		return "allow user namespaces (what this machine lacks: netlab doctor): a pod with an image runs confined, or not at all"
	}
	if e.Image {
		return "save the image again, or name another one"
	}
	if e.Refused {
		return "allow user namespaces (what this machine lacks: netlab doctor); or, if you trust the scenario, let its programs have the files and all the rights that you have: --allow-host-programs"
	}
	if e.Virtual {
		return "the kernel denies virtual servers (IPVS) to whoever is confined: if you trust the agent, run it with the files and all the rights that you have: --allow-host-programs"
	}
	if occupant.IsAgent(e.Pod) {
		return "correct the command, or its ready block"
	}
	return "correct the command of the pod, or its ready block"
}

// CommandError means that a program could not be started inside a lab.
type CommandError struct {
	Program  string
	NotFound bool
	Why      string
}

func (e *CommandError) Error() string { return e.Program + ": " + e.Why }
