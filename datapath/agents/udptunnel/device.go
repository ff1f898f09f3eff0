//go:build linux

package udptunnel

import (
	"encoding/binary"
	"errors"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// openDevice attaches to an existing TUN device, or creates one that lasts as long as the
// descriptor. It takes and gives packets with checksums and segments left to the other side.
func openDevice(name string) (*os.File, error) {
	fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: "/dev/net/tun", Err: err}
	}
	req, err := unix.NewIfreq(name)
	if err == nil {
		req.SetUint16(unix.IFF_TUN | unix.IFF_NO_PI | unix.IFF_VNET_HDR)
		if err = attach(fd, req); err == nil {
			err = unix.IoctlSetInt(fd, unix.TUNSETOFFLOAD, unix.TUN_F_CSUM|unix.TUN_F_TSO4|unix.TUN_F_TSO6)
		}
	}
	if err != nil {
		return nil, errors.Join(err, unix.Close(fd))
	}
	// Only now: a descriptor without a device cannot be polled.
	return os.NewFile(uintptr(fd), "/dev/net/tun"), nil
}

// attach attaches a descriptor to a device, which has one at a time. Where one was just
// closed, a process that was being started has it a little longer, until it executes.
func attach(fd int, req *unix.Ifreq) (err error) {
	for deadline := time.Now().Add(time.Second); ; time.Sleep(time.Millisecond) {
		if err = unix.IoctlIfreq(fd, unix.TUNSETIFF, req); !errors.Is(err, unix.EBUSY) || time.Now().After(deadline) {
			return err
		}
	}
}

// deviceFlags fails once the device is gone.
func deviceFlags(f *os.File) (flags uint16, err error) {
	raw, err := f.SyscallConn()
	if err != nil {
		return 0, err
	}
	req, _ := unix.NewIfreq("x")
	outer := raw.Control(func(fd uintptr) { err = unix.IoctlIfreq(int(fd), unix.TUNGETIFF, req) })
	return req.Uint16(), errors.Join(outer, err)
}

// virtio is the header before each packet of the device (struct virtio_net_hdr in
// include/uapi/linux/virtio_net.h), in the byte order of the machine.
type virtio struct {
	needsChecksum bool
	gso           uint8 // the kind of large packet
	header        uint16
	segment       uint16 // payload of each segment of a large packet
	csumStart     uint16
	csumOffset    uint16
}

const virtioLen = 10

func readVirtio(b []byte) virtio {
	n := binary.NativeEndian
	return virtio{needsChecksum: b[0]&unix.VIRTIO_NET_HDR_F_NEEDS_CSUM != 0, gso: b[1] &^ unix.VIRTIO_NET_HDR_GSO_ECN,
		header: n.Uint16(b[2:]), segment: n.Uint16(b[4:]), csumStart: n.Uint16(b[6:]), csumOffset: n.Uint16(b[8:])}
}

func (v virtio) write(b []byte) {
	clear(b[:virtioLen])
	if v.needsChecksum {
		b[0] = unix.VIRTIO_NET_HDR_F_NEEDS_CSUM
	}
	n := binary.NativeEndian
	b[1] = v.gso
	n.PutUint16(b[2:], v.header)
	n.PutUint16(b[4:], v.segment)
	n.PutUint16(b[6:], v.csumStart)
	n.PutUint16(b[8:], v.csumOffset)
}
