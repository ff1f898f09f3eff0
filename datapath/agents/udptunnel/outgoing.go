//go:build linux

package udptunnel

import (
	"errors"
	"net/netip"
	"slices"

	"golang.org/x/sys/unix"
)

// outgoing takes packets from the device and sends them to other nodes. It ends with the
// device.
func (t *Tunnel) outgoing() error {
	raw, err := t.dev.SyscallConn()
	if err != nil {
		return err
	}
	in := make([]byte, virtioLen+maxDatagram)
	out := newOutbox(t)
	for {
		var failed error
		err := raw.Read(func(fd uintptr) bool {
			some := false
			for range batchSize {
				n, err := unix.Read(int(fd), in)
				switch {
				case errors.Is(err, unix.EINTR):
					continue
				case errors.Is(err, unix.EAGAIN):
					return some
				case err != nil:
					failed = err
					return true
				}
				some = true
				if n > virtioLen {
					t.leave(in[:n], out)
				}
			}
			return true
		})
		if err := errors.Join(err, failed); err != nil {
			return err
		}
		if err := out.flush(); err != nil {
			return err
		}
	}
}

// leave finds the node that has the destination of a packet from the device.
func (t *Tunnel) leave(b []byte, out *outbox) {
	header, pkt := readVirtio(b), b[virtioLen:]
	dst := destination(pkt)
	if !dst.IsValid() || slices.ContainsFunc(t.config.Own, func(p netip.Prefix) bool { return p.Contains(dst) }) {
		return
	}
	to := t.table.Load().find(dst)
	if to == nil {
		if e := unreachable(pkt); e != nil {
			_, _ = t.dev.Write(append(make([]byte, virtioLen), e...))
		}
		return
	}
	segments(header, pkt, func(size int, fill func(pkt []byte)) { out.put(to, size, fill) })
}
