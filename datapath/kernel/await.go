//go:build linux

package kernel

import (
	"context"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/netlab/netlab/datapath/netns"
)

// emptyPatience bounds the wait for the kernel's clean-up, which other labs on the
// machine can hold up.
const emptyPatience = 30 * time.Second

// AwaitEmpty waits until a namespace has no veth left, then removes its bridges.
// The kernel takes namespaces down in the background, many at a time; the end of
// a veth whose other end is in one of them tells when it did.
func AwaitEmpty(ctx context.Context, ns *netns.NS) {
	_ = ns.Do(func() error {
		s, err := openRtnl(newScratch())
		if err != nil {
			return err
		}
		defer s.close()
		for deadline := time.Now().Add(emptyPatience); ctx.Err() == nil && time.Now().Before(deadline); {
			bridges, veths, err := s.devices()
			if err != nil {
				return err
			}
			if veths == 0 {
				for _, b := range bridges {
					_ = s.do([]message{linkDel(b, ipText("link del dev %s", b))})
				}
				return nil
			}
			time.Sleep(2 * time.Millisecond)
		}
		return nil
	})
}

// devices lists the bridges of the socket's namespace, and counts its veths.
func (s *rtnl) devices() (bridges []string, veths int, err error) {
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
