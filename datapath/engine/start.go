//go:build linux

package engine

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// The roles in which the program starts itself, in the environment.
const (
	roleVariable = "NLAB_ROLE"
	roleEngine   = "engine"
	roleJanitor  = "janitor"
)

// Descriptors that a started engine finds.
const (
	lifelineFD = 3 + iota
	aboveFD
	rootFD
	dirFD
	listenerFD
)

// Start starts an engine without a lab in it: Apply builds the lab. With a name
// the lab gets a folder, so that other commands find it; without, it is known to
// the caller only. It ends with the caller, until Detach. ErrRunning means that a
// lab of that name runs already.
func Start(ctx context.Context, name string) (*Client, error) {
	var f *folder
	var listener *os.File
	if name != "" {
		var err error
		if f, err = claim(name); err != nil {
			return nil, err
		}
		defer f.close()
		if listener, err = listen(f); err != nil {
			f.remove()
			return nil, err
		}
		defer listener.Close()
	}
	c, err := spawn(ctx, f, listener)
	if err != nil && f != nil {
		f.remove()
	}
	return c, err
}

func listen(f *folder) (*os.File, error) {
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: f.path(socketFile), Net: "unix"})
	if err != nil {
		return nil, fmt.Errorf("state folder: control socket: %w", unwrapAll(err))
	}
	defer l.Close()
	l.SetUnlinkOnClose(false)
	return l.File()
}

// unwrapAll returns the innermost error: paths of descriptors help nobody.
func unwrapAll(err error) error {
	for errors.Unwrap(err) != nil {
		err = errors.Unwrap(err)
	}
	return err
}

// spawn starts the engine, and the janitor of its folder.
func spawn(ctx context.Context, f *folder, listener *os.File) (*Client, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	ours, theirs, err := lifeline()
	if err != nil {
		return nil, err
	}
	defer theirs.Close()
	c := &Client{lifeline: ours}
	files := []*os.File{theirs}
	if f != nil {
		files = append(append(files, f.files()...), listener)
		log, err := os.OpenFile(f.path(logFile), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
		if err != nil {
			ours.Close()
			return nil, fmt.Errorf("state folder: log: %w", unwrapAll(err))
		}
		defer log.Close()
		c.cmd, err = startIsolated(files, log)
		if err != nil {
			ours.Close()
			return nil, err
		}
	} else if c.cmd, err = startIsolated(files, nil); err != nil {
		ours.Close()
		return nil, err
	}
	if f != nil {
		if err := c.keep(f); err != nil {
			c.Abandon()
			return nil, err
		}
	}
	return c, nil
}

// keep starts the janitor and notes both processes in the folder.
func (c *Client) keep(f *folder) error {
	// A file of its own: its lock must wait for the engine's.
	own, err := openFolder(f.name)
	if err != nil {
		return err
	}
	defer own.close()
	c.janitor = self(roleJanitor)
	c.janitor.Args = []string{"netlab", roleJanitor, f.name}
	c.janitor.ExtraFiles = own.files()
	c.janitor.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := c.janitor.Start(); err != nil {
		return fmt.Errorf("start janitor: %w", err)
	}
	pids := fmt.Sprintf("%d %d\n", c.cmd.Process.Pid, c.janitor.Process.Pid)
	return f.write(pidFile, []byte(pids))
}

// lifeline is a pair of sockets: commands go over it one packet at a time, and
// its end is how each side learns of the other's death.
func lifeline() (ours, theirs *os.File, err error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("socketpair: %w", err)
	}
	return os.NewFile(uintptr(fds[0]), "lifeline"), os.NewFile(uintptr(fds[1]), "lifeline"), nil
}

// startIsolated starts the engine in namespaces of its own: without a user
// namespace where we have the right to, else with one in which we are root.
func startIsolated(files []*os.File, log *os.File) (*exec.Cmd, error) {
	const isolated = unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWNET | unix.CLONE_NEWUTS
	start := func(flags uintptr) (*exec.Cmd, error) {
		cmd := self(roleEngine)
		cmd.Args = []string{"netlab", roleEngine}
		cmd.ExtraFiles = files
		if log != nil {
			cmd.Stderr = log
		} else {
			cmd.Stderr = os.Stderr
		}
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Cloneflags: flags}
		if flags&unix.CLONE_NEWUSER != 0 {
			cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
			cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}
		}
		return cmd, cmd.Start()
	}
	if os.Getuid() == 0 {
		cmd, err := start(isolated)
		if !errors.Is(err, unix.EPERM) {
			return cmd, err
		}
	}
	cmd, err := start(isolated | unix.CLONE_NEWUSER)
	if err != nil {
		return nil, &IsolationError{Err: err}
	}
	return cmd, nil
}

// IsolationError says that this machine does not let us make the namespaces that
// a lab lives in.
type IsolationError struct{ Err error }

func (e *IsolationError) Error() string {
	return fmt.Sprintf("create the namespaces of the lab: %v", e.Err)
}

// Unwrap returns the cause.
func (e *IsolationError) Unwrap() error { return e.Err }

func self(role string) *exec.Cmd {
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), roleVariable+"="+role)
	return cmd
}

// processes reads who serves a lab: the engine and its janitor.
func (f *folder) processes() []int {
	data, err := os.ReadFile(f.path(pidFile))
	if err != nil {
		return nil
	}
	var pids []int
	for _, word := range strings.Fields(string(data)) {
		if pid, err := strconv.Atoi(word); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}
