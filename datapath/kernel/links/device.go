//go:build linux

package links

import (
	"encoding/binary"
	"slices"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"github.com/netlab/netlab/datapath/kernel/settings"
	"github.com/netlab/netlab/datapath/kernel/socket"
	"github.com/netlab/netlab/datapath/plan"
)

// Attribute numbers that x/sys/unix does not name (include/uapi/linux/if_link.h).
const (
	xdpAttached = 2 // IFLA_XDP_ATTACHED
	slaveData   = 5 // IFLA_INFO_SLAVE_DATA
	inetConf    = 1 // IFLA_INET_CONF
	inet6Conf   = 2 // IFLA_INET6_CONF
	skipStats   = 1 << 3
)

// dumpRequest asks for links without their counters.
func dumpRequest() []byte {
	b := nl.NewIfInfomsg(unix.AF_UNSPEC).Serialize()
	return append(b, nl.NewRtAttr(unix.IFLA_EXT_MASK, nl.Uint32Attr(skipStats)).Serialize()...)
}

// Device is a link as a dump describes it.
type Device struct {
	Name   string
	Kind   plan.LinkType // empty for lo
	Index  int
	Flags  uint32
	MAC    []byte
	attrs  map[uint16][]byte
	inside map[uint16][]byte // IFLA_INFO_DATA
	port   map[uint16][]byte // IFLA_INFO_SLAVE_DATA, of a bridge
	inet6  []uint32
}

func parse(m []byte) (*Device, error) {
	attrs, err := socket.Attrs(m, unix.SizeofIfInfomsg)
	if err != nil {
		return nil, err
	}
	d := &Device{attrs: attrs, MAC: attrs[unix.IFLA_ADDRESS], Name: nl.BytesToString(attrs[unix.IFLA_IFNAME]), inside: map[uint16][]byte{}, port: map[uint16][]byte{},
		Index: int(binary.NativeEndian.Uint32(m[unix.NLMSG_HDRLEN+4:])), Flags: binary.NativeEndian.Uint32(m[unix.NLMSG_HDRLEN+8:])}
	into := func(all map[uint16][]byte) func(uint16, []byte) error {
		return func(kind uint16, value []byte) error { all[kind] = value; return nil }
	}
	bridged := false
	err = socket.EachAttr(attrs[unix.IFLA_LINKINFO], func(kind uint16, value []byte) error {
		switch kind {
		case nl.IFLA_INFO_KIND:
			d.Kind = plan.LinkType(nl.BytesToString(value))
		case nl.IFLA_INFO_DATA:
			return socket.EachAttr(value, into(d.inside))
		case nl.IFLA_INFO_SLAVE_KIND:
			bridged = nl.BytesToString(value) == "bridge"
		case slaveData:
			return socket.EachAttr(value, into(d.port))
		}
		return nil
	})
	if !bridged {
		clear(d.port)
	}
	_, d.inet6 = settingsOf(attrs)
	return d, err
}

// settingsOf are the settings of a link, as net.ipv4.conf and net.ipv6.conf have them, each
// by its number.
func settingsOf(attrs map[uint16][]byte) (inet, inet6 []uint32) {
	_ = socket.EachAttr(attrs[unix.IFLA_AF_SPEC], func(family uint16, value []byte) error {
		return socket.EachAttr(value, func(kind uint16, value []byte) error {
			switch {
			case family == unix.AF_INET && kind == inetConf:
				inet = words(value)
			case family == unix.AF_INET6 && kind == inet6Conf:
				inet6 = words(value)
			}
			return nil
		})
	})
	return inet, inet6
}

func words(b []byte) []uint32 {
	list := make([]uint32, len(b)/4)
	for i := range list {
		list[i] = binary.NativeEndian.Uint32(b[4*i:])
	}
	return list
}

// Up reports whether the link is up and has a carrier.
func (d *Device) Up() bool { return d.Flags&unix.IFF_UP != 0 && d.Flags&unix.IFF_LOWER_UP != 0 }

// Ethernet reports whether neighbours are asked for on the link.
func (d *Device) Ethernet() bool {
	return slices.Contains([]plan.LinkType{plan.Veth, plan.Bridge, plan.VXLAN}, d.Kind)
}

// settings are those of the link.
func (d *Device) settings() settings.Link {
	inet, _ := settingsOf(d.attrs)
	return settings.Link{Name: d.Name, Kind: d.Kind, MTU: socket.Number(d.attrs[unix.IFLA_MTU]), Inet: inet, Inet6: d.inet6}
}

// Bridge is the index of the bridge that the link is a port of; 0: none.
func (d *Device) Bridge() int {
	if len(d.port) == 0 {
		return 0
	}
	return int(socket.Number(d.attrs[unix.IFLA_MASTER]))
}

// Peer is the index of the other end of a veth, in its own namespace.
func (d *Device) Peer() int { return int(socket.Number(d.attrs[unix.IFLA_LINK])) }

// AddsLinkLocal reports whether the kernel gives the link a link-local address.
func (d *Device) AddsLinkLocal() bool {
	const disabled, eui64 = 26, 0 // DEVCONF_DISABLE_IPV6, IN6_ADDR_GEN_MODE_EUI64
	return len(d.MAC) == 6 && len(d.inet6) > disabled && d.inet6[disabled] == 0 && len(d.inet6) > addrGenMode && d.inet6[addrGenMode] == eui64
}

// addrGenMode is the number of net.ipv6.conf.*.addr_gen_mode.
const addrGenMode = 47
