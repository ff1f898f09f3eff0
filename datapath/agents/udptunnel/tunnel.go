//go:build linux

package udptunnel

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"sync"
	"sync/atomic"
	"syscall"

	"golang.org/x/net/ipv4"
	"golang.org/x/sys/unix"
)

// Config is one node's end of the tunnels.
type Config struct {
	Dev   string         // a TUN device of the namespace
	Local netip.AddrPort // where datagrams are sent from, and arrive
	// Own are the node's own pods. Packets for them do not leave: they would come back.
	Own   []netip.Prefix
	Peers []Peer
	// Secret is what the keys of each pair of nodes are derived from. Empty: packets are
	// not encrypted.
	Secret string
}

// Peer says which node has some pods.
type Peer struct {
	Pods netip.Prefix
	Node netip.AddrPort
}

// Tunnel is a running end.
type Tunnel struct {
	config Config
	dev    *os.File
	conn   *net.UDPConn
	batch  *ipv4.PacketConn // the same socket
	table  atomic.Pointer[table]
	ended  sync.WaitGroup

	mu  sync.Mutex
	err error // why it ended
}

// Open starts an end of the tunnels. The calling thread is in the namespace.
func Open(c Config) (*Tunnel, error) {
	dev, err := openDevice(c.Dev)
	if err != nil {
		return nil, fmt.Errorf("device %s: %w", c.Dev, err)
	}
	conn, err := listen(c.Local)
	if err != nil {
		dev.Close()
		return nil, fmt.Errorf("udp %s: %w", c.Local, err)
	}
	t := &Tunnel{config: c, dev: dev, conn: conn, batch: ipv4.NewPacketConn(conn)}
	if err := t.SetPeers(c.Peers); err != nil {
		return nil, errors.Join(err, dev.Close(), conn.Close())
	}
	for _, run := range []func() error{t.outgoing, t.incoming} {
		t.ended.Go(func() { t.end(run()) })
	}
	return t, nil
}

// end closes the tunnel with the reason; the first one counts.
func (t *Tunnel) end(why error) {
	if errors.Is(why, unix.EBADFD) { // of a descriptor whose device is gone
		why = fmt.Errorf("device %s was deleted", t.config.Dev)
	}
	t.mu.Lock()
	if t.err == nil {
		t.err = why
	}
	t.mu.Unlock()
	_ = t.dev.Close()
	_ = t.conn.Close()
}

// Close ends the tunnel. The device stays.
func (t *Tunnel) Close() {
	t.end(net.ErrClosed)
	t.ended.Wait()
}

// Err says why the tunnel has ended; nil: it works. A device that was deleted is noticed
// at once.
func (t *Tunnel) Err() error {
	if _, err := deviceFlags(t.dev); err != nil {
		t.end(err)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.err
}

const (
	socketBuffer = 4 << 20 // the kernel gives less unless root asks
	maxDatagram  = 1<<16 - 1
)

// listen opens the socket. Large datagrams are taken apart, and put together, by the
// kernel (since Linux 5.0).
func listen(local netip.AddrPort) (*net.UDPConn, error) {
	control := func(_, _ string, c syscall.RawConn) (err error) {
		return errors.Join(c.Control(func(fd uintptr) {
			s := int(fd)
			for _, o := range []struct{ try, else_ int }{{unix.SO_RCVBUFFORCE, unix.SO_RCVBUF}, {unix.SO_SNDBUFFORCE, unix.SO_SNDBUF}} {
				if unix.SetsockoptInt(s, unix.SOL_SOCKET, o.try, socketBuffer) != nil {
					_ = unix.SetsockoptInt(s, unix.SOL_SOCKET, o.else_, socketBuffer)
				}
			}
			err = unix.SetsockoptInt(s, unix.IPPROTO_UDP, unix.UDP_GRO, 1)
		}), err)
	}
	lc := net.ListenConfig{Control: control}
	conn, err := lc.ListenPacket(context.Background(), "udp", local.String())
	if err != nil {
		return nil, err
	}
	return conn.(*net.UDPConn), nil
}
