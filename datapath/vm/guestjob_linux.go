package vm

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/creack/pty"
)

// do runs one job to its end.
func (g *guest) do(j Job) Outcome {
	started := time.Now()
	outcome := Outcome{Name: j.Name}
	cmd, done, err := g.command(j)
	shown := func() {}
	if err == nil {
		shown, err = g.start(cmd, j)
	}
	if err != nil {
		fmt.Fprintf(g.streams[portErr], "%s: %v\n", j.Argv[0], err)
		outcome.Code = 126
		if errors.Is(err, exec.ErrNotFound) || errors.Is(err, os.ErrNotExist) {
			outcome.Code = 127
		}
		return outcome
	}
	ended := make(chan struct{})
	killed := make(chan bool, 1)
	go func() { killed <- watch(cmd.Process.Pid, j.Limit, ended) }()
	err = cmd.Wait()
	close(ended)
	outcome.Killed = <-killed
	// Processes left by the command would hold its output open and slow the next job.
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	shown()
	done()
	outcome.Took, outcome.Code = time.Since(started), exitCode(cmd, err)
	if outcome.Killed {
		outcome.Code = CodeTimeout
	}
	return outcome
}

// command prepares a job; done is to be called after it has ended.
func (g *guest) command(j Job) (cmd *exec.Cmd, done func(), err error) {
	dir := j.Dir
	if dir == "" {
		dir = "/"
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, nil, err
	}
	cmd = exec.CommandContext(context.Background(), j.Argv[0], j.Argv[1:]...)
	cmd.Dir, cmd.Env = dir, slices.Concat(os.Environ(), g.orders.Env, j.Env, []string{"PWD=" + dir})
	cmd.Stdout, cmd.Stderr = io.Writer(g.streams[portOut]), io.Writer(g.streams[portErr])
	cmd.WaitDelay = time.Second // for output held open by others
	if len(j.Stdin) > 0 {
		cmd.Stdin = bytes.NewReader(j.Stdin)
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	done = func() {}
	if j.Log != "" {
		if err := os.MkdirAll(filepath.Dir(j.Log), 0o755); err != nil {
			return nil, nil, err
		}
		log, err := os.Create(j.Log)
		if err != nil {
			return nil, nil, err
		}
		cmd.Stdout, cmd.Stderr = io.MultiWriter(cmd.Stdout, log), io.MultiWriter(cmd.Stderr, log)
		done = func() { log.Close() }
	}
	return cmd, done, nil
}

// start starts a job, on a terminal if it wants one. shown is to be called after it has
// ended; it returns when all output has been passed on.
func (g *guest) start(cmd *exec.Cmd, j Job) (shown func(), err error) {
	if !j.TTY {
		return func() {}, cmd.Start()
	}
	// A terminal has a session, and so a process group, of its own.
	cmd.SysProcAttr = nil
	cmd.Stdin, cmd.Stdout, cmd.Stderr = nil, nil, nil
	terminal := g.streams[portTerminal]
	master, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: j.Rows, Cols: j.Cols})
	if err != nil {
		return nil, err
	}
	var copied sync.WaitGroup
	copied.Go(func() { _, _ = io.Copy(terminal, master) }) // ends when the other side is closed
	// The machine ends with this job, and so does this.
	go func() { _, _ = io.Copy(master, terminal.file) }()
	go func() {
		for size := range g.size {
			_ = pty.Setsize(master, &pty.Winsize{Rows: size.Rows, Cols: size.Cols})
		}
	}()
	return copied.Wait, nil
}

// watch kills a process group that exceeds its limit, and reports whether it did.
func watch(group int, limit time.Duration, ended <-chan struct{}) (killed bool) {
	if limit <= 0 {
		<-ended
		return false
	}
	for _, step := range []struct {
		after  time.Duration
		signal syscall.Signal
	}{{limit, syscall.SIGQUIT}, {quitPatience, syscall.SIGKILL}} {
		timer := time.NewTimer(step.after)
		select {
		case <-ended:
			timer.Stop()
			return killed
		case <-timer.C:
			killed = true
			_ = syscall.Kill(-group, step.signal)
		}
	}
	<-ended
	return killed
}

func exitCode(cmd *exec.Cmd, err error) int {
	if cmd.ProcessState == nil {
		return 126
	}
	status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus)
	if ok && status.Signaled() {
		return 128 + int(status.Signal())
	}
	if code := cmd.ProcessState.ExitCode(); code != 0 || err == nil || errors.Is(err, exec.ErrWaitDelay) {
		return code
	}
	return 126
}
