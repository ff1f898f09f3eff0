//go:build linux

package links

import (
	"fmt"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"github.com/netlab/netlab/datapath/kernel/deviations"
	"github.com/netlab/netlab/datapath/kernel/socket"
	"github.com/netlab/netlab/datapath/plan"
)

// renamed gives links of the plan that have another name theirs again, on paper at first:
// deleting and creating them would be in their own way. A veth pair is made again.
func renamed(d notes, devices Devices, known *Known) {
	want := known.Want
	for i := range want.Links {
		l := &want.Links[i]
		if l.Type == plan.Veth || devices.has(l.Name) {
			continue
		}
		for index, x := range devices {
			kind := l.Type
			if known.UserSpace[l.Name] {
				kind = plan.TUN
			}
			if x.Kind != kind || Planned(want, x.Name) || !x.is(l) {
				continue
			}
			set := func(flags uint32, attrs ...*nl.RtAttr) plan.Request {
				req := socket.Request(unix.RTM_NEWLINK, 0)
				header := nl.NewIfInfomsg(unix.AF_UNSPEC)
				header.Index, header.Flags, header.Change = int32(index), flags, unix.IFF_UP
				req.AddData(header)
				for _, a := range attrs {
					req.AddData(a)
				}
				return deviations.RouteRequest(socket.Written(req))
			}
			d.Differs("link "+x.Name+": name", x.Name, l.Name, fmt.Sprintf("%s && %s && %s", d.IP("link set dev %s down", x.Name), d.IP("link set dev %s name %s", x.Name, l.Name),
				d.IP("link set dev %s up", l.Name)), set(0), set(0, nl.NewRtAttr(unix.IFLA_IFNAME, nl.ZeroTerminated(l.Name))), set(unix.IFF_UP))
			x.Name = l.Name
			break
		}
	}
}

// is reports whether a device of the right type is the link.
func (d *Device) is(l *plan.Link) bool {
	const vni = 1 // IFLA_VXLAN_ID
	return l.Type != plan.VXLAN || int(socket.Number(d.inside[vni])) == l.VXLAN.ID
}
