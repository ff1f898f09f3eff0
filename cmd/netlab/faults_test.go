//go:build linux

package main

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/netlab/netlab/cmd/netlab/command"
)

// small is a lab with a bit of everything:
//
//	laptop ─┬─ node1 ── web-0, web-1, …
//	        └─ node2 ── shell
const small = `
variable "replicas" {
  type    = number
  default = 1
}
node "node1" {}
node "node2" {}
client "laptop" {}
pod "web" {
  count  = var.replicas
  node   = node.node1
  labels = { app = "web" }
  port "http" { port = 8080 }
}
pod "shell" { node = node.node2 }
service "web" {
  type     = "NodePort"
  selector = { app = "web" }
  port "http" {
    port        = 80
    target_port = "http"
    node_port   = 30080
  }
}
expect "the service answers" {
  from   = pod.shell
  to     = service.web
  answer = pod.web
}
`

func TestUpAndDownLeaveNothing(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write("a.hcl", small)
	for range 2 {
		p.netlab("up", "a.hcl")
		p.netlab("status")
		p.netlab("down")
		p.expectNothing()
	}
}

func TestKilledEngineLeavesNothing(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write("a.hcl", small)
	p.netlab("up", "a.hcl")
	guest := p.command("exec", "web-0", "--", "sleep", "1000")
	if err := guest.Start(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the program runs", func() string {
		if !p.sleeps() {
			return "it does not"
		}
		return ""
	})
	kill(t, unix.SIGKILL, p.serving("engine")...)
	if err := guest.Wait(); err == nil {
		t.Error("netlab exec succeeded in a lab that was killed")
	}
	p.expectNothing()
}

func TestKilledEngineAndJanitorAreCleanedUpByTheNextCommand(t *testing.T) {
	t.Parallel()
	for _, next := range [][]string{{"ps"}, {"down"}, {"down", "a"}, {"up", "a.hcl"}} {
		p := newPlace(t)
		p.write("a.hcl", small)
		p.netlab("up", "a.hcl")
		end(t, p.serving("janitor")...)
		end(t, p.serving("engine")...)
		if _, err := os.Stat(filepath.Join(p.state(), "a")); err != nil {
			t.Fatalf("the test proves nothing: %v", err)
		}
		out := p.netlab(next...)
		if next[0] == "up" {
			if !strings.Contains(out, "a is up") {
				t.Errorf("netlab up after the kill: %s", out)
			}
			p.netlab("down")
		}
		p.expectNothing()
	}
}

// A lab without its janitor says so, and the next up starts another, which does its work.
func TestJanitorThatIsGoneIsNamedAndStartedAgain(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write("a.hcl", small)
	p.netlab("up", "a.hcl")
	end(t, p.serving("janitor")...)
	out, err := p.command("status", "a").CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != command.ExitFailed || !strings.Contains(string(out), "the janitor is gone") {
		t.Errorf("netlab status: %v: %s", err, out)
	}
	p.netlab("up", "a.hcl")
	if out := p.netlab("status", "a"); out != "a: as planned\n" {
		t.Errorf("netlab status: %s", out)
	}
	kill(t, unix.SIGKILL, p.serving("engine")...)
	eventually(t, "the janitor has removed the folder", func() string {
		if _, err := os.Stat(filepath.Join(p.state(), "a")); err == nil {
			return p.state()
		}
		return ""
	})
	p.expectNothing()
}

func kill(t testing.TB, signal unix.Signal, pids ...int) {
	t.Helper()
	if len(pids) == 0 {
		t.Fatal("there is no process to kill")
	}
	for _, pid := range pids {
		if err := unix.Kill(pid, signal); err != nil {
			t.Fatal(err)
		}
	}
}

// end kills processes and waits until the kernel has released all that they held:
// their command lines are gone before their locks are.
func end(t testing.TB, pids ...int) {
	t.Helper()
	var fds []int
	for _, pid := range pids {
		fd, err := unix.PidfdOpen(pid, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer unix.Close(fd)
		fds = append(fds, fd)
	}
	kill(t, unix.SIGKILL, pids...)
	for i, fd := range fds {
		eventually(t, "a killed process is gone", func() string {
			if n, _ := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 0); n > 0 {
				return ""
			}
			return fmt.Sprint(pids[i])
		})
	}
}

// life measures how long netlab up takes here.
func (p *testPlace) life(args ...string) time.Duration {
	p.t.Helper()
	started := time.Now()
	p.netlab(args...)
	return time.Since(started)
}

// moments calls fn with times across the life of a command, and beyond, in random
// order. How long a command runs depends on the load of the machine: fn says whether
// the command had ended by itself.
func moments(n int, life time.Duration, fn func(after time.Duration) (ended bool)) {
	for _, part := range rand.Perm(n) {
		share := (float64(part) + rand.Float64()) / float64(n) * 5 / 4
		ended := fn(time.Duration(share * float64(life)))
		switch {
		case ended && share < 1:
			life = life * 3 / 4
		case !ended && share > 1:
			life = life * 4 / 3
		}
	}
}

func TestKilledUpLeavesNothingOrTheWholeLab(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write("a.hcl", small)
	life := p.life("up", "a.hcl")
	p.netlab("down")
	p.expectNothing()
	halfWay := 0
	moments(50, life, func(after time.Duration) bool {
		up := p.command("up", "a.hcl")
		if err := up.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(after) // the moment is random, so there is nothing to poll for
		_ = up.Process.Kill()
		ended := up.Wait() == nil
		if !ended {
			halfWay++
		}
		p.expectNothingOrALab("a", "a.hcl")
		return ended
	})
	if halfWay < 15 {
		t.Errorf("only %d of 50 commands were killed midway", halfWay)
	}
}

// expectNothingOrALab waits until a command that was ended has left nothing, or
// the whole lab, and takes that down.
func (p *testPlace) expectNothingOrALab(name, file string) {
	p.t.Helper()
	eventually(p.t, "there is nothing, or the whole lab", func() string {
		if len(p.processes()) == 0 {
			return ""
		}
		// An engine that is about to end with its parent may still answer.
		if r := p.try("status", name); r.status != 0 {
			return r.out + r.err
		}
		return ""
	})
	p.netlab("down", name)
	p.expectNothing()
}

func TestInterruptedUpLeavesNothing(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write("a.hcl", small)
	life := p.life("up", "a.hcl")
	p.netlab("down")
	interrupted := 0
	moments(30, life, func(after time.Duration) bool {
		up := p.command("up", "a.hcl")
		if err := up.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(after)
		_ = up.Process.Signal(os.Interrupt)
		_ = up.Wait()
		switch status := up.ProcessState.Sys().(syscall.WaitStatus); {
		case status.Signaled(): // it was not yet ready to catch the signal
		case status.ExitStatus() == command.ExitInterrupted:
			interrupted++
		case status.ExitStatus() == command.ExitOK:
			if out := p.netlab("down", "a"); out != "a is down\n" {
				t.Errorf("up succeeded, then: %s", out)
			}
		default:
			t.Errorf("up ended with %v after an interrupt", up.ProcessState)
		}
		// Immediately: it cleaned up before it ended.
		if left := p.serving("engine"); len(left) > 0 {
			t.Errorf("after %v the engine still runs", after)
		}
		p.expectNothing()
		return up.ProcessState.Success()
	})
	if interrupted < 5 {
		t.Errorf("only %d of 30 commands were interrupted", interrupted)
	}
}

func TestInterruptedUpdateLeavesTheLabAsItWas(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write("a.hcl", small)
	p.netlab("up", "a.hcl")
	life := p.life("up", "--var", "replicas=40", "a.hcl")
	p.netlab("up", "a.hcl")
	back := 0
	moments(15, life, func(after time.Duration) bool {
		up := p.command("up", "--var", "replicas=40", "a.hcl")
		if err := up.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(after)
		_ = up.Process.Signal(os.Interrupt)
		_ = up.Wait()
		if up.ProcessState.ExitCode() == command.ExitOK {
			p.netlab("up", "a.hcl")
			return true
		}
		back++
		if out := p.netlab("plan", "--diff", "a.hcl"); out != "a: no change\n" {
			t.Errorf("interrupted after %v: %s", after, out)
		}
		p.netlab("status")
		return false
	})
	if back < 3 {
		t.Errorf("only %d of 15 updates were interrupted", back)
	}
	p.netlab("down")
	p.expectNothing()
}

// What an interrupted test did not get to is no failure.
func TestInterruptedTestSaysWhatDidNotRun(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write("a.hcl", small+`
pod "lonely" { node = node.node1 }
expect "nothing answers, for long" {
  from    = pod.lonely
  to      = "10.99.0.1:80"
  outcome = "timeout"
  within  = "60s"
}
expect "nor there" {
  from    = pod.lonely
  to      = "10.99.0.2:80"
  outcome = "timeout"
  within  = "60s"
}
`)
	for _, after := range []time.Duration{10 * time.Millisecond, 3 * time.Second} {
		test := p.command("test", "a.hcl")
		var out, errs bytes.Buffer
		test.Stdout, test.Stderr = &out, &errs
		if err := test.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(after)
		_ = test.Process.Signal(os.Interrupt)
		_ = test.Wait()
		status := test.ProcessState.Sys().(syscall.WaitStatus)
		if status.Signaled() { // it was not yet ready to catch the signal
			continue
		}
		if status.ExitStatus() != command.ExitInterrupted || strings.Contains(out.String(), "✗") || strings.Contains(out.String(), "failed") {
			t.Errorf("after %v: %v\n%s%s", after, test.ProcessState, out.String(), errs.String())
		}
		if after > time.Second && !strings.Contains(out.String(), "2 not run") {
			t.Errorf("after %v: %s", after, out.String())
		}
	}
	p.expectNothing()
}
