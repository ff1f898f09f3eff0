//go:build linux

package kernel

import (
	"encoding/binary"
	"net"
	"slices"
	"strconv"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"github.com/netlab/netlab/datapath/kernel/deviations"
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

// linkDump asks for links without their counters.
func linkDump() []byte {
	b := nl.NewIfInfomsg(unix.AF_UNSPEC).Serialize()
	return append(b, nl.NewRtAttr(unix.IFLA_EXT_MASK, nl.Uint32Attr(skipStats)).Serialize()...)
}

// netDevice is a link as a dump describes it.
type netDevice struct {
	name   string
	kind   plan.LinkType // empty for lo
	index  int
	flags  uint32
	mac    []byte
	attrs  map[uint16][]byte
	inside map[uint16][]byte // IFLA_INFO_DATA
	port   map[uint16][]byte // IFLA_INFO_SLAVE_DATA, of a bridge
	inet6  []uint32
}

func parseDevice(m []byte) (*netDevice, error) {
	attrs, err := socket.Attrs(m, unix.SizeofIfInfomsg)
	if err != nil {
		return nil, err
	}
	d := &netDevice{attrs: attrs, mac: attrs[unix.IFLA_ADDRESS], name: nl.BytesToString(attrs[unix.IFLA_IFNAME]), inside: map[uint16][]byte{}, port: map[uint16][]byte{},
		index: int(binary.NativeEndian.Uint32(m[unix.NLMSG_HDRLEN+4:])), flags: binary.NativeEndian.Uint32(m[unix.NLMSG_HDRLEN+8:])}
	into := func(all map[uint16][]byte) func(uint16, []byte) error {
		return func(kind uint16, value []byte) error { all[kind] = value; return nil }
	}
	bridged := false
	err = socket.EachAttr(attrs[unix.IFLA_LINKINFO], func(kind uint16, value []byte) error {
		switch kind {
		case nl.IFLA_INFO_KIND:
			d.kind = plan.LinkType(nl.BytesToString(value))
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
	_, d.inet6 = linkSettings(attrs)
	return d, err
}

// linkSettings are the settings of a link, as net.ipv4.conf and net.ipv6.conf have them, each
// by its number.
func linkSettings(attrs map[uint16][]byte) (inet, inet6 []uint32) {
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

// up reports whether the link is up and has a carrier.
func (d *netDevice) up() bool { return d.flags&unix.IFF_UP != 0 && d.flags&unix.IFF_LOWER_UP != 0 }

// ethernet reports whether neighbours are asked for on the link.
func (d *netDevice) ethernet() bool {
	return slices.Contains([]plan.LinkType{plan.Veth, plan.Bridge, plan.VXLAN}, d.kind)
}

// linkFlag is a flag of a link that plans do not have.
type linkFlag struct {
	flag uint32
	word string
	want func(d *netDevice) bool
}

var linkFlags = []linkFlag{
	{unix.IFF_NOARP, "noarp", func(d *netDevice) bool { return d.kind != "" && !d.ethernet() }},
	{unix.IFF_PROMISC, "promisc", func(*netDevice) bool { return false }},
	{unix.IFF_ALLMULTI, "allmulticast", func(*netDevice) bool { return false }},
	{unix.IFF_MULTICAST, "multicast", func(*netDevice) bool { return true }},
}

// linkSetting is an attribute of a link, a bridge or one of its ports, and what the kernel sets it to.
type linkSetting struct {
	attr uint16
	word string // of ip link and bridge link
	want uint32
}

// Attributes of every link (IFLA in include/uapi/linux/if_link.h). Packets longer than what the link
// takes are cut into segments before it.
var everySetting = []linkSetting{{unix.IFLA_LINKMODE, "mode", 0}, {unix.IFLA_GROUP, "group", 0}, {unix.IFLA_GSO_MAX_SEGS, "gso_max_segs", 65535},
	{unix.IFLA_GSO_MAX_SIZE, "gso_max_size", 65536}, {unix.IFLA_GRO_MAX_SIZE, "gro_max_size", 65536}, {63, "gso_ipv4_max_size", 65536}, {64, "gro_ipv4_max_size", 65536}}

// Operational states of a link (RFC 2863).
const dormant, operational = 5, 6

// Attributes of bridges and their ports (IFLA_BR and IFLA_BRPORT in
// include/uapi/linux/if_link.h), which decide what is forwarded where.
var (
	bridgeSettings = []linkSetting{{4, "ageing_time", 30000}, {5, "stp_state", 0}, {7, "vlan_filtering", 0}, {9, "group_fwd_mask", 0}, {22, "mcast_router", 1},
		{23, "mcast_snooping", 1}, {25, "mcast_querier", 0}, {36, "nf_call_iptables", 0}, {37, "nf_call_ip6tables", 0}, {38, "nf_call_arptables", 0}, {46, "no_linklocal_learn", 0}}
	portSettings = []linkSetting{{5, "guard", 0}, {6, "root_block", 0}, {8, "learning", 1}, {9, "flood", 1}, {10, "proxy_arp", 0}, {12, "proxy_arp_wifi", 0},
		{25, "mcast_router", 1}, {27, "mcast_flood", 1}, {28, "mcast_to_unicast", 0}, {29, "vlan_tunnel", 0}, {30, "bcast_flood", 1}, {31, "group_fwd_mask", 0},
		{32, "neigh_suppress", 0}, {33, "isolated", 0}, {34, "backup_port", 0}, {39, "locked", 0}, {40, "mab", 0}, {42, "mcast_max_groups", 0}, {43, "neigh_vlan_suppress", 0}}
)

// portState is the state of a port, and forwarding what it is while it has a carrier.
const (
	portState  = 1
	forwarding = 3
)

// device notes where a link of the plan, or lo, is not as the kernel made it.
func (d notes) device(x *netDevice) {
	set := func(word, value string) string { return d.IP("link set dev %s %s %s", x.name, word, value) }
	for _, f := range linkFlags {
		is, want := x.flags&f.flag != 0, f.want(x)
		if is == want || x.kind == "" && f.flag != unix.IFF_PROMISC || f.flag == unix.IFF_MULTICAST && !x.ethernet() {
			continue
		}
		word, on := f.word, want
		if word == "noarp" {
			word, on = "arp", !want
		}
		header := nl.NewIfInfomsg(unix.AF_UNSPEC)
		header.Index, header.Change = int32(x.index), f.flag
		if want {
			header.Flags = f.flag
		}
		req := socket.Request(unix.RTM_NEWLINK, 0)
		req.AddData(header)
		d.Differs("link "+x.name+": "+word, onOff(!on), onOff(on), set(word, onOff(on)), deviations.RouteRequest(socket.Written(req)))
	}
	if x.kind == "" {
		if x.flags&unix.IFF_UP == 0 {
			d.Differs("link lo", "down", "up", d.IP("link set dev lo up"), deviations.RouteRequest(linkUp(x.index)))
		}
		if mtu := socket.Number(x.attrs[unix.IFLA_MTU]); mtu != loopbackMTU {
			d.Differs("link lo: mtu", mtu, loopbackMTU, set("mtu", strconv.Itoa(loopbackMTU)), change(x, nl.NewRtAttr(unix.IFLA_MTU, nl.Uint32Attr(loopbackMTU))))
		}
	}
	if brd := x.attrs[unix.IFLA_BROADCAST]; x.ethernet() && len(brd) == 6 && net.HardwareAddr(brd).String() != everybody.String() {
		d.Differs("link "+x.name+": broadcast address", net.HardwareAddr(brd), everybody, set("broadcast", everybody.String()),
			change(x, nl.NewRtAttr(unix.IFLA_BROADCAST, everybody)))
	}
	if socket.Number(x.attrs[unix.IFLA_PROTO_DOWN]) != 0 {
		d.Differs("link "+x.name+": protodown", "on", "off", set("protodown", "off"), change(x, nl.NewRtAttr(unix.IFLA_PROTO_DOWN, []byte{0})))
	}
	for _, s := range everySetting {
		if v, ok := x.attrs[s.attr]; ok && socket.Number(v) != s.want {
			value, word := nl.Uint32Attr(s.want), strconv.Itoa(int(s.want))
			if s.attr == unix.IFLA_LINKMODE {
				value, word = []byte{0}, "default"
			}
			d.Differs("link "+x.name+": "+s.word, socket.Number(v), word, set(s.word, word), change(x, nl.NewRtAttr(int(s.attr), value)))
		}
	}
	if socket.Number(x.attrs[unix.IFLA_OPERSTATE]) == dormant {
		d.Differs("link "+x.name+": state", "dormant", "up", set("state", "up"), change(x, nl.NewRtAttr(unix.IFLA_OPERSTATE, []byte{operational})))
	}
	d.programs(x)
	_ = socket.EachAttr(x.attrs[unix.IFLA_PROP_LIST], func(kind uint16, value []byte) error {
		if kind == unix.IFLA_ALT_IFNAME {
			list := nl.NewRtAttr(unix.IFLA_PROP_LIST|unix.NLA_F_NESTED, nil)
			list.AddRtAttr(unix.IFLA_ALT_IFNAME, nl.ZeroTerminated(nl.BytesToString(value)))
			name := nl.BytesToString(value)
			d.Foreign("link "+x.name+": name "+name, d.IP("link property del dev %s altname %s", x.name, name), onLink(unix.RTM_DELLINKPROP, x, list))
		}
		return nil
	})
	if x.kind == plan.Bridge {
		d.settings(x, x.inside, bridgeSettings, "type bridge")
	}
	if len(x.port) > 0 {
		d.settings(x, x.port, portSettings, "type bridge_slave")
		if is := socket.Number(x.port[portState]); x.up() && is != forwarding {
			d.Differs("bridge port "+x.name+": state", is, forwarding, "bridge -n "+d.Netns.Name+" link set dev "+x.name+" state "+strconv.Itoa(forwarding),
				ofBridge(x, "type bridge_slave", linkSetting{attr: portState, want: forwarding}, x.port[portState]))
		}
	}
}

// carriers notes links without a carrier: one that only somebody can have taken away, as its program
// runs, or as it needs none.
func (d notes) carriers(devices map[int]*netDevice, want *plan.Netns) {
	for _, x := range devices {
		runs := x.kind == plan.Dummy || slices.ContainsFunc(d.Netns.Tunnels, func(t plan.Tunnel) bool { return t.Link == x.name && t.State == "" })
		if runs && wants(want, x.name) && x.flags&unix.IFF_UP != 0 && x.flags&unix.IFF_LOWER_UP == 0 {
			d.Differs("link "+x.name+": carrier", "off", "on", d.IP("link set dev %s carrier on", x.name), change(x, nl.NewRtAttr(unix.IFLA_CARRIER, []byte{1})))
		}
	}
}

const loopbackMTU = 65536

var everybody = net.HardwareAddr{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}

// change is the request to give a link one attribute.
func change(x *netDevice, attr *nl.RtAttr) plan.Request { return onLink(unix.RTM_NEWLINK, x, attr) }

// onLink is a request of some kind about one attribute of a link.
func onLink(kind int, x *netDevice, attr *nl.RtAttr) plan.Request {
	req := socket.Request(kind, 0)
	header := nl.NewIfInfomsg(unix.AF_UNSPEC)
	header.Index = int32(x.index)
	req.AddData(header)
	req.AddData(attr)
	return deviations.RouteRequest(socket.Written(req))
}

func onOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}

// programs notes an XDP program.
func (d notes) programs(x *netDevice) {
	_ = socket.EachAttr(x.attrs[unix.IFLA_XDP], func(kind uint16, value []byte) error {
		if kind == xdpAttached && socket.Number(value) != 0 {
			xdp := nl.NewRtAttr(unix.IFLA_XDP|unix.NLA_F_NESTED, nil)
			xdp.AddRtAttr(1, nl.Uint32Attr(^uint32(0))) // IFLA_XDP_FD: none
			d.Foreign("link "+x.name+": XDP program", d.IP("link set dev %s xdp off", x.name), change(x, xdp))
		}
		return nil
	})
}

// settings notes what differs from a table.
func (d notes) settings(x *netDevice, have map[uint16][]byte, table []linkSetting, what string) {
	for _, s := range table {
		value, ok := have[s.attr]
		if is := socket.Number(value); ok && is != s.want {
			place := "bridge "
			if what != "type bridge" {
				place = "bridge port "
			}
			d.Differs(place+x.name+": "+s.word, is, s.want, d.IP("link set dev %s %s %s %d", x.name, what, s.word, s.want), ofBridge(x, what, s, value))
		}
	}
}

// ofBridge is the request to change what a setting of a bridge or one of its ports is.
func ofBridge(x *netDevice, what string, s linkSetting, is []byte) plan.Request {
	value := nl.Uint32Attr(s.want)
	switch len(is) {
	case 1:
		value = []byte{byte(s.want)}
	case 2:
		value = binary.NativeEndian.AppendUint16(nil, uint16(s.want))
	case 8: // switches, and which of them change
		value = binary.NativeEndian.AppendUint32(value, socket.Number(is))
	}
	kind, data := nl.IFLA_INFO_KIND, nl.IFLA_INFO_DATA
	if what != "type bridge" {
		kind, data = nl.IFLA_INFO_SLAVE_KIND, slaveData
	}
	info := nl.NewRtAttr(unix.IFLA_LINKINFO, nil)
	info.AddRtAttr(kind, []byte("bridge"))
	info.AddRtAttr(data, nil).AddRtAttr(int(s.attr), value)
	return change(x, info)
}
