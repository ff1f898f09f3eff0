package command

import (
	"errors"
	"fmt"
	"time"

	"github.com/netlab/netlab/scenarios/language/source"
)

// The exit codes of netlab.
const (
	ExitOK          = 0
	ExitFailed      = 1   // an expectation failed, or the lab drifted
	ExitInvalid     = 2   // usage or scenario invalid
	ExitUnsupported = 3   // this machine lacks a feature or a permission
	ExitBroken      = 4   // the lab could not be built, or broke
	ExitTimeout     = 124 // --timeout is over; after cleaning up
	ExitInterrupted = 130 // after cleaning up
)

// Error is an error with the exit code and what the user can do about it.
type Error struct {
	Err   error
	Code  int
	Hint  string   // empty: nothing to add
	About []string // lines that come before it, such as what is missing
	// Diagnostics are of the scenario whose fault it is; they come first.
	Diagnostics source.Diagnostics
	quiet       bool // the user has seen it already
}

func (e *Error) Error() string { return e.Err.Error() }
func (e *Error) Unwrap() error { return e.Err }

func Usage(err error, hint string) error {
	return &Error{Err: err, Code: ExitInvalid, Hint: hint}
}

func Broken(err error, hint string) error {
	return &Error{Err: err, Code: ExitBroken, Hint: hint}
}

// Told ends the command with an exit code; everything has been printed.
func Told(code int) error {
	return &Error{Err: fmt.Errorf("exit %d", code), Code: code, quiet: true}
}

var ErrInterrupted = &Error{Err: errors.New("interrupted"), Code: ExitInterrupted}

// TimeoutError says that --timeout ended the command.
type TimeoutError struct{ after time.Duration }

func (e *TimeoutError) Error() string {
	return fmt.Sprintf("not done after %v; give it more time with --timeout", e.after)
}

// IsTold reports an error that the user has read already.
func IsTold(err error) bool {
	var e *Error
	return errors.As(err, &e) && e.quiet
}
