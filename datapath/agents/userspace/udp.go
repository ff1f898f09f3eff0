package userspace

import (
	"errors"
	"net"
	"net/netip"
	"sync"
	"time"

	"golang.org/x/net/ipv4"
	"golang.org/x/net/ipv6"
)

// largest is the length of a datagram that the proxy passes on; it cuts longer ones.
const largest = 4096

// datagrams are the clients of one socket.
type datagrams struct {
	*port
	conn *net.UDPConn

	mu      sync.Mutex
	clients map[client]net.Conn
}

// client is where answers go, and the address that they come from: the one that was dialed.
type client struct {
	addr netip.AddrPort
	own  netip.Addr
}

func newDatagrams(x *port, c *net.UDPConn) (*datagrams, error) {
	d := &datagrams{port: x, conn: c, clients: map[client]net.Conn{}}
	if x.at.Addr().Is6() {
		return d, ipv6.NewPacketConn(c).SetControlMessage(ipv6.FlagDst, true)
	}
	return d, ipv4.NewPacketConn(c).SetControlMessage(ipv4.FlagDst, true)
}

func (d *datagrams) readAll() {
	buffer, control := make([]byte, largest), make([]byte, 128)
	for {
		n, m, _, from, err := d.conn.ReadMsgUDPAddrPort(buffer, control)
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			time.Sleep(pause)
			continue
		}
		if out := d.endpointOf(client{netip.AddrPortFrom(from.Addr().Unmap(), from.Port()), d.dialed(control[:m])}); out != nil {
			_, _ = out.Write(buffer[:n])
			_ = out.SetReadDeadline(time.Now().Add(d.Idle))
		}
	}
}

// dialed is the address that a datagram came to.
func (d *datagrams) dialed(control []byte) netip.Addr {
	var ip net.IP
	if d.at.Addr().Is6() {
		var m ipv6.ControlMessage
		_ = m.Parse(control)
		ip = m.Dst
	} else {
		var m ipv4.ControlMessage
		_ = m.Parse(control)
		ip = m.Dst
	}
	a, _ := netip.AddrFromSlice(ip)
	return a.Unmap()
}

// endpointOf returns the connection to a client's endpoint, and makes it if there is none; nil:
// there is no endpoint, or no room.
func (d *datagrams) endpointOf(c client) net.Conn {
	d.mu.Lock()
	defer d.mu.Unlock()
	if out := d.clients[c]; out != nil {
		return out
	}
	select {
	case d.room <- struct{}{}:
	default:
		return nil
	}
	if first, ok := d.balancer.take(c.addr.Addr()); ok {
		if out, ok := d.connect(first, c.addr.Addr()); ok {
			d.clients[c] = out
			_ = out.SetReadDeadline(time.Now().Add(d.Idle))
			d.wait.Go(func() { d.answer(c, out) })
			return out
		}
	}
	<-d.room
	return nil
}

// answer passes on what an endpoint sends to a client, until it has sent nothing for a while.
func (d *datagrams) answer(c client, out net.Conn) {
	buffer := make([]byte, largest)
	for {
		n, err := out.Read(buffer)
		if err != nil {
			break
		}
		_ = out.SetReadDeadline(time.Now().Add(d.Idle))
		if _, _, err := d.conn.WriteMsgUDPAddrPort(buffer[:n], d.from(c.own), c.addr); err != nil {
			break
		}
	}
	d.mu.Lock()
	delete(d.clients, c)
	d.mu.Unlock()
	d.drop(out)
	<-d.room
}

// from is the control message that sets the source of an answer.
func (d *datagrams) from(own netip.Addr) []byte {
	if own.Is6() {
		return (&ipv6.ControlMessage{Src: own.AsSlice()}).Marshal()
	}
	return (&ipv4.ControlMessage{Src: own.AsSlice()}).Marshal()
}

// close closes the socket, and ends its clients.
func (d *datagrams) close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, out := range d.clients {
		_ = out.SetReadDeadline(time.Now())
	}
	return d.conn.Close()
}
