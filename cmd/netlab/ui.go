package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"golang.org/x/term"
)

// ui holds the rules for what the user reads: the answer goes to standard output
// and nothing else does; the conversation goes to standard error, in lower case,
// without full stops; every error ends with what to do. Colour is for terminals,
// and never with NO_COLOR.
type ui struct {
	in      io.Reader
	out     io.Writer
	errs    io.Writer
	verbose bool
	timeout time.Duration
}

func newUI(in io.Reader, out, errs io.Writer) *ui { return &ui{in: in, out: out, errs: errs} }

// isTerminal reports whether a person reads or types there.
func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// colour reports whether a stream is to be coloured.
func colour(w io.Writer) bool {
	return isTerminal(w) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}

func (u *ui) print(format string, args ...any) { fmt.Fprintf(u.out, format, args...) }
func (u *ui) say(format string, args ...any)   { fmt.Fprintf(u.errs, format+"\n", args...) }

// json prints the answer of a command that was asked for data.
func (u *ui) json(v any) error {
	e := json.NewEncoder(u.out)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false) // rules and comments have > and & in them
	return e.Encode(v)
}

// finish prints how the command ended and returns the exit code.
func (u *ui) finish(err error) int {
	if err == nil {
		return exitOK
	}
	var e *exitError
	var late *timeoutError
	switch {
	case errors.As(err, &late):
		e = &exitError{err: late, code: exitBroken}
	case !errors.As(err, &e):
		e = &exitError{err: err, code: exitInvalid, hint: "see: netlab --help"}
	}
	if !e.quiet {
		u.say("netlab: %v", err)
		if e.hint != "" {
			u.say("  %s", e.hint)
		}
	}
	return e.code
}

// working shows what takes long, after the first second: as one line that
// counts on a terminal, as plain lines elsewhere. The returned function ends it.
func (u *ui) working(what string) (done func()) {
	stop := make(chan struct{})
	var ended sync.WaitGroup
	ended.Go(func() {
		started := time.Now()
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		terminal, lines := isTerminal(u.errs), 0
		for {
			select {
			case <-stop:
				if terminal && lines > 0 {
					fmt.Fprint(u.errs, "\r\033[K")
				}
				return
			case <-tick.C:
				passed := time.Since(started).Round(time.Second)
				if terminal {
					fmt.Fprintf(u.errs, "\r\033[K%s … %v", what, passed)
				} else if lines%10 == 0 {
					u.say("%s … %v", what, passed)
				}
				lines++
			}
		}
	})
	return func() { close(stop); ended.Wait() }
}
