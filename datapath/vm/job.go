package vm

import "time"

// Boot is what a machine does between power on and off.
type Boot struct {
	Jobs []Job
	// Files are files and folders of this machine that the guest finds at the same
	// path. Absolute paths.
	Files []string
	// Programs are files of this machine that the guest can run, in addition to the
	// usual tools, likewise with the libraries that they need. Absolute paths.
	Programs []string
	// Collect are files and folders of the guest to copy back. Absolute paths.
	Collect []string
	// Artifacts is the folder of this machine below which they are put; empty: at their
	// original paths.
	Artifacts string
}

// Job is one command in the guest.
type Job struct {
	Name string
	Argv []string
	Env  []string // added to that of the guest
	Dir  string   // created if missing; empty: /
	// Limit ends the command: first with SIGQUIT, on which Go programs print their
	// stacks, then with SIGKILL. Its status is 124, as with timeout(1). 0: none.
	Limit time.Duration
	Stdin []byte
	TTY   bool   // on the user's terminal; only one job of a boot may be
	Log   string // file in the guest with all its output; empty: none
	Rows  uint16 // size of the terminal
	Cols  uint16
}

// Result is the result of a boot.
type Result struct {
	Jobs  []Outcome
	Ready time.Duration // from power on to the first job
	Total time.Duration // to power off
	// Ended is whether the guest shut down in order. If not, the kernel panicked, or
	// the machine was switched off.
	Ended   bool
	Console string // what the kernel printed
}

// Outcome is how a job ended.
type Outcome struct {
	Name   string
	Code   int // exit status; 128 + n for signal n; 124 if the limit ended it; 127 if it was not found
	Took   time.Duration
	Killed bool // by the limit
}

// Exit statuses of a machine instead of a command's.
const (
	CodeTimeout = 124 // a limit ended the command, or the machine
	CodePanic   = 125 // the guest's kernel panicked
)

// Code is the exit status of the whole boot: that of the first job that failed.
func (r Result) Code() int {
	for _, o := range r.Jobs {
		if o.Code != 0 {
			return o.Code
		}
	}
	return 0
}

// event is a line from guest to host on the control port.
type event struct {
	Kind    string         `json:"kind"`
	Outcome *Outcome       `json:"outcome,omitempty"`
	Bytes   map[port]int64 `json:"bytes,omitempty"` // written to each stream, with the end
	Text    string         `json:"text,omitempty"`
}

// Kinds of events.
const (
	eventReady = "ready" // about to start the first job
	eventDone  = "done"  // a job ended
	eventEnd   = "end"   // no more will follow; the host answers
	eventError = "error" // the guest could not carry out an order
)

// request is a line from host to guest.
type request struct {
	Rows uint16 `json:"rows,omitempty"`
	Cols uint16 `json:"cols,omitempty"`
	Bye  bool   `json:"bye,omitempty"` // everything arrived: power off
}

// orders are what the guest reads at ordersFile.
type orders struct {
	Jobs    []Job
	Collect []string
	Modules []string // to load before anything else runs
	Env     []string // of every job
}

const ordersFile = "/.netlab.json"
