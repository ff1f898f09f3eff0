//go:build linux

package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/netlab/netlab/datapath/engine/inside"
	"golang.org/x/sys/unix"
)

// How long the engine may take to show that it is alive, to remove its lab before it is
// killed, and the kernel to remove a killed process.
const (
	answerPatience = 3 * time.Second
	downPatience   = 60 * time.Second
	gracePatience  = 2 * time.Second // to end by itself
	exitPatience   = 10 * time.Second
)

// Down removes the running lab of that name, and returns when its links and its
// processes are gone. An engine that does not answer is killed: the kernel then removes
// the lab. ErrNotRunning means that there is no such lab.
func Down(ctx context.Context, name string) error {
	f, err := openFolder(name)
	if err != nil {
		return ErrNotRunning
	}
	defer f.close()
	serving := f.watch(f.processes())
	defer func() {
		for _, p := range serving {
			p.close()
		}
	}()
	err = ask(ctx, name)
	if errors.Is(err, ErrNotRunning) || ctx.Err() != nil {
		return err
	}
	if err == nil && len(serving) == 0 {
		serving = f.watch(f.holders())
	}
	if err != nil {
		// The record of the lab's processes may be as broken as its socket.
		serving = append(serving, f.watch(f.holders())...)
		for _, p := range serving {
			p.kill()
		}
	}
	for _, p := range serving {
		if p.awaitExit(ctx, gracePatience) || ctx.Err() != nil {
			continue
		}
		if p.kill(); !p.awaitExit(ctx, exitPatience) && ctx.Err() == nil {
			return fmt.Errorf("process %d of lab %q does not end", p.pid, name)
		}
	}
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case f.lock(unix.LOCK_EX | unix.LOCK_NB):
		f.remove() // the janitor was killed, too
		return nil
	case !f.current():
		return nil // removed
	default:
		return fmt.Errorf("lab %q: its folder %s is still in use", name, filepath.Join(StateDir(), name))
	}
}

// ask tells the engine to end. One that hangs is detected soon, one that is working is
// given time.
func ask(ctx context.Context, name string) error {
	c, err := Connect(name)
	if err != nil {
		return err
	}
	alive, cancel := context.WithTimeout(ctx, answerPatience)
	defer cancel()
	if _, err := c.Info(alive); err != nil {
		return err
	}
	ctx, cancel = context.WithTimeout(ctx, downPatience)
	defer cancel()
	_, err = c.call(ctx, request{Verb: verbDown})
	return err
}

// processes reads the process IDs of a lab: the engine and its janitor.
func (f *folder) processes() []int {
	data, _ := os.ReadFile(f.path(pidFile))
	var pids []int
	for _, word := range strings.Fields(string(data)) {
		if pid, err := strconv.Atoi(word); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// holders finds, without relying on any file, the engines and janitors that have the
// folder open.
func (f *folder) holders() []int {
	return inside.Processes(func(pid int) bool { return serves(pid) && f.isOpenIn(pid) })
}

func (f *folder) isOpenIn(pid int) bool {
	var want, open unix.Stat_t
	if err := unix.Fstat(int(f.dir.Fd()), &want); err != nil {
		return false
	}
	// By inode: paths differ between mount namespaces.
	dir := fmt.Sprintf("/proc/%d/fd", pid)
	entries, _ := os.ReadDir(dir)
	return slices.ContainsFunc(entries, func(e os.DirEntry) bool {
		return unix.Stat(filepath.Join(dir, e.Name()), &open) == nil && open.Ino == want.Ino && open.Dev == want.Dev
	})
}

// process is one of the two processes of a lab.
type process struct {
	pid int
	fd  int // pidfd: it refers to this process even if the PID is reused
}

// watch opens the processes of the list that are engines or janitors.
func (f *folder) watch(pids []int) []process {
	var list []process
	for _, pid := range pids {
		fd, err := unix.PidfdOpen(pid, 0)
		if err != nil {
			continue
		}
		if !serves(pid) {
			unix.Close(fd) // the PID has been reused
			continue
		}
		list = append(list, process{pid: pid, fd: fd})
	}
	return list
}

// serves tells by its command line whether a process is an engine or a janitor.
func serves(pid int) bool {
	role := roleOf(pid)
	return role == roleEngine || role == roleJanitor
}

func runsEngine(pid int) bool { return roleOf(pid) == roleEngine }

func roleOf(pid int) string {
	data, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	args := strings.Split(string(data), "\x00")
	if len(args) > 1 && args[0] == "netlab" {
		return args[1]
	}
	return ""
}

func (p process) kill() { _ = unix.PidfdSendSignal(p.fd, unix.SIGKILL, nil, 0) }

func (p process) awaitExit(ctx context.Context, patience time.Duration) bool {
	for deadline := time.Now().Add(patience); time.Now().Before(deadline) && ctx.Err() == nil; {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(p.fd), Events: unix.POLLIN}}, 50)
		if n > 0 || err != nil && !errors.Is(err, unix.EINTR) {
			return true
		}
	}
	return false
}

func (p process) close() { unix.Close(p.fd) }
