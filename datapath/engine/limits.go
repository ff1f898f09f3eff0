//go:build linux

package engine

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/netlab/netlab/datapath/engine/inside"
	"github.com/netlab/netlab/datapath/netns"
)

// LimitError means that a limit that somebody set is too low for a lab: nothing is missing.
type LimitError struct {
	Limit string // which it is, and how to raise it
	Err   error  // what failed; nil: nothing yet
}

func (e *LimitError) Error() string {
	if e.Err == nil {
		return e.Limit
	}
	return fmt.Sprintf("%v: %s", e.Err, e.Limit)
}

// Unwrap returns what failed.
func (e *LimitError) Unwrap() error { return e.Err }

// limited is the error, with the limit that is its cause if there is one.
func limited(err error) error {
	var start *fs.PathError
	starting := errors.As(err, &start) && start.Op == "fork/exec"
	limit := ""
	switch {
	case errors.Is(err, unix.EMFILE):
		limit = openFiles()
	case errors.Is(err, netns.ErrTooMany), starting && errors.Is(err, unix.ENOSPC):
		limit = fewestNamespaces()
	case starting && errors.Is(err, unix.EAGAIN):
		limit = fewestProcesses()
	}
	if limit == "" {
		return err
	}
	return &LimitError{limit, err}
}

// Least of what a small lab needs, with its command and its janitor: each is a program in Go,
// whose runtime reserves much address space and starts threads, and ends when it cannot.
const (
	leastSpace   = 2 << 30 // bytes
	leastThreads = 32
	leastFiles   = 16 // of the command alone
)

// Limits is an error if a limit of this process is so low that netlab would not fail in its own
// words.
func Limits() error {
	if space := soft(unix.RLIMIT_AS); space < leastSpace {
		return &LimitError{Limit: fmt.Sprintf("a process may use %d MB of address space here, and netlab needs %d; raise it: ulimit -v unlimited", space>>20, leastSpace>>20)}
	}
	if soft(unix.RLIMIT_NOFILE) < leastFiles {
		return &LimitError{Limit: openFiles()}
	}
	if left, limit := leftOfUser(); left < leastThreads {
		return &LimitError{Limit: limit}
	}
	if left, limit := leftOfGroups(); left < leastThreads {
		return &LimitError{Limit: limit}
	}
	return nil
}

// fewestNamespaces names the limit that new namespaces meet first.
func fewestNamespaces() string {
	name, least := "", math.MaxInt
	for _, kind := range []string{"net", "mnt", "pid", "uts", "user"} {
		if n, ok := number("/proc/sys/user/max_" + kind + "_namespaces"); ok && n < least {
			name, least = "user.max_"+kind+"_namespaces", n
		}
	}
	if name == "" {
		return ""
	}
	return fmt.Sprintf("%s is %d here, and a lab needs one per node, pod and client and some more; raise it as root: sysctl -w %s=%d", name, least, name, 10000)
}

// fewestProcesses names the limit that new processes and threads meet first.
func fewestProcesses() string {
	left, limit := leftOfUser()
	if ofGroups, of := leftOfGroups(); ofGroups < left {
		limit = of
	}
	return limit
}

// leftOfUser is how many processes and threads the user may still start, and the limit of that.
// Only root of the machine has none.
func leftOfUser() (left int, limit string) {
	most := soft(unix.RLIMIT_NPROC)
	if most > 1<<14 || os.Getuid() == 0 && !inUserNamespace() {
		return math.MaxInt, ""
	}
	threads := 0
	inside.Processes(func(pid int) bool {
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		if err == nil && field(status, "Uid:") == os.Getuid() {
			threads += field(status, "Threads:")
		}
		return false
	})
	return int(most) - threads, fmt.Sprintf("this user may have %d processes and threads and has %d, and a lab needs %d more; raise it: ulimit -u %d", most, threads, leastThreads, 4096)
}

// leftOfGroups is the same for the control groups that this process is in.
func leftOfGroups() (left int, limit string) {
	left = math.MaxInt
	for _, dir := range controlGroups(os.Getpid(), "pids") {
		most, ok := number(filepath.Join(dir, "pids.max"))
		now, here := number(filepath.Join(dir, "pids.current"))
		if ok && here && most-now < left {
			left = most - now
			limit = fmt.Sprintf("this control group may have %d processes and threads and has %d, and a lab needs %d more; raise it as root: echo max >%s", most, now, leastThreads, filepath.Join(dir, "pids.max"))
		}
	}
	return left, limit
}

// controlGroups are the folders of the control groups that a process is in for a controller, and of
// those above, in either version; without control groups there are none.
func controlGroups(pid int, controller string) (list []string) {
	groups, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", pid))
	for line := range strings.Lines(string(groups)) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) != 3 || parts[1] != "" && parts[1] != controller {
			continue
		}
		for _, root := range []string{"/sys/fs/cgroup", "/sys/fs/cgroup/unified", "/sys/fs/cgroup/" + controller} {
			for dir := filepath.Join(root, parts[2]); len(dir) >= len(root); dir = filepath.Dir(dir) {
				list = append(list, dir)
			}
		}
	}
	return list
}

// memoryLimit is a control group that may have so much memory.
type memoryLimit struct {
	file   string // that says how much
	events string // that counts, among others, the processes that the kernel killed in the group
	kills  int
}

// memoryLimits are those of a process, of which a new process has the same: of both versions of
// control groups (cgroup-v2.rst, cgroup-v1/memory.rst).
func memoryLimits(pid int) (list []memoryLimit) {
	for _, dir := range controlGroups(pid, "memory") {
		for _, names := range [][2]string{{"memory.max", "memory.events"}, {"memory.limit_in_bytes", "memory.oom_control"}} {
			m := memoryLimit{file: filepath.Join(dir, names[0]), events: filepath.Join(dir, names[1])}
			if _, ok := number(m.file); ok {
				m.kills = m.count()
				list = append(list, m)
			}
		}
	}
	return list
}

// count is how many processes the kernel has killed in the group for want of memory.
func (m *memoryLimit) count() int {
	events, _ := os.ReadFile(m.events)
	return max(field(append([]byte("\n"), events...), "oom_kill "), 0)
}

// outOfMemory names the limit at which the kernel has killed since they were read; empty: it has
// not.
func outOfMemory(limits []memoryLimit) string {
	for _, m := range limits {
		if most, ok := number(m.file); ok && m.count() > m.kills {
			all := map[bool]string{true: "max", false: "-1"}[filepath.Base(m.file) == "memory.max"]
			return fmt.Sprintf("the kernel kills for want of memory in its control group, which may have %d MB; raise it as root: echo %s >%s", most>>20, all, m.file)
		}
	}
	return ""
}

// limitIn is the limit that ended a program in Go, by what it wrote.
func limitIn(log string) string {
	if strings.Contains(log, "newosproc") || strings.Contains(log, "pthread_create failed") {
		return fewestProcesses()
	}
	return ""
}

// number reads a file that holds one; "max" is none.
func number(file string) (int, bool) {
	data, err := os.ReadFile(file)
	if err != nil {
		return 0, false
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(data)))
	return n, err == nil
}

// field is the first number after a name in the status of a process; -1: there is none.
func field(status []byte, name string) int {
	_, rest, _ := strings.Cut(string(status), "\n"+name)
	if words := strings.Fields(rest); len(words) > 0 {
		if n, err := strconv.Atoi(words[0]); err == nil {
			return n
		}
	}
	return -1
}

func openFiles() string {
	return fmt.Sprintf("a process may have %d files open here, and a lab needs about 2 per pod and 30 more; raise it: ulimit -n 4096", soft(unix.RLIMIT_NOFILE))
}

// soft is a limit of this process.
func soft(resource int) uint64 {
	var l unix.Rlimit
	if err := unix.Getrlimit(resource, &l); err != nil {
		return unix.RLIM_INFINITY
	}
	return l.Cur
}

// inUserNamespace reports a user namespace that is not the first one of the machine.
func inUserNamespace() bool {
	data, err := os.ReadFile("/proc/self/uid_map")
	return err == nil && strings.Join(strings.Fields(string(data)), " ") != "0 0 4294967295"
}
