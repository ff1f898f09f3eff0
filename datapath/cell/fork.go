//go:build linux

package cell

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A process enters a user namespace only while it has a single thread (setns(2)), and a Go
// program has several before main begins. So one that is to run in a user namespace that
// exists already enters it between fork and exec, as package syscall does other things there.

//go:linkname beforeFork syscall.runtime_BeforeFork
func beforeFork()

//go:linkname afterFork syscall.runtime_AfterFork
func afterFork()

//go:linkname afterForkInChild syscall.runtime_AfterForkInChild
func afterForkInChild()

// birth is what a new process does before it becomes a program. Nothing in it may move.
type birth struct {
	users  uintptr    // the user namespace that it enters
	flags  uintptr    // its other namespaces, which belong to that one
	groups bool       // it gives up the groups of its parent
	tty    bool       // its standard input becomes its terminal
	files  [5]uintptr // its descriptors, all above those
	path   *byte
	argv   []*byte // with a nil at the end, as env
	env    []*byte
	tell   uintptr // a pipe, for two numbers: the process, and why there is none
	failed []byte  // what it says on failFD when it cannot become the program
}

// enter starts the program of this process, again, as root of a user namespace and as the
// first process of a PID namespace in it.
func enter(users *os.File, flags uintptr, tty bool, env []string, files [5]*os.File) (*exec.Cmd, error) {
	path, err := syscall.BytePtrFromString("/proc/self/exe")
	if err != nil {
		return nil, err
	}
	argv, err := syscall.SlicePtrFromStrings([]string{"netlab", "cell"})
	if err != nil {
		return nil, err
	}
	envp, err := syscall.SlicePtrFromStrings(env)
	if err != nil {
		return nil, err
	}
	b := &birth{users: users.Fd(), flags: flags, groups: Owner() != 0, tty: tty, path: path, argv: argv, env: envp, failed: []byte(refused + "its process did not begin")}
	for i, f := range files {
		fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 16)
		if err != nil {
			return nil, os.NewSyscallError("fcntl", err)
		}
		defer unix.Close(fd)
		b.files[i] = uintptr(fd)
	}
	hear, tell, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer hear.Close()
	b.tell = tell.Fd()
	syscall.ForkLock.Lock() // of all that begin processes, so that none inherits what is not its own
	middle, errno := b.fork()
	syscall.ForkLock.Unlock()
	runtime.KeepAlive(b)
	tell.Close()
	if errno != 0 {
		return nil, os.NewSyscallError("clone", errno)
	}
	var said [2]int32
	err = binary.Read(hear, binary.NativeEndian, &said)
	for {
		if _, e := unix.Wait4(int(middle), nil, 0, nil); !errors.Is(e, unix.EINTR) {
			break
		}
	}
	switch {
	case err != nil:
		return nil, fmt.Errorf("begin a process: %w", err)
	case said[1] != 0:
		return nil, fmt.Errorf("enter the user namespace: %w", unix.Errno(said[1]))
	}
	process, err := os.FindProcess(int(said[0]))
	if err != nil {
		return nil, err
	}
	return &exec.Cmd{Process: process}, nil
}

// fork makes a process that enters the user namespace and makes another, a child of this
// program, in it. After a fork there is one thread, and no runtime: nothing may allocate, or
// grow the stack.
//
//go:noinline
//go:norace
//go:nocheckptr
func (b *birth) fork() (middle uintptr, errno syscall.Errno) {
	beforeFork()
	middle, _, errno = syscall.RawSyscall6(unix.SYS_CLONE, uintptr(unix.SIGCHLD), 0, 0, 0, 0, 0)
	if middle != 0 || errno != 0 {
		afterFork()
		return middle, errno
	}
	afterForkInChild()
	var said [2]int32
	child, errno := uintptr(0), syscall.Errno(0)
	_, _, errno = syscall.RawSyscall(unix.SYS_SETNS, b.users, unix.CLONE_NEWUSER, 0)
	if errno == 0 && b.groups {
		_, _, errno = syscall.RawSyscall(unix.SYS_SETGROUPS, 0, 0, 0)
	}
	if errno == 0 {
		_, _, errno = syscall.RawSyscall(unix.SYS_SETRESGID, 0, 0, 0)
	}
	if errno == 0 {
		_, _, errno = syscall.RawSyscall(unix.SYS_SETRESUID, 0, 0, 0)
	}
	if errno == 0 {
		child, _, errno = syscall.RawSyscall6(unix.SYS_CLONE, b.flags|unix.CLONE_PARENT|uintptr(unix.SIGCHLD), 0, 0, 0, 0, 0)
		if errno == 0 && child == 0 {
			b.become()
		}
	}
	said[0], said[1] = int32(child), int32(errno)
	syscall.RawSyscall(unix.SYS_WRITE, b.tell, uintptr(unsafe.Pointer(&said)), unsafe.Sizeof(said))
	for {
		syscall.RawSyscall(unix.SYS_EXIT_GROUP, 0, 0, 0)
	}
}

// become turns the new process into the program.
//
//go:nosplit
//go:norace
//go:nocheckptr
func (b *birth) become() {
	syscall.RawSyscall(unix.SYS_SETSID, 0, 0, 0)
	for i := range b.files {
		syscall.RawSyscall(unix.SYS_DUP3, b.files[i], uintptr(i), 0)
	}
	if b.tty {
		syscall.RawSyscall(unix.SYS_IOCTL, 0, unix.TIOCSCTTY, 1)
	}
	syscall.RawSyscall(unix.SYS_EXECVE, uintptr(unsafe.Pointer(b.path)), uintptr(unsafe.Pointer(&b.argv[0])), uintptr(unsafe.Pointer(&b.env[0])))
	syscall.RawSyscall(unix.SYS_WRITE, failFD, uintptr(unsafe.Pointer(&b.failed[0])), uintptr(len(b.failed)))
	for {
		syscall.RawSyscall(unix.SYS_EXIT_GROUP, 126, 0, 0)
	}
}
