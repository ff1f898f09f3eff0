package state

import (
	"fmt"
	"regexp"
	"strings"
	"time"
)

// Bounds of a command that an expectation runs.
const (
	MaxOutput = 64 << 10 // bytes
	RunsFor   = 10 * time.Second
)

// Run is a claim about what a command does, confined as a program of the scenario would be.
type Run struct {
	Host
	Program string // the pod whose files and environment it has, if that runs a program
	Command []string
	Status  int
	Output  *string        // what it prints, but for a newline at the end; nil: not claimed
	Matches *regexp.Regexp // what that must match; nil: not claimed
}

// Subject is the command.
func (r *Run) Subject() string { return "run " + strings.Join(r.Command, " ") }

// Wanted describes its status and output.
func (r *Run) Wanted() string {
	text := fmt.Sprintf("status %d", r.Status)
	if r.Output != nil {
		text += fmt.Sprintf(", output %q", short(*r.Output))
	}
	if r.Matches != nil {
		text += fmt.Sprintf(", output matching %q", r.Matches)
	}
	return text
}

// PerConnection: a command runs once.
func (r *Run) PerConnection() bool { return false }

// Judge holds what the command did against the claim.
func (r *Run) Judge(views []View) Verdict { return each(views, r.judge) }

func (r *Run) judge(v *View) Verdict {
	o := v.Output
	switch {
	case o == nil:
		return Verdict{Unknown: "what a command prints"}
	case o.Err != "":
		return Verdict{Shown: "not run", Wrong: []string{o.Err}}
	case o.Late:
		return Verdict{Shown: "ended", Wrong: []string{fmt.Sprintf("it had not ended after %v, having printed %q", RunsFor, short(o.Text))}}
	case o.Long:
		return Verdict{Shown: "ended", Wrong: []string{fmt.Sprintf("it prints more than %d bytes", MaxOutput)}}
	}
	text := strings.TrimSuffix(o.Text, "\n")
	out := Verdict{Shown: fmt.Sprintf("status %d, output %q", o.Status, short(text))}
	if o.Status != r.Status {
		out.Wrong = append(out.Wrong, fmt.Sprintf("status %d, not %d", o.Status, r.Status))
	}
	if r.Output != nil && text != strings.TrimSuffix(*r.Output, "\n") {
		out.Wrong = append(out.Wrong, "the output is another")
	}
	if r.Matches != nil && !r.Matches.MatchString(text) {
		out.Wrong = append(out.Wrong, "the output does not match")
	}
	return out
}

// short is the beginning of a long text.
func short(text string) string {
	const most = 300
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}
