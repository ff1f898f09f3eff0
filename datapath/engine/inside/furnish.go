//go:build linux

package inside

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// Furnish prepares the mount namespace of the engine: mounts made here are not visible
// outside, /proc is that of our PID namespace, /run is private, and no name server of the
// host is known.
func Furnish() error {
	err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, "")
	if errors.Is(err, unix.EINVAL) {
		return fmt.Errorf("make mounts private: / is not a mount point, as in a plain chroot: %w", err)
	}
	if err != nil {
		return fmt.Errorf("make mounts private: %w", err)
	}
	// Both are refused in some containers. The lab works without them: programs in it
	// then see the processes and files of the host, like the user.
	_ = unix.Mount("proc", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "")
	if err := unix.Mount("tmpfs", "/run", "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=755"); err == nil {
		os.Setenv("XTABLES_LOCKFILE", "/run/xtables.lock")
		hideResolver()
	}
	os.Setenv("PATH", searchPath(os.Getenv("PATH")))
	return nil
}

// resolver is the resolv.conf of all programs in a lab. The name servers of the host
// cannot be reached from there, and libraries would wait for them; on the loopback
// interface nobody listens, so that names that are not in /etc/hosts fail at once.
const resolver = "# names of the lab are in /etc/hosts\nnameserver 127.0.0.1\noptions attempts:1 timeout:1\n"

// hideResolver mounts it over the host's, which may be a link into the former /run:
// without any, libraries ask 127.0.0.1, too.
func hideResolver() {
	const file = "/run/netlab-resolv.conf"
	if os.WriteFile(file, []byte(resolver), 0o644) == nil {
		mountResolver(file)
	}
}
