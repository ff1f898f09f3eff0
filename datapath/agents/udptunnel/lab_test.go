//go:build linux

package udptunnel

import (
	"errors"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/netlab/netlab/datapath/netns"
)

// end is one of two nodes, joined by a veth:
//
//	tun0 10.244.1.0 [node 1] eth0 192.168.0.1 ─── 192.168.0.2 eth0 [node 2] tun0 10.244.2.0
type end struct {
	testing.TB
	ns   *netns.NS
	addr netip.Addr // on the underlay
	pods netip.Prefix
	ip6  netip.Prefix
}

// own is the address of the TUN device.
func (e *end) own() netip.Addr { return e.pods.Addr() }

func (e *end) node() netip.AddrPort { return netip.AddrPortFrom(e.addr, 8285) }

// twoNodes returns two nodes whose TUN devices have an MTU and no program.
func twoNodes(t testing.TB, mtu int) (a, b *end) {
	t.Helper()
	if fd, err := unix.Open("/dev/net/tun", unix.O_RDWR, 0); err != nil {
		t.Skipf("this machine lacks tun: %v", err)
	} else {
		unix.Close(fd)
	}
	var ends [2]*end
	for i := range ends {
		n := byte(i + 1)
		ends[i] = &end{TB: t, addr: netip.AddrFrom4([4]byte{192, 168, 0, n}), pods: netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 244, n, 0}), 24),
			ip6: netip.PrefixFrom(netip.AddrFrom16([16]byte{0xfd, 7: n}), 64)}
		thread := netns.NewThread()
		err := thread.Run(func(h netns.Here) (err error) {
			ends[i].ns, err = h.Create()
			return err
		})
		thread.Close()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { ends[i].ns.Close() })
	}
	a, b = ends[0], ends[1]
	a.do(func() error {
		attrs := netlink.NewLinkAttrs()
		attrs.Name, attrs.MTU = "eth0", 1500
		return netlink.LinkAdd(&netlink.Veth{LinkAttrs: attrs, PeerName: "eth0", PeerNamespace: netlink.NsFd(b.ns.FD())})
	})
	for _, e := range ends {
		e.do(func() error {
			attrs := netlink.NewLinkAttrs()
			attrs.Name, attrs.MTU = "tun0", mtu
			err := netlink.LinkAdd(&netlink.Tuntap{LinkAttrs: attrs, Mode: netlink.TUNTAP_MODE_TUN, Flags: netlink.TUNTAP_NO_PI})
			for _, name := range []string{"lo", "eth0", "tun0"} {
				l, err2 := netlink.LinkByName(name)
				if err = errors.Join(err, err2); err2 != nil {
					continue
				}
				err = errors.Join(err, netlink.LinkSetUp(l))
				switch name {
				case "eth0":
					err = errors.Join(err, netlink.AddrAdd(l, address(e.addr, 24)))
				case "tun0":
					err = errors.Join(err, netlink.LinkSetMTU(l, mtu), netlink.AddrAdd(l, address(e.own(), 16)), netlink.AddrAdd(l, address(e.ip6.Addr().Next(), 48)))
				}
			}
			return err
		})
	}
	return a, b
}

func address(a netip.Addr, bits int) *netlink.Addr {
	return &netlink.Addr{IPNet: &net.IPNet{IP: a.AsSlice(), Mask: net.CIDRMask(bits, a.BitLen())}, Flags: unix.IFA_F_NODAD}
}

// do runs a function in the namespace of a node.
func (e *end) do(fn func() error) {
	e.TB.Helper()
	if err := e.ns.Do(fn); err != nil {
		e.TB.Fatal(err)
	}
}

// open starts the end of the tunnel to another node.
func (e *end) open(to *end, secret string) *Tunnel {
	e.TB.Helper()
	var t *Tunnel
	e.do(func() (err error) {
		t, err = Open(Config{Dev: "tun0", Local: e.node(), Own: []netip.Prefix{e.pods, e.ip6}, Secret: secret,
			Peers: []Peer{{to.pods, to.node()}, {to.ip6, to.node()}}})
		return err
	})
	e.TB.Cleanup(t.Close)
	e.awaitUp()
	return t
}

// awaitUp waits until the kernel has seen that the other ends of the links are there; it
// drops packets until then.
func (e *end) awaitUp() {
	e.TB.Helper()
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		up := 0
		e.do(func() error {
			links, err := netlink.LinkList()
			for _, l := range links {
				if l.Attrs().OperState == netlink.OperUp {
					up++
				}
			}
			return err
		})
		if up == 2 { // eth0 and tun0
			return
		}
		if time.Now().After(deadline) {
			e.Fatal("links do not come up")
		}
	}
}
