//go:build linux

package links

import (
	"fmt"

	"github.com/vishvananda/netlink/nl"

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
func (d notes) tunnel(x *Device) {
	if x.Kind != plan.VXLAN {
		return
	}
	again := func(word string, is, want any) {
		d.Differs("link "+x.Name+": "+word, is, want, d.IP("link delete dev %s", x.Name), deleted(x))
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
