package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/netlab/netlab/reports/visible"
	"github.com/netlab/netlab/scenarios/language/source"
)

// UI holds the rules for what the user reads: the answer goes to standard output
// and nothing else does; the conversation goes to standard error, in lower case,
// without full stops; every error ends with what to do. Colour is for terminals,
// and never with NO_COLOR.
type UI struct {
	In      io.Reader
	Out     io.Writer
	Errs    io.Writer
	Verbose bool
	Timeout time.Duration
	// AsJSON: the answer is asked for as JSON, and so is an error.
	AsJSON bool
	// Limits is what reading a scenario may cost.
	Limits Limits
	diags  *source.Diagnostics // that explain the error
	ctx    context.Context     // of the verb
}

// JSONFlag adds --json to a command, which then prints what it has to say as JSON.
func (u *UI) JSONFlag(c *cobra.Command, what string) {
	c.Flags().BoolVar(&u.AsJSON, "json", false, "print "+what+" as JSON; an error, too")
}

func New(in io.Reader, out, errs io.Writer) *UI {
	return &UI{In: in, Out: &answer{Writer: out}, Errs: errs, diags: &source.Diagnostics{}, ctx: context.Background(), Limits: usual()}
}

// IsTerminal reports whether a person reads or types there.
func IsTerminal(stream any) bool {
	if a, ok := stream.(*answer); ok {
		stream = a.Writer
	}
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// Colour reports whether a stream is to be coloured.
func Colour(w io.Writer) bool {
	return IsTerminal(w) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}

// Print adds text to the answer, in which nothing controls a terminal.
func (u *UI) Print(format string, args ...any) { fmt.Fprintf(u.Text(), format, args...) }

// Text is where text of the answer goes: names and texts of scenarios, or what their programs
// wrote, are in it. A terminal shows their control characters and does not obey them; a file
// gets every byte as it is.
func (u *UI) Text() io.Writer {
	if IsTerminal(u.Out) {
		return shown{u.Out}
	}
	return u.Out
}

// shown is a writer that shows control characters.
type shown struct{ io.Writer }

func (v shown) Write(p []byte) (int, error) {
	if _, err := io.WriteString(v.Writer, visible.Text(string(p))); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Say adds a line to the conversation. Names and texts of scenarios cannot control the terminal.
func (u *UI) Say(format string, args ...any) {
	fmt.Fprintln(u.Errs, visible.Text(fmt.Sprintf(format, args...)))
}

// JSON prints the answer of a command that was asked for data.
func (u *UI) JSON(v any) error {
	e := json.NewEncoder(u.Text())
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false) // rules and comments have > and & in them
	return e.Encode(v)
}

// Finish prints how the command ended and returns the exit code.
func (u *UI) Finish(err error) int {
	if lost := u.unwritten(); lost != nil && !errors.Is(err, ErrInterrupted) && !errors.As(err, new(*TimeoutError)) {
		err, u.AsJSON = lost, false
	}
	if err == nil {
		return ExitOK
	}
	var e *Error
	var late *TimeoutError
	switch {
	case errors.As(err, &late):
		e = &Error{Err: late, Code: ExitTimeout}
	case !errors.As(err, &e):
		e = &Error{Err: err, Code: ExitInvalid, Hint: "see: netlab --help"}
	}
	if u.AsJSON {
		*u.diags = append(*u.diags, e.Diagnostics...)
		u.fail(e, err)
	} else if !e.quiet {
		_ = e.Diagnostics.WriteText(u.Errs, Colour(u.Errs))
		for _, line := range e.About {
			u.Say("%s", line)
		}
		u.Say("netlab: %v", err)
		if e.Hint != "" {
			u.Say("  %s", e.Hint)
		}
	}
	return e.Code
}

// Answered says that the answer holds the diagnostics of scenarios, as results.
func (u *UI) Answered() { *u.diags = nil }

// fail prints an error as JSON, in place of the answer that there is not. One whose
// answer says everything, such as a claim that failed, has nothing to add.
func (u *UI) fail(e *Error, err error) {
	if e.quiet && len(*u.diags) == 0 {
		return
	}
	type failure struct {
		Message     string             `json:"message"`
		Hint        string             `json:"hint,omitempty"` // what to do
		About       []string           `json:"about,omitempty"`
		Exit        int                `json:"exit"`
		Diagnostics source.Diagnostics `json:"diagnostics,omitempty"` // of a scenario, as validate prints them
	}
	f := failure{err.Error(), e.Hint, e.About, e.Code, *u.diags}
	if e.quiet {
		f.Message, f.Hint = "the scenario is invalid", "see the diagnostics"
	}
	_ = u.JSON(map[string]failure{"error": f})
}

// Working shows what takes long, after the first second: as one line that
// counts on a terminal, as plain lines elsewhere. The returned function ends it.
func (u *UI) Working(what string) (done func()) { return u.WorkingOn(func() string { return what }) }

// WorkingOn is Working for something that changes.
func (u *UI) WorkingOn(what func() string) (done func()) {
	stop := make(chan struct{})
	var ended sync.WaitGroup
	ended.Go(func() {
		started := time.Now()
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		terminal, lines, last := IsTerminal(u.Errs), 0, ""
		for {
			select {
			case <-stop:
				if terminal && lines > 0 {
					fmt.Fprint(u.Errs, "\r\033[K")
				}
				return
			case <-tick.C:
				passed, now := time.Since(started).Round(time.Second), what()
				if terminal {
					fmt.Fprintf(u.Errs, "\r\033[K%s … %v", now, passed)
				} else if lines%10 == 0 || now != last {
					u.Say("%s … %v", now, passed)
				}
				lines, last = lines+1, now
			}
		}
	})
	return func() { close(stop); ended.Wait() }
}
