//go:build linux

package cell

import (
	"errors"
	"slices"
	"unsafe"

	seccomp "github.com/elastic/go-seccomp-bpf"
	"github.com/elastic/go-seccomp-bpf/arch"
	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// denied are the calls that a server does not need, by what they are for.
var denied = slices.Concat(
	// mounts
	[]string{"mount", "umount2", "umount", "pivot_root", "move_mount", "open_tree", "open_tree_attr", "fsopen", "fsconfig", "fsmount", "fspick", "mount_setattr", "statmount", "listmount"},
	// namespaces; clone with their flags follows below
	[]string{"unshare", "setns"},
	// other processes
	[]string{"ptrace", "process_vm_readv", "process_vm_writev", "kcmp", "pidfd_getfd", "process_madvise", "migrate_pages", "move_pages"},
	// files behind the back of the paths
	[]string{"open_by_handle_at", "name_to_handle_at", "fanotify_init", "fanotify_mark", "quotactl", "quotactl_fd", "lookup_dcookie"},
	// programs in the kernel, and what has been a way into it
	[]string{"bpf", "perf_event_open", "userfaultfd", "io_uring_setup", "io_uring_enter", "io_uring_register", "vmsplice"},
	[]string{"init_module", "finit_module", "delete_module", "create_module", "get_kernel_syms", "query_module", "kexec_load", "kexec_file_load"},
	// keys, which are not of any namespace
	[]string{"keyctl", "add_key", "request_key"},
	// the machine
	[]string{"syslog", "acct", "swapon", "swapoff", "reboot", "sethostname", "setdomainname", "settimeofday", "stime", "clock_settime", "clock_settime64", "clock_adjtime", "clock_adjtime64", "adjtimex",
		"iopl", "ioperm", "vhangup", "nfsservctl", "uselib", "_sysctl", "sysfs"},
)

// absent are the calls that programs do without when the kernel does not have them. The
// flags of clone3 are in memory, where a filter cannot see them.
var absent = []string{"clone3"}

// spaces are the flags of clone that make namespaces.
const spaces = unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWNET | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS | unix.CLONE_NEWCGROUP

// filter is the seccomp program (seccomp_filter.rst) of a cell.
func filter() ([]bpf.RawInstruction, error) {
	here, err := arch.GetInfo("")
	if err != nil {
		return nil, err
	}
	known := func(names []string) []string {
		return slices.DeleteFunc(slices.Clone(names), func(n string) bool { _, ok := here.SyscallNames[n]; return !ok })
	}
	flags := []seccomp.NameWithConditions{}
	for bit := uint64(1); bit <= spaces; bit <<= 1 {
		if bit&spaces != 0 {
			flags = append(flags, seccomp.NameWithConditions{Name: "clone", Conditions: seccomp.ArgumentConditions{{Argument: 0, Operation: seccomp.BitsSet, Value: bit}}})
		}
	}
	errno := func(e unix.Errno) seccomp.Action { return seccomp.ActionErrno | seccomp.Action(e) }
	policy := seccomp.Policy{DefaultAction: seccomp.ActionAllow, Syscalls: []seccomp.SyscallGroup{
		{Names: known(denied), NamesWithCondtions: flags, Action: errno(unix.EPERM)},
		{Names: known(absent), Action: errno(unix.ENOSYS)},
	}}
	rules, err := policy.Assemble()
	if err != nil {
		return nil, err
	}
	// Calls of another architecture, as of 32 bits, have other numbers.
	const archOffset = 4 // of struct seccomp_data
	rules = append([]bpf.Instruction{bpf.LoadAbsolute{Off: archOffset, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: uint32(here.ID), SkipTrue: 1}, bpf.RetConstant{Val: uint32(seccomp.ActionKillProcess)}}, rules...)
	return bpf.Assemble(rules)
}

// restrict installs the filter on the calling thread, which cannot gain privileges from
// then on.
func restrict() error {
	rules, err := filter()
	if err != nil {
		return err
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	_, errno := install(rules, 0)
	if errno == unix.ENOSYS || errno == unix.EINVAL { // a kernel without
		return nil
	}
	if errno != 0 {
		return errors.New("seccomp: " + errno.Error())
	}
	return nil
}

// install makes rules a filter of the calling thread, and returns what seccomp(2) does.
func install(rules []bpf.RawInstruction, flags uintptr) (uintptr, unix.Errno) {
	raw := make([]unix.SockFilter, len(rules))
	for i, r := range rules {
		raw[i] = unix.SockFilter{Code: r.Op, Jt: r.Jt, Jf: r.Jf, K: r.K}
	}
	prog := unix.SockFprog{Len: uint16(len(raw)), Filter: &raw[0]}
	result, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags, uintptr(unsafe.Pointer(&prog)))
	return result, errno
}
