//go:build linux

package udptunnel

import (
	"fmt"
	"io"
	"net"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// BenchmarkThroughput sends on one TCP connection between two nodes: directly, through
// the plain loop that the original is, and through tunnels.
func BenchmarkThroughput(b *testing.B) {
	for _, way := range []string{"direct", "plain loop", "udp", "encrypted"} {
		b.Run(way, func(b *testing.B) {
			one, two := twoNodes(b, 1448)
			to := two.own()
			switch way {
			case "direct":
				to = two.addr
			case "plain loop":
				one.plain(two)
				two.plain(one)
			case "udp":
				one.open(two, "")
				two.open(one, "")
			case "encrypted":
				one.open(two, "secret")
				two.open(one, "secret")
			}
			var l net.Listener
			two.do(func() (err error) { l, err = net.Listen("tcp", net.JoinHostPort(to.String(), "5001")); return err })
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
			one.do(func() (err error) { c, err = net.Dial("tcp", l.Addr().String()); return err })
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

// plain is the daemon as it is first written: a read, a look-up and a write per packet.
func (e *end) plain(to *end) {
	var dev *os.File
	var conn *net.UDPConn
	e.do(func() (err error) {
		fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
		if err != nil {
			return err
		}
		req, _ := unix.NewIfreq("tun0")
		req.SetUint16(unix.IFF_TUN | unix.IFF_NO_PI)
		if err := unix.IoctlIfreq(fd, unix.TUNSETIFF, req); err != nil {
			return err
		}
		dev = os.NewFile(uintptr(fd), "tun0")
		conn, err = net.ListenUDP("udp", net.UDPAddrFromAddrPort(e.node()))
		return err
	})
	e.Cleanup(func() { dev.Close(); conn.Close() })
	go func() {
		b := make([]byte, 2048)
		for {
			n, err := dev.Read(b)
			if err != nil {
				return
			}
			if to.pods.Contains(destination(b[:n])) {
				_, _ = conn.WriteToUDPAddrPort(b[:n], to.node())
			}
		}
	}()
	go func() {
		b := make([]byte, 2048)
		for {
			n, _, err := conn.ReadFromUDPAddrPort(b)
			if err != nil {
				return
			}
			if _, err := dev.Write(b[:n]); err != nil {
				fmt.Fprintln(os.Stderr, err)
			}
		}
	}()
}
