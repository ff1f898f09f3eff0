package capture

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/netlab/netlab/datapath/flow"
	"github.com/netlab/netlab/datapath/netns"
)

// Link is a link to record at, and the namespace that it is in.
type Link struct {
	Netns string
	Name  string
	NS    *netns.NS
}

// Capture records packets until it is closed.
type Capture struct {
	tunnels Tunnels
	taps    []tap
}

// tap is a packet socket on a link.
type tap struct {
	Link
	fd int
}

const (
	longest = 2048    // bytes of a packet that are read: more than all its headers
	room    = 4 << 20 // bytes that wait in a socket, where the kernel allows so many
)

// Open begins to record. The caller closes the capture.
func Open(links []Link, tunnels Tunnels) (*Capture, error) {
	c := &Capture{tunnels: tunnels}
	for _, l := range links {
		fd := -1
		err := l.NS.Do(func() (err error) {
			fd, err = open(l.Name)
			return err
		})
		if err != nil {
			c.Close()
			return nil, fmt.Errorf("capture at %s of %s: %w", l.Name, l.Netns, err)
		}
		c.taps = append(c.taps, tap{l, fd})
	}
	return c, nil
}

// open makes a packet socket on a link of the calling thread's namespace.
func open(link string) (int, error) {
	dev, err := net.InterfaceByName(link)
	if err != nil {
		return -1, err
	}
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return -1, fmt.Errorf("socket: %w", err)
	}
	if unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, room) != nil {
		_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUF, room)
	}
	err = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, 1)
	if err == nil {
		err = unix.Bind(fd, &unix.SockaddrLinklayer{Protocol: bigEndian(unix.ETH_P_ALL), Ifindex: dev.Index})
	}
	if err != nil {
		unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

func bigEndian(n uint16) uint16 {
	return binary.NativeEndian.Uint16(binary.BigEndian.AppendUint16(nil, n))
}

// Close ends the capture.
func (c *Capture) Close() {
	for _, t := range c.taps {
		unix.Close(t.fd)
	}
}

// stamped is a packet with the time at which the kernel saw it.
type stamped struct {
	flow.Packet
	at time.Duration
}

// Drain returns the packets since the last call, in the order of their time, once none has come for
// a while, and after most in any case.
func (c *Capture) Drain(ctx context.Context, quiet, most time.Duration) ([]flow.Packet, error) {
	each := make([][]stamped, len(c.taps))
	polls := make([]unix.PollFd, len(c.taps))
	for i, t := range c.taps {
		polls[i] = unix.PollFd{Fd: int32(t.fd), Events: unix.POLLIN}
	}
	for end := time.Now().Add(most); ctx.Err() == nil && time.Now().Before(end); {
		n, err := unix.Poll(polls, int(quiet.Milliseconds()))
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("poll: %w", err)
		}
		if n == 0 {
			break
		}
		for i, t := range c.taps {
			if polls[i].Revents == 0 {
				continue
			}
			if each[i], err = t.read(each[i], c.tunnels); err != nil {
				return nil, fmt.Errorf("capture at %s of %s: %w", t.Name, t.Netns, err)
			}
		}
	}
	return inOrder(each), c.lost()
}

// inOrder merges what the sockets received by time. The first packets may be without a stamp, since
// the kernel begins to stamp a moment after it is asked to, and have the time at which they were
// read (net_enable_timestamp, and __sock_recv_timestamp in net/socket.c). So none may be later than
// the next of its socket.
func inOrder(each [][]stamped) []flow.Packet {
	var all []stamped
	for _, list := range each {
		for i := len(list) - 2; i >= 0; i-- {
			list[i].at = min(list[i].at, list[i+1].at)
		}
		all = append(all, list...)
	}
	slices.SortStableFunc(all, func(a, b stamped) int { return cmp.Compare(a.at, b.at) })
	packets := make([]flow.Packet, len(all))
	for i := range all {
		packets[i] = all[i].Packet
	}
	return packets
}

// read appends what waits in the socket.
func (t *tap) read(all []stamped, tunnels Tunnels) ([]stamped, error) {
	oob := make([]byte, unix.CmsgSpace(16))
	for {
		buf := make([]byte, longest) // the decoder keeps it
		n, oobn, _, from, err := unix.Recvmsg(t.fd, buf, oob, unix.MSG_DONTWAIT)
		if errors.Is(err, unix.EAGAIN) {
			return all, nil
		}
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return all, err
		}
		link, ok := from.(*unix.SockaddrLinklayer)
		if !ok {
			continue
		}
		p, ok := Decode(bigEndian(link.Protocol), buf[:n], tunnels)
		if !ok {
			continue
		}
		p.Netns, p.Link, p.Out = t.Netns, t.Name, link.Pkttype == unix.PACKET_OUTGOING
		all = append(all, stamped{p, stamp(oob[:oobn])})
	}
}

// stamp is the time of a packet (socket(7), SO_TIMESTAMPNS).
func stamp(oob []byte) time.Duration {
	messages, err := unix.ParseSocketControlMessage(oob)
	if err != nil {
		return 0
	}
	for _, m := range messages {
		if m.Header.Level == unix.SOL_SOCKET && m.Header.Type == unix.SO_TIMESTAMPNS && len(m.Data) >= 16 {
			n := binary.NativeEndian
			return time.Duration(n.Uint64(m.Data))*time.Second + time.Duration(n.Uint64(m.Data[8:]))
		}
	}
	return 0
}

// lost reports packets that found no room in a socket.
func (c *Capture) lost() error {
	for _, t := range c.taps {
		s, err := unix.GetsockoptTpacketStats(t.fd, unix.SOL_PACKET, unix.PACKET_STATISTICS)
		if err == nil && s.Drops > 0 {
			return fmt.Errorf("capture at %s of %s: %d packets were lost, since there were too many at once", t.Name, t.Netns, s.Drops)
		}
	}
	return nil
}
