//go:build linux

package links

import (
	"errors"
	"fmt"
	"os"
	"slices"

	"golang.org/x/sys/unix"
)

// TUN creates a TUN device in the namespace of the thread. It persists without a program. The
// kernel chooses the index unless there is one.
func TUN(name string, index int) error {
	var before []func(fd int) error
	if index != 0 {
		before = append(before, func(fd int) error { return unix.IoctlSetPointerInt(fd, unix.TUNSETIFINDEX, index) })
	}
	return withTUN(name, before, func(fd int) error { return unix.IoctlSetInt(fd, unix.TUNSETPERSIST, 1) })
}

// TryTUN creates a TUN device in the namespace of the thread that is gone at once.
func TryTUN(name string) error { return withTUN(name, nil) }

// withTUN creates a TUN device in the namespace of the thread, and then does what after says.
func withTUN(name string, before []func(fd int) error, after ...func(fd int) error) error {
	fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("/dev/net/tun: %w%s", err, wayToTUN(err))
	}
	defer unix.Close(fd)
	create := func(fd int) error {
		req, err := unix.NewIfreq(name)
		if err != nil {
			return err
		}
		req.SetUint16(unix.IFF_TUN | unix.IFF_NO_PI)
		return unix.IoctlIfreq(fd, unix.TUNSETIFF, req)
	}
	for _, do := range slices.Concat(before, []func(int) error{create}, after) {
		if err := do(fd); err != nil {
			return fmt.Errorf("link %q: %w", name, err)
		}
	}
	return nil
}

// wayToTUN is what opens the device, where the kernel has it and only its file is missing, or is
// not for this user.
func wayToTUN(err error) string {
	if _, has := os.Stat("/sys/class/misc/tun"); has != nil {
		return ""
	}
	switch {
	case errors.Is(err, unix.ENOENT):
		return " (the kernel has it; as root: mkdir -p /dev/net && mknod -m 666 /dev/net/tun c 10 200)"
	case errors.Is(err, unix.EACCES):
		return " (as root: chmod 666 /dev/net/tun)"
	}
	return ""
}
