//go:build linux

package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// How long the engine may take to remove its lab before it is killed, and the
// kernel to remove a killed process.
const (
	downPatience = 60 * time.Second
	exitPatience = 10 * time.Second
)

// Down removes the running lab of that name, and returns when its links and its
// processes are gone. An engine that does not answer is killed: the kernel then
// removes the lab. ErrNotRunning says that there is no such lab.
func Down(ctx context.Context, name string) error {
	f, err := openFolder(name)
	if err != nil {
		return ErrNotRunning
	}
	defer f.close()
	serving := f.watch()
	defer func() {
		for _, p := range serving {
			p.close()
		}
	}()
	err = ask(ctx, name)
	if errors.Is(err, ErrNotRunning) || ctx.Err() != nil {
		return err
	}
	for _, p := range serving {
		if err != nil {
			p.kill()
		}
		if !p.awaitExit(ctx) {
			return fmt.Errorf("process %d of lab %q does not end", p.pid, name)
		}
	}
	if f.lock(unix.LOCK_EX | unix.LOCK_NB) {
		f.remove() // the janitor was killed, too
	}
	return ctx.Err()
}

// ask tells the engine to go.
func ask(ctx context.Context, name string) error {
	ctx, cancel := context.WithTimeout(ctx, downPatience)
	defer cancel()
	c, err := Connect(name)
	if err != nil {
		return err
	}
	_, err = c.call(ctx, request{Verb: verbDown})
	return err
}

// process is one of the two processes of a lab.
type process struct {
	pid  int
	fd   int // pidfd: it means this process even when the number is used again
	role string
}

// watch opens the processes that serve a lab.
func (f *folder) watch() []process {
	var list []process
	for _, pid := range f.processes() {
		fd, err := unix.PidfdOpen(pid, 0)
		if err != nil {
			continue
		}
		p := process{pid: pid, fd: fd, role: roleOf(pid)}
		if p.role == "" {
			unix.Close(fd) // the number belongs to somebody else by now
			continue
		}
		list = append(list, p)
	}
	return list
}

// roleOf tells by its command line whether a process is an engine or a janitor.
func roleOf(pid int) string {
	data, err := os.ReadFile(filepath.Join("/proc", fmt.Sprint(pid), "cmdline"))
	if err != nil {
		return ""
	}
	args := strings.Split(string(data), "\x00")
	if len(args) > 1 && args[0] == "netlab" && (args[1] == roleEngine || args[1] == roleJanitor) {
		return args[1]
	}
	return ""
}

// kill ends an engine. The janitor follows by itself.
func (p process) kill() {
	if p.role == roleEngine {
		_ = unix.PidfdSendSignal(p.fd, unix.SIGKILL, nil, 0)
	}
}

func (p process) awaitExit(ctx context.Context) bool {
	for deadline := time.Now().Add(exitPatience); time.Now().Before(deadline) && ctx.Err() == nil; {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(p.fd), Events: unix.POLLIN}}, 50)
		if n > 0 || err != nil && !errors.Is(err, unix.EINTR) {
			return true
		}
	}
	return false
}

func (p process) close() { unix.Close(p.fd) }
