package probe

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// poller is an epoll instance that can be woken: that event has Fd -1.
type poller struct{ epoll, wake int }

func newPoller() (*poller, error) {
	epoll, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("epoll_create1", err)
	}
	wake, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		unix.Close(epoll)
		return nil, os.NewSyscallError("eventfd", err)
	}
	p := &poller{epoll, wake}
	if err := p.watch(unix.EPOLL_CTL_ADD, wake, unix.EPOLLIN, -1); err != nil {
		p.close()
		return nil, err
	}
	return p, nil
}

// watch changes which events of a descriptor are reported, and as what.
func (p *poller) watch(op, fd int, events uint32, as int) error {
	err := unix.EpollCtl(p.epoll, op, fd, &unix.EpollEvent{Events: events, Fd: int32(as)})
	return os.NewSyscallError("epoll_ctl", err)
}

// poke wakes a wait, once and for all.
func (p *poller) poke() {
	one := [8]byte{1} // any number except zero, in either byte order
	_, _ = unix.Write(p.wake, one[:])
}

// wait waits for events, at most that many milliseconds; -1: for as long as it takes.
func (p *poller) wait(events []unix.EpollEvent, milliseconds int) ([]unix.EpollEvent, error) {
	n, err := unix.EpollWait(p.epoll, events, milliseconds)
	if err != nil && !errors.Is(err, unix.EINTR) {
		return nil, os.NewSyscallError("epoll_wait", err)
	}
	return events[:max(n, 0)], nil
}

func (p *poller) close() {
	unix.Close(p.epoll)
	unix.Close(p.wake)
}

// descriptors is how many descriptors this process may have.
func descriptors() int {
	var l unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &l); err != nil {
		return 1024
	}
	return int(max(64, min(l.Cur, 1<<20)))
}
