//go:build linux

package neighbours

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"github.com/netlab/netlab/datapath/kernel/deviations"
	"github.com/netlab/netlab/datapath/kernel/links"
	"github.com/netlab/netlab/datapath/kernel/socket"
	"github.com/netlab/netlab/datapath/plan"
)

// A neighbour has a header of struct ndmsg.
const neighHeader = 12

// Read adds the neighbours and forwarding entries of a network namespace, and returns what the
// kernel has learned by itself.
func Read(sock *socket.Socket, devices links.Devices, want, n *plan.Netns) ([]Learned, error) {
	r := reading{n: n, names: devices.Names()}
	err := errors.Join(r.neighs(sock), r.fdb(sock, devices, want))
	return r.learned, err
}

// reading is that of one network namespace.
type reading struct {
	n       *plan.Netns
	names   map[int]string // of links
	learned []Learned
}

// neighs reads permanent neighbours; proxy entries and those without a check (NOARP) are foreign.
func (r *reading) neighs(sock *socket.Socket) error {
	n, names, d := r.n, r.names, deviations.Of(r.n)
	for _, proxies := range []bool{false, true} {
		header := ndmsg{}
		if proxies {
			header.flags = unix.NTF_PROXY
		}
		list, err := sock.Dump(unix.RTM_GETNEIGH, header.Serialize())
		if err != nil {
			return fmt.Errorf("neighbours: %w", err)
		}
		for _, m := range list {
			e, attrs, err := parseNeigh(m)
			if err != nil {
				return fmt.Errorf("neighbours: %w", err)
			}
			addr, on, mac := socket.Address(attrs[unix.NDA_DST]), names[int(e.index)], attrs[unix.NDA_LLADDR]
			switch {
			case e.family != unix.AF_INET && e.family != unix.AF_INET6 || !addr.IsValid():
			case e.flags&unix.NTF_PROXY != 0:
				what := fmt.Sprintf("neigh %s dev %s proxy", addr, on)
				d.Foreign(what, d.IP("neigh delete proxy %s dev %s", addr, on), deviations.Undo(unix.NETLINK_ROUTE, unix.RTM_DELNEIGH, m))
			case len(mac) != 6:
			case e.state&unix.NUD_PERMANENT != 0:
				n.Neighs = append(n.Neighs, plan.Neigh{Link: on, Addr: addr, MAC: plan.MAC(mac)})
			case e.state&unix.NUD_NOARP != 0 && e.index != links.LoopbackIndex && mac[0]&1 == 0 && plan.MAC(mac) != (plan.MAC{}) && !addr.IsMulticast():
				what := fmt.Sprintf("neigh %s lladdr %s dev %s nud noarp", addr, net.HardwareAddr(mac), on)
				d.Foreign(what, d.IP("neigh delete %s dev %s", addr, on), deviations.Undo(unix.NETLINK_ROUTE, unix.RTM_DELNEIGH, m))
			case e.state&unix.NUD_NOARP == 0:
				r.learn(on, addr, mac, m)
			}
		}
	}
	return nil
}

func parseNeigh(m []byte) (ndmsg, map[uint16][]byte, error) {
	attrs, err := socket.Attrs(m, neighHeader)
	if err != nil {
		return ndmsg{}, nil, err
	}
	b := m[unix.NLMSG_HDRLEN:]
	return ndmsg{family: b[0], index: socket.Number(b[4:8]), state: uint16(socket.Number(b[8:10])), flags: b[10]}, attrs, nil
}

// local is an address of a bridge or one of its ports, by which the bridge knows that a frame
// is for its own node.
type local struct {
	bridge int
	mac    plan.MAC
}

// locals are those that the bridges of the plan must have, with the device that each is of.
func locals(devices links.Devices, want *plan.Netns) map[local]*links.Device {
	all := map[local]*links.Device{}
	for index, dev := range devices {
		master := index
		if bridge := dev.Bridge(); bridge != 0 {
			master = bridge
		} else if dev.Kind != plan.Bridge {
			continue
		}
		if b := devices[master]; b != nil && links.Planned(want, b.Name) && links.Planned(want, dev.Name) && len(dev.MAC) == 6 {
			all[local{master, plan.MAC(dev.MAC)}] = dev
		}
	}
	return all
}

// fdb reads the permanent forwarding entries of vxlan links. Those of bridges are learned, or
// the addresses of their own ports.
func (r *reading) fdb(sock *socket.Socket, devices links.Devices, want *plan.Netns) error {
	n, names := r.n, r.names
	if !slices.ContainsFunc(n.Links, func(l plan.Link) bool { return l.Type == plan.VXLAN || l.Type == plan.Bridge }) {
		return nil
	}
	d := deviations.Of(n)
	list, err := sock.Dump(unix.RTM_GETNEIGH, (&ndmsg{family: unix.AF_BRIDGE}).Serialize())
	if err != nil {
		return fmt.Errorf("forwarding entries: %w", err)
	}
	own, found := locals(devices, want), map[local]bool{}
	listed := map[string]int{} // an entry is there once for each VLAN of the port, too, but is one
	once := func(what, command string, undo plan.Request) {
		if i, ok := listed[what]; ok {
			n.Deviations[i].Repair = append(n.Deviations[i].Repair, undo)
			return
		}
		listed[what] = len(n.Deviations)
		d.Foreign(what, command, undo)
	}
	for _, m := range list {
		e, attrs, err := parseNeigh(m)
		if err != nil {
			return fmt.Errorf("forwarding entries: %w", err)
		}
		mac, dst, on := attrs[unix.NDA_LLADDR], socket.Address(attrs[unix.NDA_DST]), names[int(e.index)]
		_, ofBridge := attrs[unix.NDA_MASTER]
		_, vlan := attrs[unix.NDA_VLAN]
		_, port := attrs[unix.NDA_PORT]
		_, vni := attrs[unix.NDA_VNI]
		fixed := e.state&(unix.NUD_PERMANENT|unix.NUD_NOARP) != 0
		if len(mac) == 6 && !fixed && ofBridge {
			r.learn(on, netip.Addr{}, mac, m)
		}
		if len(mac) != 6 || !fixed {
			continue
		}
		undone, of := deviations.Undo(unix.NETLINK_ROUTE, unix.RTM_DELNEIGH, m), local{int(socket.Number(attrs[unix.NDA_MASTER])), plan.MAC(mac)}
		switch {
		case ofBridge && e.state&unix.NUD_PERMANENT != 0 && own[of] != nil:
			found[of] = found[of] || !vlan
		case dst.IsValid() && !port && !vni && e.state&unix.NUD_PERMANENT != 0:
			n.FDB = append(n.FDB, plan.FDB{Link: on, Dst: dst, MAC: plan.MAC(mac)})
		case dst.IsValid():
			once(fmt.Sprintf("FDB entry %s dev %s dst %s of another kind", net.HardwareAddr(mac), on, dst),
				fmt.Sprintf("bridge -n %s fdb delete %s dev %s dst %s", n.Name, net.HardwareAddr(mac), on, dst), undone)
		case ofBridge && links.Planned(want, names[of.bridge]):
			undone.Message[unix.NLMSG_HDRLEN+10] |= unix.NTF_MASTER
			once(fmt.Sprintf("FDB entry %s dev %s master", net.HardwareAddr(mac), on), fmt.Sprintf("bridge -n %s fdb delete %s dev %s master", n.Name, net.HardwareAddr(mac), on), undone)
		}
	}
	for of, dev := range own {
		if found[of] {
			continue
		}
		header, word := ndmsg{family: unix.AF_BRIDGE, index: uint32(dev.Index), state: unix.NUD_PERMANENT, flags: unix.NTF_MASTER}, "master"
		if dev.Kind == plan.Bridge {
			header.flags, word = unix.NTF_SELF, "self"
		}
		req := socket.Request(unix.RTM_NEWNEIGH, unix.NLM_F_CREATE|unix.NLM_F_REPLACE)
		req.AddData(header)
		req.AddData(nl.NewRtAttr(unix.NDA_LLADDR, of.mac[:]))
		d.Missing(fmt.Sprintf("FDB entry %s dev %s local", of.mac, dev.Name), fmt.Sprintf("bridge -n %s fdb replace %s dev %s %s permanent", n.Name, of.mac, dev.Name, word), deviations.RouteRequest(socket.Written(req)))
	}
	return nil
}
