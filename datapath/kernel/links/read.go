//go:build linux

package links

import (
	"encoding/binary"
	"fmt"
	"net"
	"net/netip"
	"slices"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/netlab/netlab/datapath/kernel/deviations"
	"github.com/netlab/netlab/datapath/kernel/settings"
	"github.com/netlab/netlab/datapath/kernel/socket"
	"github.com/netlab/netlab/datapath/plan"
)

// Known is what is known of a network namespace before its links are read.
type Known struct {
	Want, Applied *plan.Netns     // Applied may be nil
	UserSpace     map[string]bool // links that are TUN devices in place of WireGuard's
	Fresh         *settings.Pristine
	All           bool // add also those that nobody planned
}

// Read adds the links of a network namespace, and notes where they are not as planned.
func Read(sock *socket.Socket, known *Known, n *plan.Netns) (Devices, error) {
	list, err := sock.Dump(unix.RTM_GETLINK, dumpRequest())
	if err != nil {
		return nil, fmt.Errorf("links: %w", err)
	}
	d, want, old := notes{deviations.Of(n)}, known.Want, known.Applied
	devices := make(Devices, len(list))
	for _, m := range list {
		x, err := parse(m)
		if err != nil {
			return nil, fmt.Errorf("links: %w", err)
		}
		devices[x.Index] = x
	}
	renamed(d, devices, known)
	names := devices.Names()
	for _, m := range list {
		l, err := netlink.LinkDeserialize(nil, m[unix.NLMSG_HDRLEN:])
		if err != nil {
			return nil, fmt.Errorf("links: %w", err)
		}
		a := l.Attrs()
		a.Name = names[a.Index]
		down, x := a.Flags&net.FlagUp == 0, devices[a.Index]
		if a.Flags&net.FlagLoopback != 0 || Planned(want, a.Name) {
			d.device(x)
			d.tunnel(x)
			settings.OfLink(d.List, x.settings(), want, known.Fresh)
		}
		if a.Flags&net.FlagLoopback != 0 || down && fallback[a.Name] && !Planned(want, a.Name) {
			continue
		}
		if !Planned(want, a.Name) && (old == nil || !Planned(old, a.Name)) {
			d.stranger(x)
			if !known.All {
				continue
			}
		}
		link := plan.Link{Name: a.Name, Type: plan.LinkType(l.Type()), MTU: a.MTU, Master: names[a.MasterIndex], Down: down}
		copy(link.MAC[:], a.HardwareAddr)
		link.Hairpin = socket.Number(x.port[brportMode]) == 1
		if l, ok := l.(*netlink.Vxlan); ok {
			link.VXLAN = plan.VXLANAttrs{ID: l.VxlanId, Port: l.Port, Dev: names[l.VtepDevIndex], Learning: l.Learning, Local: addrOf(l.SrcAddr)}
		}
		if _, ok := l.(*netlink.Tuntap); ok {
			link.Type = plan.TUN
			if known.UserSpace[a.Name] {
				link.Type, link.UserSpace = plan.WireGuard, true
			}
		}
		n.Links = append(n.Links, link)
	}
	return devices, nil
}

// Devices are the links of a network namespace, by index.
type Devices map[int]*Device

// Names are the names of the links, by index.
func (d Devices) Names() map[int]string {
	names := make(map[int]string, len(d))
	for index, x := range d {
		names[index] = x.Name
	}
	return names
}

func (d Devices) has(name string) bool {
	for _, x := range d {
		if x.Name == name {
			return true
		}
	}
	return false
}

// Asking are the names of the links of the plan on which neighbours are asked for.
func (d Devices) Asking(want *plan.Netns) (list []string) {
	for _, x := range d {
		if x.Ethernet() && len(x.port) == 0 && Planned(want, x.Name) {
			list = append(list, x.Name)
		}
	}
	return list
}

// Loopback are the settings of lo, as net.ipv4.conf and net.ipv6.conf have them.
func Loopback(sock *socket.Socket) (inet, inet6 []uint32, err error) {
	list, err := sock.Dump(unix.RTM_GETLINK, dumpRequest())
	if err != nil {
		return nil, nil, err
	}
	for _, m := range list {
		attrs, err := socket.Attrs(m, unix.SizeofIfInfomsg)
		if err != nil {
			return nil, nil, err
		}
		if binary.NativeEndian.Uint32(m[unix.NLMSG_HDRLEN+4:]) == LoopbackIndex {
			inet, inet6 = settingsOf(attrs)
		}
	}
	return inet, inet6, nil
}

// LoopbackIndex is the index of lo in every namespace.
const LoopbackIndex = 1

// fallback are the devices that drivers create in every namespace once they are loaded.
// They are down, and cannot be deleted.
var fallback = map[string]bool{"tunl0": true, "sit0": true, "gre0": true, "gretap0": true, "erspan0": true, "ip_vti0": true,
	"ip6tnl0": true, "ip6gre0": true, "ip6_vti0": true, "ifb0": true, "ifb1": true}

// Planned reports whether a link is in the plan.
func Planned(n *plan.Netns, link string) bool {
	return slices.ContainsFunc(n.Links, func(l plan.Link) bool { return l.Name == link })
}

// addrOf is an address of the library; the zero Addr if it has none.
func addrOf(ip net.IP) netip.Addr {
	a, _ := netip.AddrFromSlice(ip)
	return a.Unmap()
}
