//go:build linux

package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/sys/unix"

	"github.com/netlab/netlab/cmd/netlab/command"
)

// strictVariable makes netlab under test give up early: what is hostile is at these limits at
// once, and nothing else comes near them. Its value is the limit of processor time at a place.
const strictVariable = "NLAB_TEST_STRICT"

var strict = command.Limits{Place: 250 * time.Millisecond, All: 3 * time.Second, PlaceMemory: 96 << 20, AllMemory: 1 << 30}

// loading are the arguments of every verb that reads a scenario, a.hcl, and with each the verb.
// They follow from how the verbs describe themselves.
func loading() map[string]*cobra.Command {
	found := map[string]*cobra.Command{}
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		for _, sub := range c.Commands() {
			walk(sub)
		}
		args := strings.Fields(c.CommandPath())[1:]
		switch use := c.Use; {
		case strings.Contains(use, "[FILE") || c.Flags().Lookup("allow-path") != nil && strings.Contains(use, "FILE"):
			args = append(args, "a.hcl")
		case c.Flags().Lookup("allow-path") != nil:
			args = append(args, "--file", "a.hcl")
		default:
			return
		}
		if strings.Contains(c.Use, "FROM TO") {
			args = append(args, "laptop", "web-0")
		}
		found[strings.Join(args, " ")] = c
	}
	walk(rootCommand(command.New(strings.NewReader(""), io.Discard, io.Discard)))
	return found
}

// evaluates reports a verb that does not only format a scenario.
func evaluates(c *cobra.Command) bool { return c.Name() != "fmt" }

// What may cost too much is given up by every verb, for what it cost.
func TestHostileFilesAreGivenUp(t *testing.T) {
	t.Parallel()
	verbs := loading()
	if len(verbs) < 10 {
		t.Fatalf("only %d verbs read scenarios: %v", len(verbs), verbs)
	}
	for name, file := range corpus() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for args, verb := range verbs {
				limit, at := strict.Place, file.at
				if args != "validate a.hcl" {
					if !slices.Contains(everywhere, name) {
						continue
					}
					limit, at = limit/5, "a.hcl:" // on a busy machine what is harmless comes near it, too
				}
				dir := t.TempDir()
				fine(t, os.WriteFile(filepath.Join(dir, "a.hcl"), []byte(file.text), 0o666))
				said, status := refused(t, limit, dir, args)
				named := strings.Contains(said, file.want) || limit < strict.Place && strings.Contains(said, tooMuch)
				if evaluates(verb) && (status != command.ExitInvalid || file.want != "" && (!named || !strings.Contains(said, at))) {
					t.Errorf("%s: exit %d, want %q at %s; got:\n%.2000s", args, status, file.want, at, said)
				}
			}
		})
	}
}

// What is no file of the scenario's folder is not waited for, and no line of it is shown.
func TestHostileFoldersAreRefused(t *testing.T) {
	t.Parallel()
	for name, make := range hostileFolders {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for args, verb := range loading() {
				for _, whole := range []bool{false, true} {
					dir := t.TempDir()
					make(t, filepath.Join(dir, "a.hcl"))
					if whole {
						args = strings.Replace(args, "a.hcl", ".", 1)
					}
					said, status := refused(t, strict.Place, dir, args)
					if evaluates(verb) && status != command.ExitInvalid || strings.Contains(said, secret) {
						t.Errorf("%s: exit %d, want %d; got:\n%.2000s", args, status, command.ExitInvalid, said)
					}
				}
			}
		})
	}
}

// refused runs a verb with strict limits, and checks what it cost: the limits, what the runtime
// of Go needs, and what came between two looks.
func refused(t *testing.T, limit time.Duration, dir, args string) (said string, status int) {
	t.Helper()
	var out bytes.Buffer
	c := exec.Command("netlab", strings.Fields(args)...)
	c.Dir, c.Env = dir, append(os.Environ(), strictVariable+"="+limit.String())
	c.Stdout, c.Stderr = &out, &out
	_ = c.Run() // the exit code is checked
	if strings.Contains(out.String(), "goroutine ") {
		t.Errorf("%s: a stack of Go:\n%.2000s", args, &out)
	}
	if cpu := c.ProcessState.UserTime() + c.ProcessState.SystemTime(); cpu > strict.All+time.Second {
		t.Errorf("%s: it took %v of processor time", args, cpu)
	}
	if memory := uint64(c.ProcessState.SysUsage().(*syscall.Rusage).Maxrss) << 10; memory > 600<<20 {
		t.Errorf("%s: it took %d MB", args, memory>>20)
	}
	return out.String(), c.ProcessState.ExitCode()
}

// With the same strict limits, what is plain is not given up.
func TestPlainFileIsNotGivenUp(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	fine(t, os.WriteFile(filepath.Join(dir, "a.hcl"), []byte("node \"n\" { count = 10 }\npod \"p\" { count = 200 }\n"), 0o666))
	if said, status := refused(t, strict.Place, dir, "plan --digest a.hcl"); status != command.ExitOK {
		t.Errorf("exit %d\n%s", status, said)
	}
}

// endless is a lab whose local value takes hours to evaluate, inside one call of a library.
const endless = small + `
locals { x = "a${1e300000000}" }
`

// Every verb that reads a file ends at the first signal, and at --timeout, also while it reads,
// whatever its flags say.
func TestSignalsEndEveryVerbThatReads(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write("a.hcl", endless)
	var all sync.WaitGroup
	for args, verb := range loading() {
		if !evaluates(verb) {
			continue
		}
		all.Go(func() {
			words := strings.Fields(args)
			for _, flag := range append(switches(verb), "--verbose") {
				r := p.try(append(slices.Clone(words), "--timeout", "50ms", flag)...)
				impossible := r.status == command.ExitInvalid && !strings.Contains(r.err, "a.hcl:") // not with these arguments
				if r.status != command.ExitTimeout && !impossible {
					t.Errorf("%s --timeout 50ms %s: exit status %d\n%s%s", args, flag, r.status, r.out, r.err)
				}
			}
			if axes := verb.Flags().Lookup("matrix"); axes != nil {
				words = append(words, "--matrix", "proxy=iptables,none")
			}
			p.interrupted(args, words)
		})
	}
	all.Wait()
	p.expectNothing()
}

// switches are the flags of a verb that need no value.
func switches(c *cobra.Command) (flags []string) {
	c.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
		if f.Value.Type() == "bool" && f.Name != "help" {
			flags = append(flags, "--"+f.Name)
		}
	})
	return flags
}

// What blocks outside of any library is given up, too: standard input that never ends.
func TestSignalsEndTheWaitForStandardInput(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	for _, verb := range []string{"validate -", "plan -", "fmt -", "up -"} {
		p.interrupted(verb, strings.Fields(verb))
	}
}

// A second signal does not wait for what the first one lets end.
func TestSecondSignalEndsAtOnce(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	for range 20 { // on a busy machine it may end by itself between the first two
		cmd := p.command("plan", "-")
		in, out, err := os.Pipe()
		fine(t, err)
		cmd.Stdin = in
		fine(t, cmd.Start())
		fine(t, in.Close())
		ended := make(chan struct{})
		go func() { _ = cmd.Wait(); close(ended) }()
		_, err = out.WriteString("#")
		fine(t, err)
		eventually(t, "it reads", func() string {
			if n, err := unix.IoctlGetInt(int(out.Fd()), unix.TIOCINQ); err != nil || n > 0 {
				return fmt.Sprint(n, err)
			}
			return ""
		})
		for running := true; running; {
			_ = cmd.Process.Signal(unix.SIGINT)
			select {
			case <-ended:
				running = false
			case <-time.After(5 * time.Millisecond):
			}
		}
		fine(t, out.Close())
		switch state := cmd.ProcessState.Sys().(syscall.WaitStatus); {
		case state.Signaled():
			return
		case state.ExitStatus() != command.ExitInterrupted:
			t.Fatalf("it ended with %v", cmd.ProcessState)
		}
	}
	t.Error("after the first signal, no other one ended it")
}

// interrupted sends one signal to a verb that is busy, and wants it to end.
func (p *testPlace) interrupted(verb string, args []string) {
	p.t.Helper()
	for _, signal := range []syscall.Signal{unix.SIGINT, unix.SIGTERM} {
		status := -1
		for after := 200 * time.Millisecond; status == -1 && after < 10*time.Second; after *= 3 { // -1: it was not up yet
			status = p.signalled(signal, after, args)
		}
		if status != 130 {
			p.t.Errorf("%s, %v: exit status %d, want 130", verb, signal, status)
		}
	}
}

// signalled is the exit status of a verb that gets a signal after a while.
func (p *testPlace) signalled(signal syscall.Signal, after time.Duration, args []string) int {
	cmd := p.command(args...)
	in, busy, err := os.Pipe() // nothing ever comes
	if err != nil {
		p.t.Fatal(err)
	}
	defer in.Close()
	defer busy.Close()
	cmd.Stdin = in
	if err := cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	time.AfterFunc(after, func() { _ = cmd.Process.Signal(signal) })
	late := time.AfterFunc(after+20*time.Second, func() { // many times what it may take, on a busy machine
		p.t.Errorf("%v, %v: it did not end", args, signal)
		_ = cmd.Process.Kill()
	})
	defer late.Stop()
	_ = cmd.Wait() // the status says it
	return cmd.ProcessState.ExitCode()
}
