//go:build linux

package kernel

import (
	"errors"

	"golang.org/x/sys/unix"

	"github.com/netlab/netlab/datapath/netns"
)

// watch tells whether the neighbours and forwarding entries of a namespace may have changed
// since they were as planned. A dump of neighbours walks the table of the whole machine, so
// that a lab of N nodes with N neighbours each would take N³ steps to be read.
type watch struct {
	fd      int  // of a socket that the kernel sends each change to
	settled bool // they were as planned when it was last drained
}

// openWatch watches the namespace of the calling thread; nil: it cannot be watched.
func openWatch() *watch {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, unix.NETLINK_ROUTE)
	if err != nil {
		return nil
	}
	// That there was a change is enough to know: a full buffer tells that, too (ENOBUFS).
	_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUF, 0)
	if unix.Bind(fd, &unix.SockaddrNetlink{Family: unix.AF_NETLINK, Groups: 1 << (unix.RTNLGRP_NEIGH - 1)}) != nil {
		unix.Close(fd)
		return nil
	}
	return &watch{fd: fd}
}

func (w *watch) close() {
	if w != nil {
		unix.Close(w.fd)
	}
}

// quiet reports whether they are still as planned.
func (w *watch) quiet() bool {
	if w == nil {
		return false
	}
	for buf := make([]byte, 1); ; w.settled = false {
		if _, _, err := unix.Recvfrom(w.fd, buf, unix.MSG_TRUNC); errors.Is(err, unix.EAGAIN) {
			return w.settled
		} else if err != nil && !errors.Is(err, unix.ENOBUFS) && !errors.Is(err, unix.EINTR) {
			return false
		}
	}
}

// settleNeighs records for the given namespaces (nil: all) that their neighbours and
// forwarding entries are as planned. In a small lab they are always read.
func (k *Kernel) settleNeighs(only map[string]bool) {
	if len(k.spaces) <= k.few {
		return
	}
	_ = k.thread.Run(func(h netns.Here) error {
		for name, s := range k.spaces {
			if only != nil && !only[name] {
				continue
			}
			if s.neighs == nil && h.Enter(s.ns) == nil {
				s.neighs = openWatch()
			}
			if s.neighs != nil {
				s.neighs.settled = true
			}
		}
		return nil
	})
}
