//go:build linux

package engine

import (
	"cmp"
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/netlab/netlab/datapath/engine/inside"
	"github.com/netlab/netlab/datapath/netns"
)

// Command is a program that a user runs inside a lab.
type Command struct {
	Netns   string // where, as in the plan
	Program string // the pod whose files it sees, if that runs a program; empty: none
	// Confined runs it as a program of the scenario would run there, in a cell: with the
	// environment of the pod's program, and in its root directory.
	Confined              bool
	Argv                  []string
	Env                   []string
	Dir                   string   // working directory; the root directory if it does not exist
	TTY                   bool     // Stdin is to be the program's controlling terminal
	Stdin, Stdout, Stderr *os.File // nil: /dev/null
	// Signals are passed on to the program's process group.
	Signals <-chan os.Signal
}

// Exec runs a program inside the lab, on the given files, and returns its exit status:
// 128 plus the signal's number if a signal ended it.
func (c *Client) Exec(ctx context.Context, cmd Command) (int, error) {
	conn, err := c.dial()
	if err != nil {
		return 0, err
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return 0, err
	}
	defer null.Close()
	fd := func(f *os.File) int { return int(cmp.Or(f, null).Fd()) }
	rights := unix.UnixRights(fd(cmd.Stdin), fd(cmd.Stdout), fd(cmd.Stderr))
	if _, _, err := conn.WriteMsgUnix([]byte{execRequest}, rights, nil); err != nil {
		return 0, c.lost(err)
	}
	encoder := gob.NewEncoder(conn)
	req := request{Verb: verbExec, Command: inside.Command{Netns: cmd.Netns, Program: cmd.Program, Confined: cmd.Confined, Argv: cmd.Argv, Env: cmd.Env, Dir: cmd.Dir, TTY: cmd.TTY}}
	if err := encoder.Encode(req); err != nil {
		return 0, c.lost(err)
	}
	done := make(chan struct{})
	defer close(done)
	watched := c.unlessStopped(conn)
	go func() {
		for {
			select {
			case s := <-cmd.Signals:
				if n, ok := s.(syscall.Signal); ok {
					_ = encoder.Encode(signalled{int(n)})
				}
			case <-done:
				return
			}
		}
	}()
	var r reply
	err = gob.NewDecoder(conn).Decode(&r)
	if stopped := watched(); stopped != nil && err != nil {
		return 0, stopped
	}
	if err != nil {
		if ctx.Err() != nil {
			return 0, ctx.Err()
		}
		return 0, c.lost(err)
	}
	return r.Exit, r.error()
}

// exec runs a user's program, and ends it when the user hangs up.
func (e *engine) exec(c inside.Command, files []*os.File, more *gob.Decoder) (reply, error) {
	if len(files) != 3 || len(c.Argv) == 0 {
		return reply{}, errors.New("malformed request")
	}
	was := e.namespace(c.Netns)
	cmd, leave, err := e.startGuest(c, files)
	if err != nil {
		return reply{}, err
	}
	defer leave()
	group := cmd.Process.Pid
	var g guest
	go func() {
		for {
			var s signalled
			if err := more.Decode(&s); err != nil {
				break
			}
			g.signal(group, unix.Signal(s.Signal))
		}
		// Hung up while the program runs.
		g.signal(group, unix.SIGHUP, unix.SIGCONT, unix.SIGTERM)
		time.AfterFunc(hangUpPatience, func() { g.signal(group, unix.SIGKILL) })
	}()
	err = cmd.Wait()
	g.end()
	status := exitStatus(err)
	if status == 128+int(unix.SIGKILL) && e.working.Err() == nil && e.namespace(c.Netns) != was {
		return reply{}, fmt.Errorf("%s was removed from the lab meanwhile", c.Netns) // and what ran there was killed
	}
	return reply{Exit: status}, nil
}

// namespace is a namespace of the lab; nil: there is none of that name.
func (e *engine) namespace(name string) *netns.NS {
	e.mu.RLock()
	defer e.mu.RUnlock()
	ns, err := e.kernel.Namespace(name)
	if err != nil {
		return nil
	}
	return ns
}

// hangUpPatience is how long a program may take to end when its user hangs up.
const hangUpPatience = time.Second

// guest is a program that a user runs. Once it has ended no signal may be sent to its
// group: background processes stay, and the ID may be reused.
type guest struct {
	mu    sync.Mutex
	ended bool
}

func (g *guest) signal(group int, signals ...unix.Signal) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, s := range signals {
		if !g.ended {
			_ = unix.Kill(-group, s)
		}
	}
}

func (g *guest) end() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.ended = true
}

// startGuest starts the program. Leave is called when it has ended.
func (e *engine) startGuest(c inside.Command, files []*os.File) (cmd *exec.Cmd, leave func(), err error) {
	e.mu.RLock()
	defer e.mu.RUnlock()
	ns, err := e.kernel.Namespace(c.Netns)
	if err != nil {
		return nil, nil, err
	}
	return e.inside.Start(ns, c, files)
}

func exitStatus(err error) int {
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit):
		if s, ok := exit.Sys().(syscall.WaitStatus); ok && s.Signaled() {
			return 128 + int(s.Signal())
		}
		return exit.ExitCode()
	default:
		return 126
	}
}
