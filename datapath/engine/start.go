//go:build linux

package engine

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// The roles in which the program re-executes itself, in the environment.
const (
	roleVariable = "NLAB_ROLE"
	roleEngine   = "engine"
	roleJanitor  = "janitor"
)

// Descriptors that a started engine inherits.
const (
	lifelineFD = 3 + iota
	aboveFD
	rootFD
	dirFD
	listenerFD
)

// Start starts an engine without a lab in it: Apply builds the lab. With a name the lab
// gets a folder, so that other commands find it; without one, only the caller knows it.
// It ends with the caller, until Detach. ErrRunning means that a lab of that name is
// already running.
func Start(ctx context.Context, name string) (*Client, error) {
	c, err := start(ctx, name)
	if err != nil {
		return nil, limited(err)
	}
	return c, nil
}

func start(ctx context.Context, name string) (*Client, error) {
	if name == "" {
		return spawn(ctx, nil, nil)
	}
	if locked(name) {
		return nil, ErrRunning // without starting a janitor needlessly
	}
	j, err := startJanitor(name)
	if err != nil {
		return nil, err
	}
	c, err := startNamed(ctx, name, j)
	if err != nil {
		j.dismiss()
		return nil, err
	}
	c.name, c.janitor = name, j
	return c, nil
}

func startNamed(ctx context.Context, name string, j *janitor) (*Client, error) {
	f, err := claim(name)
	if err != nil {
		return nil, err
	}
	defer f.close()
	j.engage()
	listener, err := listen(f)
	if err != nil {
		f.remove()
		return nil, err
	}
	defer listener.Close()
	c, err := spawn(ctx, f, listener)
	if err != nil {
		f.remove()
		return nil, err
	}
	if err := f.write(pidFile, fmt.Sprintf("%d %d\n", c.cmd.Process.Pid, j.cmd.Process.Pid)); err != nil {
		c.Abandon()
		return nil, err
	}
	return c, nil
}

func listen(f *folder) (*os.File, error) {
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: f.path(socketFile), Net: "unix"})
	if err != nil {
		return nil, fmt.Errorf("%w: control socket: %w", ErrState, unwrapAll(err))
	}
	defer l.Close()
	l.SetUnlinkOnClose(false)
	return l.File()
}

// unwrapAll returns the innermost error: descriptor paths are useless to users.
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
	log, err := openLog(f)
	if err != nil {
		ours.Close()
		return nil, err
	}
	c := &Client{lifeline: ours, log: log, memory: memoryLimits(os.Getpid())}
	files := []*os.File{theirs}
	if f != nil {
		files = append(append(files, f.files()...), listener)
	}
	if c.cmd, err = startIsolated(files, log); err != nil {
		ours.Close()
		log.Close()
		return nil, err
	}
	return c, nil
}

// lifeline is a socket pair: commands are sent over it one packet at a time, and its
// end tells each side of the other's death.
func lifeline() (ours, theirs *os.File, err error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("socketpair: %w", err)
	}
	return os.NewFile(uintptr(fds[0]), "lifeline"), os.NewFile(uintptr(fds[1]), "lifeline"), nil
}

// startIsolated starts the engine in its own namespaces: without a user namespace if we
// are privileged, else with one in which we are root.
func startIsolated(files []*os.File, log *os.File) (*exec.Cmd, error) {
	const isolated = unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWNET | unix.CLONE_NEWUTS
	start := func(flags uintptr) (*exec.Cmd, error) {
		cmd := self(roleEngine)
		cmd.Args = []string{"netlab", roleEngine}
		cmd.ExtraFiles = files
		cmd.Stderr = log
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

// IsolationError means that this machine does not let us create the namespaces of a
// lab.
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
