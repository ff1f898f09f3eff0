//go:build linux

package netns

import (
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"

	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
)

// ErrTooMany means that no more network namespaces may be created: user.max_net_namespaces.
var ErrTooMany = errors.New("there are too many")

// NS is an open network namespace. It lives as long as a descriptor, a process or a
// mount refers to it; netlab uses only descriptors.
type NS struct {
	fd atomic.Int64 // -1 once closed
}

// Current opens the network namespace of the calling thread.
func Current() (*NS, error) {
	// thread-self also works if /proc belongs to another PID namespace.
	h, err := netns.GetFromPath("/proc/thread-self/ns/net")
	if err != nil {
		return nil, fmt.Errorf("open current network namespace: %w", err)
	}
	ns := &NS{}
	ns.fd.Store(int64(h))
	return ns, nil
}

// FD is the descriptor, or -1 after Close.
func (ns *NS) FD() int { return int(ns.fd.Load()) }

// Close closes the descriptor. The kernel removes the namespace, with everything in it,
// some time after its last user is gone.
func (ns *NS) Close() error {
	if fd := ns.fd.Swap(-1); fd >= 0 {
		return unix.Close(int(fd))
	}
	return nil
}

// Do runs fn on a thread of its own inside ns. Descriptors that fn opens stay in
// ns, and programs that it starts run there; goroutines that it starts do not.
func (ns *NS) Do(fn func() error) error {
	var err error
	onOwnThread(func() {
		if err = (Here{}).Enter(ns); err == nil {
			err = fn()
		}
	})
	return err
}

// onOwnThread runs fn on a thread that ends with it.
func onOwnThread(fn func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		if unix.Gettid() == unix.Getpid() {
			// The runtime never discards the main thread: it would park it in the
			// last namespace and keep that alive. Block it while another one works.
			onOwnThread(fn)
			runtime.UnlockOSThread()
			return
		}
		// Not unlocked on purpose: when the goroutine ends, the runtime discards
		// the thread, which may sit in any namespace by then.
		fn()
	}()
	<-done
}

// Thread is one OS thread that moves between network namespaces. The thread is never
// returned to the Go scheduler; Close ends it.
type Thread struct {
	work chan func()
	done chan struct{}
}

// NewThread starts a thread. The caller must Close it.
func NewThread() *Thread {
	t := &Thread{work: make(chan func()), done: make(chan struct{})}
	go func() {
		defer close(t.done)
		onOwnThread(t.loop)
	}()
	return t
}

// loop does the work that Run submits. In between the thread is in its original
// namespace: an idle thread in a namespace keeps it, and all links in it, alive.
func (t *Thread) loop() {
	home, err := Current()
	if err == nil {
		defer home.Close()
	}
	for fn := range t.work {
		fn()
		if err == nil {
			_ = Here{}.Enter(home)
		}
	}
}

// Run calls fn on the thread and returns what it returns. One Run at a time.
func (t *Thread) Run(fn func(Here) error) error {
	var err error
	ran := make(chan struct{})
	t.work <- func() {
		defer close(ran)
		err = fn(Here{})
	}
	<-ran
	return err
}

// Close ends the thread after the current Run.
func (t *Thread) Close() {
	close(t.work)
	<-t.done
}

// Here is the right to move the current thread, given to functions that run on a
// Thread. It must not be used elsewhere.
type Here struct{}

// Enter moves the thread into ns.
func (Here) Enter(ns *NS) error {
	if err := netns.Set(netns.NsHandle(ns.FD())); err != nil {
		return fmt.Errorf("enter network namespace: %w", err)
	}
	return nil
}

// Create creates a network namespace and moves the thread into it.
func (Here) Create() (*NS, error) {
	err := unix.Unshare(unix.CLONE_NEWNET)
	if errors.Is(err, unix.ENOSPC) {
		return nil, fmt.Errorf("create network namespace: %w", ErrTooMany)
	}
	if err != nil {
		return nil, fmt.Errorf("create network namespace: %w", err)
	}
	return Current()
}
