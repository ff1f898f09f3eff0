//go:build linux

package kernel

import (
	"fmt"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"github.com/netlab/netlab/datapath/kernel/deviations"
	"github.com/netlab/netlab/datapath/kernel/socket"
	"github.com/netlab/netlab/datapath/plan"
)

// vxlanSettings are the attributes of a VXLAN device that plans do not have. Most of them cannot be
// changed.
var vxlanSettings = []linkSetting{{nl.IFLA_VXLAN_GROUP, "group", 0}, {nl.IFLA_VXLAN_GROUP6, "group", 0}, {nl.IFLA_VXLAN_TTL, "ttl", 0}, {nl.IFLA_VXLAN_TOS, "tos", 0},
	{nl.IFLA_VXLAN_AGEING, "ageing", 300}, {nl.IFLA_VXLAN_LIMIT, "maxaddr", 0}, {nl.IFLA_VXLAN_PROXY, "proxy", 0}, {nl.IFLA_VXLAN_RSC, "rsc", 0},
	{nl.IFLA_VXLAN_L2MISS, "l2miss", 0}, {nl.IFLA_VXLAN_L3MISS, "l3miss", 0}, {nl.IFLA_VXLAN_FLOWBASED, "external", 0}, {26, "flowlabel", 0}, {29, "df", 0}, {30, "vnifilter", 0}}

// vxlanFlags are attributes that are only there when they are set.
var vxlanFlags = map[uint16]string{nl.IFLA_VXLAN_GBP: "gbp", 27: "gpe"}

// tunnel notes an attribute of a VXLAN device that plans do not have: the device is made again.
func (d notes) tunnel(x *netDevice) {
	if x.kind != plan.VXLAN {
		return
	}
	again := func(word string, is, want any) {
		d.Differs("link "+x.name+": "+word, is, want, d.IP("link delete dev %s", x.name), deleted(x))
	}
	for _, s := range vxlanSettings {
		if v, ok := x.inside[s.attr]; ok && socket.Number(v) != s.want {
			is := fmt.Sprint(socket.Number(v))
			if a := socket.Address(v); len(v) == 16 || s.word == "group" {
				is = a.String()
			}
			again(s.word, is, s.want)
			return
		}
	}
	for attr, word := range vxlanFlags {
		if _, ok := x.inside[attr]; ok {
			again(word, "on", "off")
			return
		}
	}
}

// deleted is the request to delete a link.
func deleted(x *netDevice) plan.Request {
	req := socket.Request(unix.RTM_DELLINK, 0)
	header := nl.NewIfInfomsg(unix.AF_UNSPEC)
	header.Index = int32(x.index)
	req.AddData(header)
	return deviations.RouteRequest(socket.Written(req))
}

// stranger notes a link that nobody planned, which may be in the way of those of the plan. What the
// kernel does not delete is set down.
func (d notes) stranger(x *netDevice) {
	if !fallback[x.name] {
		d.Foreign("link "+x.name, d.IP("link delete dev %s", x.name), deleted(x))
		return
	}
	header := nl.NewIfInfomsg(unix.AF_UNSPEC)
	header.Index, header.Change = int32(x.index), unix.IFF_UP
	req := socket.Request(unix.RTM_NEWLINK, 0)
	req.AddData(header)
	d.Differs("link "+x.name, "up", "down", d.IP("link set dev %s down", x.name), deviations.RouteRequest(socket.Written(req)))
}
