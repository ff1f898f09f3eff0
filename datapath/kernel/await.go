//go:build linux

package kernel

import (
	"context"
	"fmt"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/netlab/netlab/datapath/kernel/links"
	"github.com/netlab/netlab/datapath/kernel/socket"
	"github.com/netlab/netlab/datapath/netns"
	"github.com/netlab/netlab/datapath/plan"
)

// emptyPatience bounds the wait for the kernel's clean-up, which other labs on the
// machine can delay.
const emptyPatience = 30 * time.Second

// AwaitEmpty waits until a namespace has no veth left, then removes its bridges. The
// kernel destroys namespaces in the background, many at a time; a veth disappears when
// the namespace of its other end does.
func AwaitEmpty(ctx context.Context, ns *netns.NS) {
	_ = ns.Do(func() error {
		s, err := socket.OpenRoute(socket.NewMemory())
		if err != nil {
			return err
		}
		defer s.Close()
		for deadline := time.Now().Add(emptyPatience); ctx.Err() == nil && time.Now().Before(deadline); {
			bridges, veths, err := devices()
			if err != nil {
				return err
			}
			if veths == 0 {
				for _, b := range bridges {
					_ = s.Do(socket.Part(linkGone(plan.Peer{Link: b}), links.Delete(b)))
				}
				return nil
			}
			time.Sleep(2 * time.Millisecond)
		}
		return nil
	})
}

// devices lists the bridges of the calling thread's namespace, and counts its veths.
func devices() (bridges []string, veths int, err error) {
	handle, err := netlink.NewHandle(unix.NETLINK_ROUTE)
	if err != nil {
		return nil, 0, err
	}
	defer handle.Close()
	links, err := socket.Whole(handle.LinkList)
	for _, l := range links {
		switch l.Type() {
		case "bridge":
			bridges = append(bridges, l.Attrs().Name)
		case "veth":
			veths++
		}
	}
	return bridges, veths, err
}

// upPatience bounds the wait for links: the kernel brings them up under the same lock
// under which it destroys namespaces, so that other labs on the machine can delay it.
const upPatience = 30 * time.Second

// addressPatience bounds the part of it that is spent on link-local addresses: somebody
// may have deleted them, which does not stop packets.
const addressPatience = 3 * time.Second

// awaitUp waits until new veths, and TUN devices with a program, carry packets, and the bridges that they are attached
// to. Of two ends, the one that is raised first has no carrier yet: it drops what it
// should send, and its bridge port is disabled, until a worker of the kernel has seen
// that the other end is up (net/core/link_watch.c). Another one then makes its
// link-local address usable, without which a router cannot ask for a neighbour of IPv6
// (ndisc_send_ns in net/ipv6/ndisc.c).
func (r *runner) awaitUp() error {
	began := time.Now()
	for s, links := range r.raised {
		for {
			down, err := s.notUp(links, time.Since(began) < addressPatience)
			if err != nil {
				return err
			}
			if down == "" {
				break
			}
			if time.Since(began) > upPatience {
				return fmt.Errorf("link %q did not come up within %v", down, upPatience)
			}
			select {
			case <-r.ctx.Done():
				return r.ctx.Err()
			case <-time.After(time.Millisecond):
			}
		}
	}
	return nil
}

// notUp returns the first of the links that is not ready yet, or whose bridge is not;
// "" if none. Without addresses, only links count.
func (s *space) notUp(names map[string]bool, addresses bool) (down string, err error) {
	err = s.ns.Do(func() error {
		handle, err := netlink.NewHandle(unix.NETLINK_ROUTE)
		if err != nil {
			return err
		}
		defer handle.Close()
		links, err := socket.Whole(handle.LinkList)
		if err != nil {
			return err
		}
		silent := map[int]bool{}
		if addresses {
			if silent, err = withoutLinkLocal(handle); err != nil {
				return err
			}
		}
		ready := make(map[int]bool, len(links))
		for _, l := range links {
			ready[l.Attrs().Index] = l.Attrs().OperState == netlink.OperUp && !silent[l.Attrs().Index]
		}
		for _, l := range links {
			a := l.Attrs()
			if names[a.Name] && (!ready[a.Index] || a.MasterIndex != 0 && !ready[a.MasterIndex]) {
				down = a.Name
				break
			}
		}
		return nil
	})
	return down, err
}

// withoutLinkLocal are the links, by index, that have addresses of IPv6, but no link-local one
// that is usable.
func withoutLinkLocal(handle *netlink.Handle) (map[int]bool, error) {
	list, err := socket.Whole(func() ([]netlink.Addr, error) { return handle.AddrList(nil, netlink.FAMILY_V6) })
	out := map[int]bool{}
	for _, a := range list {
		out[a.LinkIndex] = true
	}
	for _, a := range list {
		if a.Scope == unix.RT_SCOPE_LINK && a.Flags&unix.IFA_F_TENTATIVE == 0 {
			delete(out, a.LinkIndex)
		}
	}
	return out, err
}
