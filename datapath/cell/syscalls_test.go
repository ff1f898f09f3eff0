//go:build linux

package cell

import (
	"testing"

	seccomp "github.com/elastic/go-seccomp-bpf"
	"github.com/elastic/go-seccomp-bpf/arch"
	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// What the filter says of calls, on a machine that runs such programs.
func TestFilter(t *testing.T) {
	raw, err := filter()
	if err != nil {
		t.Fatal(err)
	}
	rules, whole := bpf.Disassemble(raw)
	if !whole {
		t.Fatal("the filter cannot be read back")
	}
	vm, err := bpf.NewVM(rules)
	if err != nil {
		t.Fatal(err)
	}
	here, err := arch.GetInfo("")
	if err != nil {
		t.Fatal(err)
	}
	refused := func(e unix.Errno) uint32 { return uint32(seccomp.ActionErrno) | uint32(e) }
	allowed, killed := uint32(seccomp.ActionAllow), uint32(seccomp.ActionKillProcess)
	native := uint32(here.ID)
	for _, row := range []struct {
		name  string
		arch  uint32
		call  uintptr
		first uint64
		want  uint32
	}{
		{"read", native, unix.SYS_READ, 0, allowed},
		{"execve", native, unix.SYS_EXECVE, 0, allowed},
		{"a thread", native, unix.SYS_CLONE, unix.CLONE_VM | unix.CLONE_THREAD, allowed},
		{"a process", native, unix.SYS_CLONE, uint64(unix.SIGCHLD), allowed},
		{"a user namespace", native, unix.SYS_CLONE, unix.CLONE_NEWUSER, refused(unix.EPERM)},
		{"a network namespace", native, unix.SYS_CLONE, unix.CLONE_NEWNET | uint64(unix.SIGCHLD), refused(unix.EPERM)},
		{"a time namespace", native, unix.SYS_UNSHARE, unix.CLONE_NEWTIME, refused(unix.EPERM)},
		{"clone3", native, unix.SYS_CLONE3, 0, refused(unix.ENOSYS)},
		{"mount", native, unix.SYS_MOUNT, 0, refused(unix.EPERM)},
		{"bpf", native, unix.SYS_BPF, 0, refused(unix.EPERM)},
		{"another architecture", native ^ 1, unix.SYS_READ, 0, killed},
		{"x32", native, unix.SYS_MOUNT | 0x40000000, 0, x32(here)},
	} {
		// The machine of x/net/bpf reads big-endian words, and a filter those of the host.
		data := words(uint32(row.call), row.arch, 0, 0, uint32(row.first), uint32(row.first>>32), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
		got, err := vm.Run(data)
		if err != nil || uint32(got) != row.want {
			t.Errorf("%s: %#x (%v), want %#x", row.name, uint32(got), err, row.want)
		}
	}
}

// x32 is what becomes of calls with those numbers: only one architecture has them.
func x32(here *arch.Info) uint32 {
	if here.ID == arch.X86_64.ID {
		return uint32(seccomp.ActionErrno) | uint32(unix.ENOSYS)
	}
	return uint32(seccomp.ActionAllow)
}

func words(list ...uint32) []byte {
	var b []byte
	for _, w := range list {
		b = append(b, byte(w>>24), byte(w>>16), byte(w>>8), byte(w))
	}
	return b
}
