//go:build linux

package engine

import (
	"cmp"
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/netlab/netlab/datapath/cell"
	"github.com/netlab/netlab/datapath/netns"
	"github.com/netlab/netlab/datapath/plan/occupant"
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
	req := request{Verb: verbExec, Command: command{Netns: cmd.Netns, Program: cmd.Program, Confined: cmd.Confined, Argv: cmd.Argv, Env: cmd.Env, Dir: cmd.Dir, TTY: cmd.TTY}}
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
func (e *engine) exec(c command, files []*os.File, more *gob.Decoder) (reply, error) {
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

// startGuest starts the program in the network namespace, with a mount namespace
// of its own where /sys shows that network namespace and /etc/hosts the lab. Leave is
// called when it has ended.
func (e *engine) startGuest(c command, files []*os.File) (cmd *exec.Cmd, leave func(), err error) {
	e.mu.RLock()
	defer e.mu.RUnlock()
	leave = func() {}
	ns, err := e.kernel.Namespace(c.Netns)
	if err != nil {
		return nil, nil, err
	}
	if c.Confined {
		e.inside.visit(c.Netns)
		cmd, leave, err = e.inside.confine(ns, c, files)
		if err != nil {
			return nil, nil, &CommandError{Program: c.Argv[0], Why: err.Error()}
		}
		return cmd, leave, nil
	}
	path, err := lookPath(c.Argv[0], c.Env)
	if err != nil {
		return nil, nil, err
	}
	cmd = &exec.Cmd{Path: path, Args: c.Argv, Env: c.Env, Dir: c.Dir, Stdin: files[0], Stdout: files[1], Stderr: files[2]}
	if !isDir(c.Dir) {
		cmd.Dir = "/"
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: c.TTY}
	e.inside.visit(c.Netns)
	err = ns.Do(func() error {
		if err := e.inside.furnish(c); err != nil {
			return err
		}
		return cmd.Start()
	})
	if err != nil {
		return nil, nil, &CommandError{Program: c.Argv[0], NotFound: errors.Is(err, fs.ErrNotExist), Why: unwrapAll(err).Error()}
	}
	return cmd, leave, nil
}

// confine starts it in the cell of the program of its pod, or else in one of its own.
func (in *inside) confine(ns *netns.NS, c command, files []*os.File) (cmd *exec.Cmd, leave func(), err error) {
	x, pid := occupant.Exec{Name: c.Netns[strings.LastIndexByte(c.Netns, '.')+1:]}, 0
	for _, p := range in.programs() {
		if p.Name == c.Program {
			x, pid = p.Exec, p.confinedPID()
		}
	}
	leave = func() {}
	if pid == 0 {
		keeper, err := keep(ns, &x, in.etcOf(c.Netns, c.Program))
		if err != nil {
			return nil, nil, err
		}
		pid = keeper.Process.Pid
		leave = func() { _ = keeper.Process.Kill(); _ = keeper.Wait() }
	}
	err = ns.Do(func() (err error) {
		cmd, err = cell.Join(confined(&x, c.Argv), pid, opener(ns), c.TTY, files[0], files[1], files[2])
		return err
	})
	if err != nil {
		leave()
	}
	return cmd, leave, err
}

// furnish gives the calling thread the files that a user's command sees: those of the
// program of a pod, or else of the machine.
func (in *inside) furnish(c command) error {
	for _, p := range in.programs() {
		if p.Name != c.Program {
			continue
		}
		if there, err := p.enter(); there {
			return err
		}
	}
	_ = decorate(in.etcOf(c.Netns, c.Program))
	return nil
}

// decorate gives the calling thread its own mounts. They are a convenience, so that
// refusals, as in some containers, are not errors, except for the mount namespace.
func decorate(of etc) error {
	if err := unix.Unshare(unix.CLONE_FS | unix.CLONE_NEWNS); err != nil {
		return os.NewSyscallError("unshare", err)
	}
	_ = unix.Mount("sysfs", "/sys", "sysfs", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "")
	of.mount()
	return nil
}

// lookPath finds a program on the user's PATH, with the folders of the network
// tools added.
func lookPath(name string, env []string) (string, error) {
	if strings.Contains(name, "/") {
		return name, nil
	}
	path := os.Getenv("PATH")
	for _, v := range env {
		if p, ok := strings.CutPrefix(v, "PATH="); ok {
			path = searchPath(p)
		}
	}
	if file := cell.OnPath(name, path); file != "" {
		return file, nil
	}
	return "", &CommandError{Program: name, NotFound: true, Why: "command not found"}
}

// searchPath adds the folders of the network's tools to a PATH: on Debian, ordinary
// users lack them. Without any PATH, the usual folders are used, as in shells: an empty
// element would mean the working folder.
func searchPath(path string) string {
	if path == "" {
		path = "/usr/local/bin:/usr/bin:/bin"
	}
	return path + ":/usr/local/sbin:/usr/sbin:/sbin"
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
