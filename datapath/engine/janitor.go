//go:build linux

package engine

import (
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// janitor is the process that removes a lab's folder if every other process that could
// was killed. It starts before the folder is created, so that no folder is ever without
// a process responsible for it.
type janitor struct {
	cmd  *exec.Cmd
	line *os.File // what we tell it; its end means that we are gone
}

// What the janitor is told, in one byte. Nothing means that the creator of the lab is
// gone, at an unknown moment.
const (
	janitorEngaged   = 'e' // the folder is ours
	janitorDismissed = 'd' // there is nothing to do
)

// orphanPatience is how long a janitor, whose creator died before it said whether the
// folder is its own, tries to get the lock that the creator may have held.
const orphanPatience = time.Second

func startJanitor(name string) (*janitor, error) {
	theirs, ours, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("start janitor: %w", err)
	}
	defer theirs.Close()
	j := &janitor{cmd: self(roleJanitor), line: ours}
	j.cmd.Args = []string{"netlab", roleJanitor, name}
	j.cmd.ExtraFiles = []*os.File{theirs}
	j.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := j.cmd.Start(); err != nil {
		ours.Close()
		return nil, fmt.Errorf("start janitor: %w", err)
	}
	return j, nil
}

// engage tells the janitor to remove the folder once it is unlocked.
func (j *janitor) engage() { _, _ = j.line.Write([]byte{janitorEngaged}) }

// dismiss ends the janitor. The folder must be gone, or another lab's, or unlocked: then
// the janitor may be about to remove it.
func (j *janitor) dismiss() {
	_, _ = j.line.Write([]byte{janitorDismissed})
	j.line.Close()
	// It may be waiting for the lock of a newer lab with the same name.
	kill := time.AfterFunc(gracePatience, func() { _ = j.cmd.Process.Kill() })
	_ = j.cmd.Wait()
	kill.Stop()
}

// guarded reports whether a janitor of the lab runs.
func (f *folder) guarded() bool {
	is := func(pid int) bool { return roleOf(pid) == roleJanitor }
	return slices.ContainsFunc(f.processes(), is) || slices.ContainsFunc(f.holders(), is)
}

// Guarded reports whether the lab has its janitor.
func (c *Client) Guarded() bool {
	f, err := openFolder(c.name)
	if err != nil {
		return true // the lab goes away
	}
	defer f.close()
	return f.guarded()
}

// Guard starts a janitor if the lab has lost its own, and reports whether it did. The engine cannot:
// its processes end with it, since it is process 1 of their PID namespace.
func (c *Client) Guard() (started bool, err error) {
	f, err := openFolder(c.name)
	if err != nil {
		return false, nil
	}
	defer f.close()
	if f.guarded() {
		return false, nil
	}
	j, err := startJanitor(c.name)
	if err != nil {
		return false, err
	}
	j.engage()
	j.line.Close()
	for _, pid := range append(f.processes(), f.holders()...) {
		if runsEngine(pid) {
			return true, f.write(pidFile, fmt.Sprintf("%d %d\n", pid, j.cmd.Process.Pid))
		}
	}
	return true, nil
}

// runJanitor waits until the lab's folder is unlocked, and removes it if it still
// exists.
func runJanitor() {
	signal.Ignore(syscall.SIGHUP, syscall.SIGINT)
	line := os.NewFile(lifelineFD, "line")
	unix.CloseOnExec(lifelineFD)
	word := make([]byte, 1)
	n, _ := line.Read(word)
	if n > 0 && word[0] == janitorDismissed {
		return
	}
	f, err := openFolder(os.Args[len(os.Args)-1])
	if err == nil {
		if n > 0 && f.lock(unix.LOCK_EX) || n == 0 && f.lockWithin(orphanPatience) {
			f.remove()
		}
		return
	}
	// The creator may have died between creating the two directories.
	_ = unix.Rmdir(StateDir())
}

// lockWithin polls for the lock, since the kernel closes the descriptors of the
// creator's process in any order.
func (f *folder) lockWithin(patience time.Duration) bool {
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if f.lock(unix.LOCK_EX | unix.LOCK_NB) {
			return true
		}
	}
	return false
}

// locked reports whether a lab of that name is running.
func locked(name string) bool {
	f, err := openFolder(name)
	if err != nil {
		return false
	}
	defer f.close()
	return !f.lock(unix.LOCK_EX|unix.LOCK_NB) && f.current()
}
