//go:build linux

package wireguard

import (
	"crypto/ecdh"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
	"golang.zx2c4.com/wireguard/conn"
	"golang.zx2c4.com/wireguard/device"
	"golang.zx2c4.com/wireguard/tun"

	"github.com/netlab/netlab/datapath/netns"
)

// end is one of two nodes, joined by a veth, with a TUN device:
//
//	wg 10.244.1.0 [node 1] eth0 192.168.0.1 ─── 192.168.0.2 eth0 [node 2] wg 10.244.2.0
type end struct {
	*testing.B
	ns  *netns.NS
	n   byte
	key [32]byte
}

func (e *end) addr() netip.Addr { return netip.AddrFrom4([4]byte{192, 168, 0, e.n}) }
func (e *end) pods() netip.Prefix {
	return netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 244, e.n, 0}), 24)
}
func (e *end) do(fn func() error) {
	e.Helper()
	if err := e.ns.Do(fn); err != nil {
		e.Fatal(err)
	}
}

func twoNodes(b *testing.B) (one, two *end) {
	if fd, err := unix.Open("/dev/net/tun", unix.O_RDWR, 0); err != nil {
		b.Skipf("this machine lacks tun: %v", err)
	} else {
		unix.Close(fd)
	}
	ends := []*end{{B: b, n: 1, key: [32]byte{8, 1, 31: 64}}, {B: b, n: 2, key: [32]byte{8, 2, 31: 64}}}
	for _, e := range ends {
		thread := netns.NewThread()
		if err := thread.Run(func(h netns.Here) (err error) { e.ns, err = h.Create(); return err }); err != nil {
			b.Fatal(err)
		}
		thread.Close()
		b.Cleanup(func() { e.ns.Close() })
	}
	ends[0].do(func() error {
		attrs := netlink.NewLinkAttrs()
		attrs.Name, attrs.MTU = "eth0", 1500
		return netlink.LinkAdd(&netlink.Veth{LinkAttrs: attrs, PeerName: "eth0", PeerNamespace: netlink.NsFd(ends[1].ns.FD())})
	})
	for _, e := range ends {
		e.do(func() error {
			attrs := netlink.NewLinkAttrs()
			attrs.Name = "wg"
			err := netlink.LinkAdd(&netlink.Tuntap{LinkAttrs: attrs, Mode: netlink.TUNTAP_MODE_TUN, Flags: netlink.TUNTAP_NO_PI})
			for name, a := range map[string]netip.Addr{"eth0": e.addr(), "wg": e.pods().Addr()} {
				l, err2 := netlink.LinkByName(name)
				if err = errors.Join(err, err2); err2 != nil {
					continue
				}
				bits := map[string]int{"eth0": 24, "wg": 16}[name]
				err = errors.Join(err, netlink.LinkSetUp(l), netlink.AddrAdd(l, &netlink.Addr{IPNet: &net.IPNet{IP: a.AsSlice(), Mask: net.CIDRMask(bits, 32)}}))
				if name == "wg" {
					err = errors.Join(err, netlink.LinkSetMTU(l, 1440))
				}
			}
			return err
		})
	}
	return ends[0], ends[1]
}

// bindInside opens the sockets of wireguard-go in a namespace, on whichever thread: the device
// opens them itself, too, when it sees that the link is up.
type bindInside struct {
	conn.Bind
	ns *netns.NS
}

func (b bindInside) Open(port uint16) (receive []conn.ReceiveFunc, actual uint16, err error) {
	err = b.ns.Do(func() (err error) {
		receive, actual, err = b.Bind.Open(port)
		return err
	})
	return receive, actual, err
}

// start starts the device of a node: as this package does it, or as the program
// wireguard-go does.
func (e *end) start(to *end, plain bool) {
	private, err := ecdh.X25519().NewPrivateKey(to.key[:])
	if err != nil {
		e.Fatal(err)
	}
	peer := Peer{Key: [32]byte(private.PublicKey().Bytes()), Node: netip.AddrPortFrom(to.addr(), 51820), Pods: []netip.Prefix{to.pods()}}
	e.do(func() error {
		if !plain {
			t, err := Open(Config{Dev: "wg", Port: 51820, Key: e.key, Peers: []Peer{peer}})
			if err == nil {
				e.Cleanup(t.Close)
			}
			return err
		}
		dev, err := tun.CreateTUN("wg", 1440)
		if err != nil {
			return err
		}
		d := device.NewDevice(dev, bindInside{conn.NewDefaultBind(), e.ns}, device.NewLogger(device.LogLevelSilent, ""))
		e.Cleanup(d.Close)
		err = d.IpcSet(fmt.Sprintf("private_key=%x\nlisten_port=51820\npublic_key=%x\nendpoint=%s\nallowed_ip=%s\n", e.key, peer.Key, peer.Node, to.pods()))
		return errors.Join(err, d.Up())
	})
}

// BenchmarkThroughput sends on one TCP connection between two nodes, through wireguard-go
// as its own program runs it, and as this package does.
func BenchmarkThroughput(b *testing.B) {
	for _, way := range []string{"wireguard-go", "netlab"} {
		b.Run(way, func(b *testing.B) {
			one, two := twoNodes(b)
			one.start(two, way == "wireguard-go")
			two.start(one, way == "wireguard-go")
			var l net.Listener
			two.do(func() (err error) {
				l, err = net.Listen("tcp", net.JoinHostPort(two.pods().Addr().String(), "5001"))
				return err
			})
			defer l.Close()
			done := make(chan int64)
			go func() {
				c, err := l.Accept()
				if err != nil {
					done <- 0
					return
				}
				n, _ := io.CopyBuffer(struct{ io.Writer }{io.Discard}, struct{ io.Reader }{c}, make([]byte, 1<<18))
				done <- n
			}()
			var c net.Conn
			one.do(func() (err error) { c, err = net.DialTimeout("tcp", l.Addr().String(), 20*time.Second); return err })
			block := make([]byte, 1<<18)
			b.SetBytes(int64(len(block)))
			b.ResetTimer()
			start := time.Now()
			for range b.N {
				if _, err := c.Write(block); err != nil {
					b.Fatal(err)
				}
			}
			c.Close()
			n := <-done
			b.ReportMetric(float64(n)*8/1e9/time.Since(start).Seconds(), "Gbit/s")
		})
	}
}
