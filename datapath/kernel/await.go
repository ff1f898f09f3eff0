//go:build linux

package kernel

import (
	"context"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

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
					_ = s.Do(socket.Part(linkGone(plan.Peer{Link: b}), linkDel(b)))
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
	links, err := handle.LinkList()
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
