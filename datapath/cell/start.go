//go:build linux

package cell

import (
	"encoding/gob"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// Program is what runs in a cell.
type Program struct {
	Argv []string // empty: it only keeps the cell, for those that join it
	Env  []string // KEY=value; all that it has
	Dir  string   // its working directory
	// Image says that its root directory is an image's, not the machine's.
	Image bool
	Host  string // the name that it finds its machine to have
	// NetAdmin lets it change the interfaces, routes and rules of its network namespace,
	// which Network has made: the program runs in the user namespace that this belongs to.
	// What joins it may not.
	NetAdmin bool
}

// variable is the environment variable that makes a process one that enters a cell, with
// its descriptors.
const (
	variable = "NLAB_CELL"
	wordsFD  = 3 // the Program is read from it
	failFD   = 4 // a socket: why it cannot become the program is written to it
	mountsFD = 5 // with an image, of a program that joins: the mount namespace of the cell
)

// inside is what such a process is told.
type inside struct {
	Program
	Fresh bool // it is the first in its cell
	Owner int
}

// RefusedError means that this machine does not let us make a cell.
type RefusedError struct{ Err error }

func (e *RefusedError) Error() string {
	switch {
	case errors.Is(e.Err, unix.ENOSPC):
		return "it cannot be confined: there may be no more user namespaces (sysctl user.max_user_namespaces)"
	case errors.Is(e.Err, unix.EPERM):
		return fmt.Sprintf("it cannot be confined: this machine does not allow what a cell needs: %v", e.Err)
	}
	return fmt.Sprintf("it cannot be confined: %v", e.Err)
}

// Unwrap returns the cause.
func (e *RefusedError) Unwrap() error { return e.Err }

// Start starts a program from the calling thread, which Wall has prepared, as the first
// process of a new cell. It has a session of its own, whose terminal is its standard input
// with tty. Start returns when the program runs, or cannot.
func Start(p Program, open Opener, tty bool, in, out, err *os.File) (*exec.Cmd, error) {
	owner := Owner()
	const own = unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS | unix.CLONE_NEWCGROUP
	x := inside{Program: p, Fresh: true, Owner: owner}
	if !p.NetAdmin {
		attr := withUsers(owner)
		attr.Setsid, attr.Setctty, attr.Cloneflags = true, tty, attr.Cloneflags|own
		return start(x, open, command("/proc/self/exe", attr, nil, in, out, err))
	}
	users, e := ownerOfNetwork()
	if e != nil {
		return nil, &RefusedError{e}
	}
	defer users.Close()
	return start(x, open, func(words, fail *os.File) (*exec.Cmd, error) {
		return enter(users, own, tty, []string{variable + "=1"}, [5]*os.File{in, out, err, words, fail})
	})
}

// Join starts a program beside another, in the cell of that process.
func Join(p Program, pid int, open Opener, tty bool, in, out, err *os.File) (*exec.Cmd, error) {
	owner := Owner() // here, not where /proc is that of the cell
	if err := unix.Unshare(unix.CLONE_FS); err != nil {
		return nil, os.NewSyscallError("unshare", err)
	}
	var spaces, mounts []*os.File
	for _, name := range []string{"cgroup", "ipc", "uts", "pid", "mnt"} {
		f, err := os.Open(fmt.Sprintf("/proc/%d/ns/%s", pid, name))
		if err != nil {
			return nil, err
		}
		defer f.Close()
		if name == "mnt" && p.Image {
			mounts = append(mounts, f)
			continue
		}
		spaces = append(spaces, f)
	}
	self, err1 := os.Open("/proc/self/exe") // of the engine's: no path leads there from inside
	if err1 != nil {
		return nil, err1
	}
	defer self.Close()
	for _, f := range spaces {
		if err := unix.Setns(int(f.Fd()), 0); err != nil {
			return nil, fmt.Errorf("enter %s: %w", f.Name(), err)
		}
	}
	exe := fmt.Sprintf("/proc/self/fd/%d", self.Fd())
	return start(inside{Program: p, Owner: owner}, open, command(exe, &syscall.SysProcAttr{Setsid: true, Setctty: tty}, mounts, in, out, err))
}

// command begins a process as os/exec does.
func command(path string, attr *syscall.SysProcAttr, mounts []*os.File, in, out, err *os.File) func(words, fail *os.File) (*exec.Cmd, error) {
	return func(words, fail *os.File) (*exec.Cmd, error) {
		cmd := &exec.Cmd{Path: path, Args: []string{"netlab", "cell"}, Env: []string{variable + "=1"}, Stdin: in, Stdout: out, Stderr: err,
			ExtraFiles: append([]*os.File{words, fail}, mounts...), SysProcAttr: attr}
		return cmd, cmd.Start()
	}
}

// start begins a process, which gets words and fail as descriptors of those numbers, and tells it
// which program to become.
func start(x inside, open Opener, begin func(words, fail *os.File) (*exec.Cmd, error)) (*exec.Cmd, error) {
	words, say, e1 := os.Pipe()
	if e1 != nil {
		return nil, e1
	}
	defer say.Close()
	ends, e1 := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if e1 != nil {
		words.Close()
		return nil, os.NewSyscallError("socketpair", e1)
	}
	hear, fail := os.NewFile(uintptr(ends[0]), "hear"), os.NewFile(uintptr(ends[1]), "fail")
	defer hear.Close()
	cmd, e1 := begin(words, fail)
	words.Close()
	fail.Close()
	if e1 != nil {
		return nil, &RefusedError{e1}
	}
	e1 = gob.NewEncoder(say).Encode(x)
	say.Close()
	text, listener, e2 := told(hear)
	switch {
	case e1 != nil || e2 != nil:
		e1 = errors.Join(e1, e2)
	case text == "":
		if listener != nil {
			go answer(listener, open)
		}
		return cmd, nil
	default:
		e1 = errors.New(text)
		if rest, ok := strings.CutPrefix(text, refused); ok {
			e1 = &RefusedError{errors.New(rest)}
		}
	}
	if listener != nil {
		listener.Close()
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	return nil, e1
}

// told is what a process says until it becomes the program, or ends: why it cannot, and where
// it asks for sockets.
func told(hear *os.File) (text string, listener *os.File, err error) {
	data, rights := make([]byte, 4096), make([]byte, unix.CmsgSpace(4))
	for {
		n, oobn, _, _, err := unix.Recvmsg(int(hear.Fd()), data, rights, unix.MSG_CMSG_CLOEXEC)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil || n == 0 {
			return text, listener, err
		}
		text += strings.Trim(string(data[:n]), "\x00") // which comes with the descriptor
		messages, err := unix.ParseSocketControlMessage(rights[:oobn])
		if err != nil || len(messages) == 0 {
			continue
		}
		if fds, err := unix.ParseUnixRights(&messages[0]); err == nil && len(fds) == 1 && unix.SetNonblock(fds[0], true) == nil {
			listener = os.NewFile(uintptr(fds[0]), "listener")
		}
	}
}
