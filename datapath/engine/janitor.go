//go:build linux

package engine

import (
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// janitor is the process that removes a lab's folder when everybody else who
// could was killed. It starts before the folder is made, so that there is no
// moment at which a folder has nobody who cares for it.
type janitor struct {
	cmd  *exec.Cmd
	line *os.File // what we tell it; its end tells that we are gone
}

// What the janitor is told, by one byte. Nothing means that the maker of the lab
// is gone, at a moment that nobody knows.
const (
	janitorEngaged   = 'e' // the folder is ours
	janitorDismissed = 'd' // there is nothing to do
)

// orphanPatience is how long a janitor, whose maker died before it said whether
// the folder is its own, tries to get the lock that the maker may have held.
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

// engage tells the janitor to remove the folder once nobody locks it.
func (j *janitor) engage() { _, _ = j.line.Write([]byte{janitorEngaged}) }

// dismiss ends the janitor. The folder must be gone, or another lab's.
func (j *janitor) dismiss() {
	_, _ = j.line.Write([]byte{janitorDismissed})
	j.line.Close()
	// It may wait for the lock of a lab that has taken the name since.
	_ = j.cmd.Process.Kill()
	_ = j.cmd.Wait()
}

// runJanitor waits until nobody locks the lab's folder any more, and removes it
// if it is still there.
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
	// The maker may have died between the making of the two directories.
	_ = unix.Rmdir(StateDir())
}

// lockWithin polls for the lock, since the end of the maker's process gives its
// descriptors back in an order of the kernel's.
func (f *folder) lockWithin(patience time.Duration) bool {
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if f.lock(unix.LOCK_EX | unix.LOCK_NB) {
			return true
		}
	}
	return false
}

// locked reports whether somebody serves a lab of that name.
func locked(name string) bool {
	f, err := openFolder(name)
	if err != nil {
		return false
	}
	defer f.close()
	return !f.lock(unix.LOCK_EX|unix.LOCK_NB) && f.current()
}
