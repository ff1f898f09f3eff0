package vm

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// initWorker is the process that does the work while process 1 reaps.
const initWorker = "worker"

// Main plays the guest's part if this program is the init of a virtual machine, and
// then does not return. Programs that use Run call it first: the machine's init is the
// same program.
func Main() {
	word := os.Getenv(wordInit)
	switch {
	case word == initWorker && os.Getppid() == 1:
		os.Unsetenv(wordInit)
		work()
		os.Exit(0)
	case os.Getpid() != 1:
		return
	case word == initRun:
		reap()
	case word == initProbe:
		alive()
	default:
		return
	}
	powerOff()
}

// reap starts the worker and, as process 1 must, waits for every orphan until the
// worker has ended.
func reap() {
	mountAll()
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = []string{wordInit + "=" + initWorker, "PATH=" + guestPath, "HOME=/root", "TERM=linux", "LANG=C.UTF-8", "NLAB_VM=1"}
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr // the console
	if err := cmd.Start(); err != nil {
		fmt.Fprintln(os.Stderr, "netlab: init:", err)
		return
	}
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, 0, nil)
		if err == syscall.EINTR {
			continue
		}
		if err != nil || pid == cmd.Process.Pid {
			return
		}
	}
}

// alive reports on the console that the kernel runs.
func alive() {
	_ = unix.Mount("dev", "/dev", "devtmpfs", 0, "")
	console, err := os.OpenFile("/dev/console", os.O_WRONLY, 0)
	if err == nil {
		fmt.Fprintln(console, probeAlive)
		console.Close()
	}
}

// powerOff restarts: the emulator was told to end instead.
func powerOff() {
	unix.Sync()
	_ = unix.Reboot(unix.LINUX_REBOOT_CMD_RESTART)
	select {}
}

// leaveInitial makes the root directory a mount of its own: pivot_root(2), which those who make
// containers call, refuses to leave the initial one.
func leaveInitial() error {
	const root = "/mnt"
	return errors.Join(os.MkdirAll(root, 0o755), unix.Mount("/", root, "", unix.MS_BIND, ""), unix.Chdir(root),
		unix.Mount(".", "/", "", unix.MS_MOVE, ""), unix.Chroot("."), unix.Chdir("/"))
}

// mountAll mounts the file systems that programs expect.
func mountAll() {
	if err := leaveInitial(); err != nil {
		fmt.Fprintf(os.Stderr, "netlab: mount /: %v\n", err)
	}
	for _, m := range []struct {
		kind, at, options string
		flags             uintptr
	}{
		{"proc", "/proc", "", unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC},
		{"sysfs", "/sys", "", unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC},
		{"devtmpfs", "/dev", "mode=0755", unix.MS_NOSUID},
		{"devpts", "/dev/pts", "mode=0620,gid=5,ptmxmode=0666", unix.MS_NOSUID | unix.MS_NOEXEC},
		{"tmpfs", "/dev/shm", "mode=1777", unix.MS_NOSUID | unix.MS_NODEV},
		{"tmpfs", "/run", "mode=0755", unix.MS_NOSUID | unix.MS_NODEV},
		{"cgroup2", "/sys/fs/cgroup", "", unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC},
	} {
		_ = os.MkdirAll(m.at, 0o755)
		if err := unix.Mount(m.kind, m.at, m.kind, m.flags, m.options); err != nil {
			fmt.Fprintf(os.Stderr, "netlab: mount %s: %v\n", m.at, err)
		}
	}
	for link, target := range map[string]string{"fd": "/proc/self/fd", "stdin": "/proc/self/fd/0", "stdout": "/proc/self/fd/1", "stderr": "/proc/self/fd/2"} {
		_ = os.Symlink(target, "/dev/"+link)
	}
}
