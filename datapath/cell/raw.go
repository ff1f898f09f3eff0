//go:build linux

package cell

import (
	"os"
	"runtime"
	"unsafe"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// A program in a user namespace of its own has no capability over the network namespace of its
// pod, which was made outside. So it asks the engine for sockets that need one: the kernel
// holds its call, and the engine answers it with a socket of that network namespace
// (seccomp_unotify(2)). Without kernels that can do this (before 5.14), programs have no raw
// sockets.

// Opener opens a socket in the network namespace of a cell, as socket(2).
type Opener func(domain, kind, protocol int) (fd int, err error)

// kindOfSocket are the bits of the type of a socket that are no flags (SOCK_TYPE_MASK in
// linux/net.h).
const kindOfSocket = 0xf

// wants are the sockets that a program gets from outside: raw ones of IP, and those of packets.
func wants(domain, kind int) bool {
	switch domain {
	case unix.AF_INET, unix.AF_INET6:
		return kind&kindOfSocket == unix.SOCK_RAW
	}
	return domain == unix.AF_PACKET
}

// asking is the filter that stops the calls for such sockets (struct seccomp_data).
var asking = []bpf.Instruction{
	bpf.LoadAbsolute{Off: 0, Size: 4}, // nr
	bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: unix.SYS_SOCKET, SkipTrue: 7},
	bpf.LoadAbsolute{Off: lowHalf(0), Size: 4},
	bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.AF_PACKET, SkipTrue: 6},
	bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.AF_INET, SkipTrue: 1},
	bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: unix.AF_INET6, SkipTrue: 3},
	bpf.LoadAbsolute{Off: lowHalf(1), Size: 4},
	bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: kindOfSocket},
	bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.SOCK_RAW, SkipTrue: 1},
	bpf.RetConstant{Val: unix.SECCOMP_RET_ALLOW},
	bpf.RetConstant{Val: unix.SECCOMP_RET_USER_NOTIF},
}

// lowHalf is where the lower half of an argument is.
func lowHalf(argument uint32) uint32 {
	const args = 16
	if bigEndian {
		return args + 8*argument + 4
	}
	return args + 8*argument
}

var bigEndian = func() bool { x := uint16(1); return *(*byte)(unsafe.Pointer(&x)) == 0 }()

// ask stops those calls of the calling thread from now on, and sends where they are answered
// to a socket, unless this kernel cannot.
func ask(to *os.File) error {
	rules, err := bpf.Assemble(asking)
	if err != nil {
		return err
	}
	fd, errno := install(rules, unix.SECCOMP_FILTER_FLAG_NEW_LISTENER)
	if errno != 0 {
		return nil
	}
	return unix.Sendmsg(int(to.Fd()), []byte{0}, unix.UnixRights(int(fd)), nil, 0)
}

// The structs of linux/seccomp.h.
type (
	notification struct {
		id         uint64
		pid, flags uint32
		nr         int32
		arch       uint32
		ip         uint64
		args       [6]uint64
	}
	response struct {
		id    uint64
		val   int64
		error int32
		flags uint32
	}
	addition struct {
		id                           uint64
		flags, srcfd, newfd, fdflags uint32
	}
)

// answer gives programs the sockets that they ask for, until the last of them has ended.
func answer(listener *os.File, open Opener) {
	defer listener.Close()
	conn, err := listener.SyscallConn()
	if err != nil {
		return
	}
	over := false
	look := func(fd uintptr, wait int) bool {
		waiting := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		if n, _ := unix.Poll(waiting, wait); n <= 0 {
			return false
		}
		switch is := waiting[0].Revents; {
		case is&unix.POLLIN != 0:
			reply(fd, open)
		case is&unix.POLLHUP != 0:
			over = true
		}
		return true
	}
	for !over {
		if conn.Read(func(fd uintptr) bool { return look(fd, 0) }) == nil {
			continue
		}
		// A signal that comes while the kernel looks at the listener makes it report an error
		// (seccomp_notify_poll), after which the runtime waits for no more events.
		if conn.Control(func(fd uintptr) { look(fd, -1) }) != nil {
			return
		}
	}
}

// reply answers one call.
func reply(fd uintptr, open Opener) {
	var n notification
	if ioctl(fd, unix.SECCOMP_IOCTL_NOTIF_RECV, unsafe.Pointer(&n)) != 0 {
		return // it was interrupted
	}
	r := response{id: n.id, error: -int32(unix.EPERM)}
	domain, kind := int(int32(n.args[0])), int(int32(n.args[1]))
	if wants(domain, kind) {
		s, err := open(domain, kind|unix.SOCK_CLOEXEC, int(int32(n.args[2])))
		if err == nil {
			defer unix.Close(s)
			a := addition{id: n.id, flags: unix.SECCOMP_ADDFD_FLAG_SEND, srcfd: uint32(s), fdflags: uint32(kind & unix.SOCK_CLOEXEC)}
			if undisturbed(func() bool { return ioctl(fd, unix.SECCOMP_IOCTL_NOTIF_ADDFD, unsafe.Pointer(&a)) == 0 }) {
				return
			}
		} else if errno, ok := err.(unix.Errno); ok {
			r.error = -int32(errno)
		}
	}
	_ = ioctl(fd, unix.SECCOMP_IOCTL_NOTIF_SEND, unsafe.Pointer(&r))
}

// undisturbed calls a function on a thread that takes no signals. One that comes while the kernel
// hands over a descriptor takes it out of the answer, which counts as given (seccomp_notify_addfd):
// the program would go on with a socket that it does not have.
func undisturbed(fn func() bool) bool {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var all, before unix.Sigset_t
	for i := range all.Val {
		all.Val[i] = ^all.Val[i]
	}
	if unix.PthreadSigmask(unix.SIG_BLOCK, &all, &before) == nil {
		defer func() { _ = unix.PthreadSigmask(unix.SIG_SETMASK, &before, nil) }()
	}
	return fn()
}

func ioctl(fd uintptr, request uint, arg unsafe.Pointer) unix.Errno {
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, fd, uintptr(request), uintptr(arg))
	return errno
}
