//go:build linux

package engine

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"sync/atomic"
	"time"
)

// StoppedError means that a signal has stopped the engine of a lab: it answers nothing until
// another lets it go on.
type StoppedError struct {
	Lab string
	PID int
}

func (e *StoppedError) Error() string {
	return fmt.Sprintf("the engine of lab %q, process %d, is stopped; %s", e.Lab, e.PID, e.Remedy())
}

// Remedy is what to do about it.
func (e *StoppedError) Remedy() string { return fmt.Sprintf("let it go on: kill -CONT %d", e.PID) }

// stoppedTick is how often a command that waits for an engine looks whether that is stopped.
// It believes so the second time.
const stoppedTick = 250 * time.Millisecond

// unlessStopped hangs up when the engine turns out to be stopped, and returns a function that
// ends the watch and says whether it was.
func (c *Client) unlessStopped(conn net.Conn) (end func() error) {
	var found atomic.Pointer[StoppedError]
	done := make(chan struct{})
	go func() {
		for times := 0; ; {
			select {
			case <-done:
				return
			case <-time.After(stoppedTick):
			}
			pid := c.stopped()
			if pid == 0 {
				times = 0
				continue
			}
			if times++; times == 2 {
				found.Store(&StoppedError{c.name, pid})
				_ = conn.Close()
				return
			}
		}
	}()
	return func() error {
		close(done)
		if e := found.Load(); e != nil {
			return e
		}
		return nil
	}
}

// stopped is the process of the engine if that is stopped; else 0.
func (c *Client) stopped() int {
	var pids []int
	if c.cmd != nil {
		pids = []int{c.cmd.Process.Pid}
	} else if f, err := openFolder(c.name); err == nil {
		if pids = f.processes(); len(pids) == 0 {
			pids = f.holders()
		}
		f.close()
	}
	for _, pid := range pids {
		if data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)); err == nil && isStopped(data) && runsEngine(pid) {
			return pid
		}
	}
	return 0
}

// isStopped reads the state of a process, which follows its name in parentheses (proc(5)).
func isStopped(stat []byte) bool {
	i := bytes.LastIndexByte(stat, ')')
	return i >= 0 && i+2 < len(stat) && (stat[i+2] == 'T' || stat[i+2] == 't')
}
