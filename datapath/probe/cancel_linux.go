package probe

import (
	"context"
	"os"

	"golang.org/x/sys/unix"
)

// canceller wakes an epoll loop when a context ends: its event has Fd -1.
type canceller struct {
	fd   int
	stop func() bool
	done chan struct{}
}

func newCanceller(ctx context.Context, epoll int) (*canceller, error) {
	fd, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		return nil, os.NewSyscallError("eventfd", err)
	}
	err = unix.EpollCtl(epoll, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Events: unix.EPOLLIN, Fd: -1})
	if err != nil {
		unix.Close(fd)
		return nil, os.NewSyscallError("epoll_ctl", err)
	}
	c := &canceller{fd: fd, done: make(chan struct{})}
	c.stop = context.AfterFunc(ctx, func() {
		defer close(c.done)
		one := [8]byte{1} // any number except zero, in either byte order
		_, _ = unix.Write(fd, one[:])
	})
	return c, nil
}

func (c *canceller) close() {
	if !c.stop() {
		<-c.done // it may be about to write
	}
	unix.Close(c.fd)
}

// descriptors is how many descriptors this process may have.
func descriptors() int {
	var l unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &l); err != nil {
		return 1024
	}
	return int(max(64, min(l.Cur, 1<<20)))
}
