//go:build linux

package engine

import (
	"fmt"
	"os"

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
	for _, pid := range processes(func(int) bool { return true }) {
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
