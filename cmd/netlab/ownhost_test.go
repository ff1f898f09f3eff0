//go:build linux

package main

import (
	"errors"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// Tests compare the host before and after. Other changes on this machine must not show,
// so they run in mount and network namespaces of their own: root as root, an ordinary
// user as itself in a user namespace. hostVariable holds the state of that: the
// namespaces outside, as links in /proc, then the same after "ready".
const hostVariable = "NLAB_TEST_HOST"

const ready = "ready "

// ownHost runs this program again in namespaces of its own, and exits with it. It returns
// inside them, and where they cannot be made: labs cannot run there either.
func ownHost() error {
	state, begun := os.LookupEnv(hostVariable)
	switch {
	case strings.HasPrefix(state, ready):
		return nil
	case begun:
		return furnishHost(state)
	}
	runtime.LockOSThread() // whose end would kill the child
	cmd := exec.Command("/proc/self/exe")
	cmd.Args = os.Args
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(), hostVariable+"="+namespaces())
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNS | unix.CLONE_NEWNET, Pdeathsig: unix.SIGKILL}
	if uid, gid := os.Getuid(), os.Getgid(); uid != 0 {
		a := cmd.SysProcAttr
		a.Cloneflags |= unix.CLONE_NEWUSER
		a.UidMappings = []syscall.SysProcIDMap{{ContainerID: uid, HostID: uid, Size: 1}}
		a.GidMappings = []syscall.SysProcIDMap{{ContainerID: gid, HostID: gid, Size: 1}}
		a.AmbientCaps = []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_NET_ADMIN} // for furnishHost
	}
	if err := cmd.Start(); err != nil {
		runtime.UnlockOSThread()
		return nil
	}
	err := cmd.Wait()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return err
	}
	os.Exit(cmd.ProcessState.ExitCode())
	return nil
}

// furnishHost prepares the namespaces, drops the capabilities for that, and starts over.
func furnishHost(outside string) error {
	runtime.LockOSThread() // until the exec: capabilities are this thread's
	for _, step := range []func() error{
		func() error { return unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, "") },
		func() error { return unix.Mount("tmpfs", "/run", "tmpfs", 0, "mode=755") },
		func() error { return os.Mkdir("/run/mount", 0o755) }, // mount(8) makes it
		// As on a machine with systemd: mounts of a lab would show if it let them.
		func() error { return unix.Mount("", "/", "", unix.MS_REC|unix.MS_SHARED, "") },
		func() error { return exec.Command("ip", "link", "set", "lo", "up").Run() },
		func() error { return unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) },
		func() error { return os.Setenv(hostVariable, ready+outside) },
		func() error { return unix.Exec("/proc/self/exe", os.Args, os.Environ()) },
	} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// namespaces lists those of this process.
func namespaces() string {
	mount, _ := os.Readlink("/proc/self/ns/mnt")
	net, _ := os.Readlink("/proc/self/ns/net")
	return mount + " " + net
}

func TestTheHostIsCompared(t *testing.T) {
	needsLabs(t)
	outside := strings.Fields(strings.TrimPrefix(os.Getenv(hostVariable), ready))
	for i, inside := range strings.Fields(namespaces()) {
		if len(outside) != 2 || inside == outside[i] {
			t.Errorf("the tests share %s with this machine", inside)
		}
	}
	h := lookAtHost(t)
	if !strings.Contains(h["ip -details link"], "lo: <LOOPBACK,UP") || strings.Contains(h["ip -details link"], "eth0") {
		t.Errorf("links:\n%s", h["ip -details link"])
	}
	if !strings.Contains(h["/proc/self/mountinfo"], " /run ") || len(h) < 100 {
		t.Errorf("%d things are compared; mounts:\n%s", len(h), h["/proc/self/mountinfo"])
	}
}
