package main

import (
	"errors"
	"fmt"
	"time"
)

// The exit codes of netlab.
const (
	exitOK          = 0
	exitFailed      = 1   // an expectation failed, or the lab drifted
	exitInvalid     = 2   // usage or scenario invalid
	exitUnsupported = 3   // this machine lacks a feature or a permission
	exitBroken      = 4   // the lab could not be built, or broke
	exitInterrupted = 130 // after cleaning up
)

// exitError is an error with the exit code and what the user can do about it.
type exitError struct {
	err   error
	code  int
	hint  string // empty: nothing to add
	quiet bool   // the user has seen it already
}

func (e *exitError) Error() string { return e.err.Error() }
func (e *exitError) Unwrap() error { return e.err }

func usage(err error, hint string) error {
	return &exitError{err: err, code: exitInvalid, hint: hint}
}

func broken(err error, hint string) error {
	return &exitError{err: err, code: exitBroken, hint: hint}
}

// told ends the command with an exit code; everything has been printed.
func told(code int) error {
	return &exitError{err: fmt.Errorf("exit %d", code), code: code, quiet: true}
}

var errInterrupted = &exitError{err: errors.New("interrupted"), code: exitInterrupted}

// timeoutError says that --timeout ended the command.
type timeoutError struct{ after time.Duration }

func (e *timeoutError) Error() string {
	return fmt.Sprintf("not done after %v; give it more time with --timeout", e.after)
}

// isTold reports an error that the user has read already.
func isTold(err error) bool {
	var e *exitError
	return errors.As(err, &e) && e.quiet
}
