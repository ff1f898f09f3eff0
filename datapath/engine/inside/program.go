//go:build linux

package inside

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/netlab/netlab/datapath/cell"
	"github.com/netlab/netlab/datapath/netns"
	"github.com/netlab/netlab/datapath/plan/occupant"
)

// Pauses before a program that ended is started again; each is twice the one before, until
// it has run for some time.
const (
	firstRestart = 100 * time.Millisecond
	lastRestart  = 10 * time.Second
)

// program is a program of the scenario. It is made when its namespace is ready, and begins
// once the whole lab is. One goroutine, run, starts it and waits for it, until it is over.
type program struct {
	occupant.Exec
	netns  string
	ns     *netns.NS
	etc    func() etc
	open   func() bool // it is not to be confined
	output output

	mu       sync.Mutex
	begun    bool
	ended    bool // by us
	place    *place
	pid      int    // 0: it does not run
	state    string // why it does not run: exited 3
	since    time.Time
	restarts int
	ready    bool
	lastTry  string // why it was not ready
	refused  bool   // it could not be confined

	once chan struct{} // closed when it is ready for the first time
	stop chan struct{} // closed by end
	over chan struct{} // closed when it does not run and will not be started again
}

func newProgram(netns string, x occupant.Exec, etc func() etc, open func() bool, tell func()) *program {
	return &program{Exec: x, netns: netns, etc: etc, open: open, output: output{tell: tell}, once: make(chan struct{}), stop: make(chan struct{}), over: make(chan struct{})}
}

// begin starts the program in its namespace; false: it has begun before.
func (p *program) begin(ns *netns.NS) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.begun || p.ended {
		return false
	}
	p.begun, p.ns, p.since = true, ns, time.Now()
	go p.run()
	return true
}

func (p *program) run() {
	defer close(p.over)
	for pause := firstRestart; ; pause = min(2*pause, lastRestart) {
		began := time.Now()
		cmd, written, err := p.start()
		if err == nil {
			alive, died := context.WithCancel(context.Background())
			tried := make(chan struct{})
			go func() {
				defer close(tried)
				p.becomeReady(alive)
			}()
			err = cmd.Wait()
			died()
			// What it left behind would keep its ports. The group has the number of the
			// program, which no other process gets as long as there is a group.
			_ = unix.Kill(-cmd.Process.Pid, unix.SIGKILL)
			<-tried
			select {
			case <-written: // nothing is missing from its last lines
			case <-time.After(100 * time.Millisecond): // a child of it lives on
			}
		}
		if !p.note(cmd, err) || !p.Restart {
			return
		}
		if time.Since(began) > lastRestart {
			pause = firstRestart
		}
		select {
		case <-p.stop:
			return
		case <-time.After(pause):
		}
	}
}

// start starts the process; written is closed when all its output is kept.
func (p *program) start() (cmd *exec.Cmd, written chan struct{}, err error) {
	of := p.etc() // before the lock: whoever has that of all programs takes this one
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended {
		return nil, nil, os.ErrProcessDone
	}
	r, w, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	defer w.Close()
	cmd, place, err := launch(p.ns, &p.Exec, of, w, p.open())
	if err != nil {
		r.Close()
		return nil, nil, err
	}
	if p.place != nil {
		p.place.mounts.Close()
		p.restarts++
	}
	p.place, p.pid, p.state, p.since = place, cmd.Process.Pid, "", time.Now()
	written = make(chan struct{})
	go func() { // until no process has the other end
		defer close(written)
		defer r.Close()
		_, _ = io.Copy(&p.output, r)
	}()
	return cmd, written, nil
}

// note records that the process ended; false when that was our doing.
func (p *program) note(cmd *exec.Cmd, err error) bool {
	p.mu.Lock()
	p.pid, p.ready = 0, false
	p.state, p.since = howItEnded(cmd, err), time.Now()
	var refused *cell.RefusedError
	p.refused = errors.As(err, &refused)
	ended := p.ended
	p.mu.Unlock()
	if !ended {
		fmt.Fprintf(&p.output, "%s%s\n", noted, p.state)
	}
	return !ended
}

// noted begins what netlab adds to the output of a program.
const noted = "netlab: "

// notStarted begins why a program never ran.
const notStarted = "could not be started: "

// howItEnded says it in words: exited 3.
func howItEnded(cmd *exec.Cmd, err error) string {
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return notStarted + err.Error()
	}
	if s, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && s.Signaled() {
		return "was killed by " + unix.SignalName(s.Signal())
	}
	return fmt.Sprintf("exited %d", cmd.ProcessState.ExitCode())
}

// end kills the program, and all processes that it started.
func (p *program) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended {
		return
	}
	p.ended = true
	close(p.stop)
	if p.pid != 0 {
		_ = unix.Kill(-p.pid, unix.SIGKILL)
	}
}

// killPatience is how long the kernel may take to end killed processes.
const killPatience = time.Second

// await waits until an ended program is gone, with all processes that it started: they hold
// its ports.
func (p *program) await() {
	p.mu.Lock()
	c, begun := p.place, p.begun
	p.mu.Unlock()
	if !begun {
		return
	}
	deadline := time.Now().Add(killPatience)
	select {
	case <-p.over:
	case <-time.After(killPatience):
	}
	if c == nil {
		return
	}
	for left := c.inhabitants(); len(left) > 0 && time.Now().Before(deadline); left = c.inhabitants() {
		for _, pid := range left {
			_ = unix.Kill(pid, unix.SIGKILL)
		}
		time.Sleep(time.Millisecond)
	}
	c.mounts.Close()
}

// enter moves the calling thread, which is not used for anything else, to where the program
// runs; false: it never ran.
func (p *program) enter() (bool, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.place == nil {
		return false, nil
	}
	return true, p.place.enter()
}

// confinedPID is the process whose cell others can join; 0: there is none.
func (p *program) confinedPID() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.place == nil || !p.place.cell {
		return 0
	}
	return p.pid
}

// asPlanned is the program as it is read back: with its state, if it is over.
func (p *program) asPlanned() occupant.Exec {
	x := p.Exec
	select {
	case <-p.over:
		x.State = p.status().State
	default:
	}
	return x
}

// Program is a program of the scenario, as a lab reports it.
type Program struct {
	Name     string    `json:"name"` // of its pod
	Netns    string    `json:"netns"`
	State    string    `json:"state"` // running, starting, exited 3, was killed by SIGTERM
	Running  bool      `json:"running"`
	Restarts int       `json:"restarts"`
	Since    time.Time `json:"since"`
	Waiting  string    `json:"waiting_to,omitempty"` // what it is waited for
}

func (p *program) status() Program {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := Program{Name: p.Name, Netns: p.netns, State: p.state, Running: p.pid != 0, Restarts: p.restarts, Since: p.since}
	switch {
	case p.pid != 0 && p.ready:
		s.State = "running"
	case p.pid != 0 || p.state == "":
		s.State, s.Waiting = "starting", p.Awaits()
	case p.Restart:
		s.State, s.Waiting = s.State+", starts again", p.Awaits()
	}
	return s
}
