//go:build linux

package links

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
	"github.com/netlab/netlab/datapath/plan/occupant"
)

// notes are the deviations of a network namespace.
type notes struct{ deviations.List }

// linkFlag is a flag of a link that plans do not have.
type linkFlag struct {
	flag uint32
	word string
	want func(d *Device) bool
}

var linkFlags = []linkFlag{
	{unix.IFF_NOARP, "noarp", func(d *Device) bool { return d.Kind != "" && !d.Ethernet() }},
	{unix.IFF_PROMISC, "promisc", func(*Device) bool { return false }},
	{unix.IFF_ALLMULTI, "allmulticast", func(*Device) bool { return false }},
	{unix.IFF_MULTICAST, "multicast", func(*Device) bool { return true }},
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
func (d notes) device(x *Device) {
	set := func(word, value string) string { return d.IP("link set dev %s %s %s", x.Name, word, value) }
	for _, f := range linkFlags {
		is, want := x.Flags&f.flag != 0, f.want(x)
		if is == want || x.Kind == "" && f.flag != unix.IFF_PROMISC || f.flag == unix.IFF_MULTICAST && !x.Ethernet() {
			continue
		}
		word, on := f.word, want
		if word == "noarp" {
			word, on = "arp", !want
		}
		header := nl.NewIfInfomsg(unix.AF_UNSPEC)
		header.Index, header.Change = int32(x.Index), f.flag
		if want {
			header.Flags = f.flag
		}
		req := socket.Request(unix.RTM_NEWLINK, 0)
		req.AddData(header)
		d.Differs("link "+x.Name+": "+word, onOff(!on), onOff(on), set(word, onOff(on)), deviations.RouteRequest(socket.Written(req)))
	}
	if x.Kind == "" {
		if x.Flags&unix.IFF_UP == 0 {
			d.Differs("link lo", "down", "up", d.IP("link set dev lo up"), deviations.RouteRequest(Up(x.Index)))
		}
		if mtu := socket.Number(x.attrs[unix.IFLA_MTU]); mtu != loopbackMTU {
			d.Differs("link lo: mtu", mtu, loopbackMTU, set("mtu", strconv.Itoa(loopbackMTU)), change(x, nl.NewRtAttr(unix.IFLA_MTU, nl.Uint32Attr(loopbackMTU))))
		}
	}
	if brd := x.attrs[unix.IFLA_BROADCAST]; x.Ethernet() && len(brd) == 6 && net.HardwareAddr(brd).String() != everybody.String() {
		d.Differs("link "+x.Name+": broadcast address", net.HardwareAddr(brd), everybody, set("broadcast", everybody.String()),
			change(x, nl.NewRtAttr(unix.IFLA_BROADCAST, everybody)))
	}
	if socket.Number(x.attrs[unix.IFLA_PROTO_DOWN]) != 0 {
		d.Differs("link "+x.Name+": protodown", "on", "off", set("protodown", "off"), change(x, nl.NewRtAttr(unix.IFLA_PROTO_DOWN, []byte{0})))
	}
	for _, s := range everySetting {
		if v, ok := x.attrs[s.attr]; ok && socket.Number(v) != s.want {
			value, word := nl.Uint32Attr(s.want), strconv.Itoa(int(s.want))
			if s.attr == unix.IFLA_LINKMODE {
				value, word = []byte{0}, "default"
			}
			d.Differs("link "+x.Name+": "+s.word, socket.Number(v), word, set(s.word, word), change(x, nl.NewRtAttr(int(s.attr), value)))
		}
	}
	if socket.Number(x.attrs[unix.IFLA_OPERSTATE]) == dormant {
		d.Differs("link "+x.Name+": state", "dormant", "up", set("state", "up"), change(x, nl.NewRtAttr(unix.IFLA_OPERSTATE, []byte{operational})))
	}
	d.programs(x)
	_ = socket.EachAttr(x.attrs[unix.IFLA_PROP_LIST], func(kind uint16, value []byte) error {
		if kind == unix.IFLA_ALT_IFNAME {
			list := nl.NewRtAttr(unix.IFLA_PROP_LIST|unix.NLA_F_NESTED, nil)
			list.AddRtAttr(unix.IFLA_ALT_IFNAME, nl.ZeroTerminated(nl.BytesToString(value)))
			name := nl.BytesToString(value)
			d.Foreign("link "+x.Name+": name "+name, d.IP("link property del dev %s altname %s", x.Name, name), onLink(unix.RTM_DELLINKPROP, x, list))
		}
		return nil
	})
	if x.Kind == plan.Bridge {
		d.settings(x, x.inside, bridgeSettings, "type bridge")
	}
	if len(x.port) > 0 {
		d.settings(x, x.port, portSettings, "type bridge_slave")
		if is := socket.Number(x.port[portState]); x.Up() && is != forwarding {
			d.Differs("bridge port "+x.Name+": state", is, forwarding, "bridge -n "+d.Netns.Name+" link set dev "+x.Name+" state "+strconv.Itoa(forwarding),
				ofBridge(x, "type bridge_slave", linkSetting{attr: portState, want: forwarding}, x.port[portState]))
		}
	}
}

// Carriers notes links without a carrier: one that only somebody can have taken away, as its program
// runs, or as it needs none.
func Carriers(d deviations.List, devices Devices, want *plan.Netns) {
	for _, x := range devices {
		runs := x.Kind == plan.Dummy || slices.ContainsFunc(d.Netns.Tunnels, func(t occupant.Tunnel) bool { return t.Link == x.Name && t.State == "" })
		if runs && Planned(want, x.Name) && x.Flags&unix.IFF_UP != 0 && x.Flags&unix.IFF_LOWER_UP == 0 {
			d.Differs("link "+x.Name+": carrier", "off", "on", d.IP("link set dev %s carrier on", x.Name), change(x, nl.NewRtAttr(unix.IFLA_CARRIER, []byte{1})))
		}
	}
}

const loopbackMTU = 65536

var everybody = net.HardwareAddr{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}

// change is the request to give a link one attribute.
func change(x *Device, attr *nl.RtAttr) plan.Request { return onLink(unix.RTM_NEWLINK, x, attr) }

// onLink is a request of some kind about one attribute of a link.
func onLink(kind int, x *Device, attr *nl.RtAttr) plan.Request {
	req := socket.Request(kind, 0)
	header := nl.NewIfInfomsg(unix.AF_UNSPEC)
	header.Index = int32(x.Index)
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
func (d notes) programs(x *Device) {
	_ = socket.EachAttr(x.attrs[unix.IFLA_XDP], func(kind uint16, value []byte) error {
		if kind == xdpAttached && socket.Number(value) != 0 {
			xdp := nl.NewRtAttr(unix.IFLA_XDP|unix.NLA_F_NESTED, nil)
			xdp.AddRtAttr(1, nl.Uint32Attr(^uint32(0))) // IFLA_XDP_FD: none
			d.Foreign("link "+x.Name+": XDP program", d.IP("link set dev %s xdp off", x.Name), change(x, xdp))
		}
		return nil
	})
}

// settings notes what differs from a table.
func (d notes) settings(x *Device, have map[uint16][]byte, table []linkSetting, what string) {
	for _, s := range table {
		value, ok := have[s.attr]
		if is := socket.Number(value); ok && is != s.want {
			place := "bridge "
			if what != "type bridge" {
				place = "bridge port "
			}
			d.Differs(place+x.Name+": "+s.word, is, s.want, d.IP("link set dev %s %s %s %d", x.Name, what, s.word, s.want), ofBridge(x, what, s, value))
		}
	}
}

// ofBridge is the request to change what a setting of a bridge or one of its ports is.
func ofBridge(x *Device, what string, s linkSetting, is []byte) plan.Request {
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

// deleted is the request to delete a link.
func deleted(x *Device) plan.Request {
	req := socket.Request(unix.RTM_DELLINK, 0)
	header := nl.NewIfInfomsg(unix.AF_UNSPEC)
	header.Index = int32(x.Index)
	req.AddData(header)
	return deviations.RouteRequest(socket.Written(req))
}

// stranger notes a link that nobody planned, which may be in the way of those of the plan. What the
// kernel does not delete is set down.
func (d notes) stranger(x *Device) {
	if !fallback[x.Name] {
		d.Foreign("link "+x.Name, d.IP("link delete dev %s", x.Name), deleted(x))
		return
	}
	header := nl.NewIfInfomsg(unix.AF_UNSPEC)
	header.Index, header.Change = int32(x.Index), unix.IFF_UP
	req := socket.Request(unix.RTM_NEWLINK, 0)
	req.AddData(header)
	d.Differs("link "+x.Name, "up", "down", d.IP("link set dev %s down", x.Name), deviations.RouteRequest(socket.Written(req)))
}
