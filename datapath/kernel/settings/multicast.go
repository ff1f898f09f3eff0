//go:build linux

package settings

import (
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/netlab/netlab/datapath/kernel/deviations"
	"github.com/netlab/netlab/datapath/plan"
)

// Numbers of net.ipv4.conf.*.mc_forwarding and net.ipv6.conf.*.mc_forwarding, which only the kernel sets.
const forwardsMulticast4, forwardsMulticast6 = 1, 25

// multicast notes that multicast packets from the link are routed, which only a routing daemon sets up.
func multicast(d deviations.List, x Link) {
	for _, f := range []struct {
		family, number int
		settings       []uint32
		tree           string
	}{{unix.AF_INET, forwardsMulticast4, x.Inet, "net.ipv4"}, {unix.AF_INET6, forwardsMulticast6, x.Inet6, "net.ipv6"}} {
		if f.number < len(f.settings) && f.settings[f.number] != 0 {
			d.Differs(fmt.Sprintf("sysctl %s.conf.%s.mc_forwarding", f.tree, slashed(x.Name)), 1, 0, "ip netns exec "+d.Netns.Name+" smcroutectl flush",
				plan.Request{MulticastRouting: f.family})
		}
	}
}

// FlushMulticast removes the multicast routes of the namespace of the thread, and the interfaces
// between which they lead (MRT_FLUSH in include/uapi/linux/mroute.h).
func FlushMulticast(family int) error {
	const flush, all = 212, 15
	protocol, level := unix.IPPROTO_IGMP, unix.IPPROTO_IP
	if family == unix.AF_INET6 {
		protocol, level = unix.IPPROTO_ICMPV6, unix.IPPROTO_IPV6
	}
	fd, err := unix.Socket(family, unix.SOCK_RAW|unix.SOCK_CLOEXEC, protocol)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return unix.SetsockoptInt(fd, level, flush, all)
}
