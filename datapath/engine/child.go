//go:build linux

package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/signal"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/netlab/netlab/datapath/cell"
)

// Packets on the lifeline.
const (
	lifelineConn   = 'c' // carries one end of a connection
	lifelineDetach = 'd' // the engine is to outlive its creator; answered with the same
)

// Main turns the process into an engine, a janitor, or a program in a cell, if it was
// started as one, and then does not return. Programs that use Start call it first.
func Main() {
	cell.Main()
	role := os.Getenv(roleVariable)
	os.Unsetenv(roleVariable)
	switch role {
	case roleEngine:
		if err := runEngine(); err != nil {
			fmt.Fprintln(os.Stderr, logPrefix+err.Error())
			os.Exit(1)
		}
		os.Exit(0)
	case roleJanitor:
		runJanitor()
		os.Exit(0)
	}
}

// inherited builds the folder from the descriptors that Start passed on.
func inherited(first int) *folder {
	f := &folder{above: os.NewFile(uintptr(first), "above"), root: os.NewFile(uintptr(first+1), "root"),
		dir: os.NewFile(uintptr(first+2), "dir")}
	if f.dir == nil {
		return nil
	}
	if _, err := unix.FcntlInt(f.dir.Fd(), unix.F_GETFD, 0); err != nil {
		return nil // started without a folder
	}
	for _, file := range f.files() {
		unix.CloseOnExec(int(file.Fd()))
	}
	if path, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", f.dir.Fd())); err == nil {
		f.name = path[strings.LastIndexByte(path, '/')+1:]
	}
	return f
}

// runEngine serves a lab until it is told to end, or its creator is gone.
func runEngine() error {
	// A plan makes a lot of garbage in a short time, followed by none for hours.
	debug.SetGCPercent(300)
	// Caught, not ignored: programs in the lab would inherit the latter, and could not
	// be interrupted (signal(7), execve(2)).
	signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT)
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	var f *folder
	if fd, err := unix.FcntlInt(listenerFD, unix.F_GETFD, 0); err == nil && fd >= 0 {
		f = inherited(aboveFD)
	}
	unix.CloseOnExec(lifelineFD)
	if err := furnish(); err != nil {
		return err
	}
	e, err := newEngine(f)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	e.quit = cancel
	go e.lifeline(ctx, os.NewFile(lifelineFD, "lifeline"))
	if f != nil {
		unix.CloseOnExec(listenerFD)
		file := os.NewFile(listenerFD, "listener")
		l, err := net.FileListener(file)
		file.Close()
		if err != nil {
			return err
		}
		go e.listen(l)
	}
	go reap(ctx)
	go e.drain(ctx)
	<-ctx.Done()
	e.shutdown()
	return nil
}

// furnish prepares the mount namespace: mounts made here are not visible outside, /proc
// is that of our PID namespace, /run is private, and no name server of the host is known.
func furnish() error {
	err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, "")
	if errors.Is(err, unix.EINVAL) {
		return fmt.Errorf("make mounts private: / is not a mount point, as in a plain chroot: %w", err)
	}
	if err != nil {
		return fmt.Errorf("make mounts private: %w", err)
	}
	// Both are refused in some containers. The lab works without them: programs in it
	// then see the processes and files of the host, like the user.
	_ = unix.Mount("proc", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "")
	if err := unix.Mount("tmpfs", "/run", "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=755"); err == nil {
		os.Setenv("XTABLES_LOCKFILE", "/run/xtables.lock")
		hideResolver()
	}
	os.Setenv("PATH", searchPath(os.Getenv("PATH")))
	return nil
}

// resolver is the resolv.conf of all programs in a lab. The name servers of the host
// cannot be reached from there, and libraries would wait for them; on the loopback
// interface nobody listens, so that names that are not in /etc/hosts fail at once.
const resolver = "# names of the lab are in /etc/hosts\nnameserver 127.0.0.1\noptions attempts:1 timeout:1\n"

// hideResolver mounts it over the host's, which may be a link into the former /run:
// without any, libraries ask 127.0.0.1, too.
func hideResolver() {
	const file = "/run/netlab-resolv.conf"
	if os.WriteFile(file, []byte(resolver), 0o644) == nil {
		mountResolver(file)
	}
}

// lifeline is the connection to the creator of the lab: it carries connections, and its
// end ends the engine, unless the creator has detached.
func (e *engine) lifeline(ctx context.Context, line *os.File) {
	buf, oob := make([]byte, 1), make([]byte, unix.CmsgSpace(4))
	for {
		n, oobn, _, _, err := unix.Recvmsg(int(line.Fd()), buf, oob, unix.MSG_CMSG_CLOEXEC)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil || n == 0 {
			break
		}
		switch buf[0] {
		case lifelineDetach:
			e.detached.Store(true)
			_, _ = line.Write(buf)
		case lifelineConn:
			for _, file := range received(oob[:oobn], "control") {
				if conn, err := net.FileConn(file); err == nil {
					go e.serve(conn.(*net.UnixConn), true)
				}
				file.Close()
			}
		}
	}
	if !e.detached.Load() {
		e.quit()
	}
}

// received are the files that came with a message.
func received(oob []byte, name string) (files []*os.File) {
	msgs, err := unix.ParseSocketControlMessage(oob)
	if err != nil || len(msgs) == 0 {
		return nil
	}
	fds, _ := unix.ParseUnixRights(&msgs[0])
	for _, fd := range fds {
		unix.CloseOnExec(fd)
		files = append(files, os.NewFile(uintptr(fd), name))
	}
	return files
}

// reap collects orphans: the engine is process 1 of the lab. Children that a goroutine
// here waits for are collected within moments, so only those still dead in the next
// round are orphans.
func reap(ctx context.Context) {
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
	return processes(func(pid int) bool {
		stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		// pid (comm) state ppid …
		fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
		return len(fields) > 1 && string(fields[0]) == "Z" && string(fields[1]) == strconv.Itoa(os.Getpid())
	})
}

// processes lists the processes for which is holds.
func processes(is func(pid int) bool) []int {
	entries, _ := os.ReadDir("/proc")
	var pids []int
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil && is(pid) {
			pids = append(pids, pid)
		}
	}
	return pids
}
