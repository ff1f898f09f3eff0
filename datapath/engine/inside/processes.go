//go:build linux

package inside

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/netlab/netlab/datapath/netns"
)

// killAll kills every process of the lab but the engine, which is process 1 of their PID
// namespace: also those that a program left behind in the background, whose network
// namespaces would last as long as they do.
func killAll() {
	if os.Getpid() == 1 {
		_ = unix.Kill(-1, unix.SIGKILL)
	}
}

// killIn kills the processes of the lab that are in a network namespace.
func killIn(ns *netns.NS) {
	var here, there unix.Stat_t
	if unix.Fstat(ns.FD(), &here) != nil {
		return
	}
	for _, pid := range Processes(func(int) bool { return true }) {
		// A folder of /proc refers to its process also when that number is reused, or
		// belongs to another PID namespace. Processes outside the lab's are refused.
		dir, err := unix.Open(fmt.Sprintf("/proc/%d", pid), unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if err != nil {
			continue
		}
		if unix.Fstatat(dir, "ns/net", &there, 0) == nil && there.Ino == here.Ino && there.Dev == here.Dev {
			_ = unix.PidfdSendSignal(dir, unix.SIGKILL, nil, 0)
		}
		unix.Close(dir)
	}
}

// Reap collects orphans: the engine is process 1 of the lab. Children that a goroutine
// here waits for are collected within moments, so only those still dead in the next
// round are orphans.
func Reap(ctx context.Context) {
	tick := time.NewTicker(3 * time.Second)
	defer tick.Stop()
	before := map[int]bool{}
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		now := map[int]bool{}
		for _, pid := range dead() {
			if before[pid] {
				_, _ = unix.Wait4(pid, nil, unix.WNOHANG, nil)
			} else {
				now[pid] = true
			}
		}
		before = now
	}
}

// dead lists the children of this process that have ended and were not collected.
func dead() []int {
	return Processes(func(pid int) bool {
		stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		// pid (comm) state ppid …
		fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
		return len(fields) > 1 && string(fields[0]) == "Z" && string(fields[1]) == strconv.Itoa(os.Getpid())
	})
}

// Processes lists the processes for which is holds.
func Processes(is func(pid int) bool) []int {
	entries, _ := os.ReadDir("/proc")
	var pids []int
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil && is(pid) {
			pids = append(pids, pid)
		}
	}
	return pids
}
