//go:build linux

package kernel

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/netlab/netlab/datapath/plan"
)

// procfs reaches /proc/sys/net of the namespace that the calling thread is in.
//
// The sysctl trees of all namespaces hash into the same dentry chains of one
// procfs instance, so that a write through the shared /proc gets slower with
// every namespace. A detached instance, replaced now and then, does not.
type procfs struct {
	fd   int // -1: none open
	uses int
}

const procfsUses = 256

func (p *procfs) root() (int, error) {
	if p.fd >= 0 && p.uses < procfsUses {
		p.uses++
		return p.fd, nil
	}
	p.close()
	fd, err := detachedProc()
	if err != nil {
		// Where mounting proc is forbidden (some containers), the shared one serves.
		if fd, err = unix.Open("/proc", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0); err != nil {
			return -1, fmt.Errorf("open /proc: %w", err)
		}
	}
	p.fd, p.uses = fd, 1
	return fd, nil
}

func detachedProc() (int, error) {
	fs, err := unix.Fsopen("proc", unix.FSOPEN_CLOEXEC)
	if err != nil {
		return -1, err
	}
	defer unix.Close(fs)
	if err := unix.FsconfigCreate(fs); err != nil {
		return -1, err
	}
	return unix.Fsmount(fs, unix.FSMOUNT_CLOEXEC, 0)
}

func (p *procfs) close() {
	if p.fd >= 0 {
		unix.Close(p.fd)
	}
	p.fd, p.uses = -1, 0
}

// set writes one setting of the calling thread's namespace.
func (p *procfs) set(s plan.Sysctl) error {
	if err := p.write(s); err != nil {
		return fmt.Errorf("sysctl -w %s=%s: %w", s.Key, s.Value, err)
	}
	return nil
}

func (p *procfs) write(s plan.Sysctl) error {
	fd, err := p.open(s.Key, unix.O_WRONLY)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	_, err = unix.Write(fd, []byte(s.Value))
	return err
}

// get reads one setting of the calling thread's namespace; missing ones are "".
func (p *procfs) get(key string) (string, error) {
	fd, err := p.open(key, unix.O_RDONLY)
	if errors.Is(err, os.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("sysctl %s: %w", key, err)
	}
	defer unix.Close(fd)
	buf := make([]byte, 256)
	n, err := unix.Read(fd, buf)
	if err != nil {
		return "", fmt.Errorf("sysctl %s: %w", key, err)
	}
	return strings.Join(strings.Fields(string(buf[:n])), " "), nil
}

func (p *procfs) open(key string, flags int) (int, error) {
	root, err := p.root()
	if err != nil {
		return -1, err
	}
	return unix.Openat(root, sysctlPath(key), flags|unix.O_CLOEXEC, 0)
}

// sysctlPath turns a dotted key into a path below /proc. As in sysctl(8), a
// slash in the key stands for a dot in a name (net.ipv4.conf.flannel/1.rp_filter).
func sysctlPath(key string) string {
	swap := strings.NewReplacer(".", "/", "/", ".")
	return "sys/" + swap.Replace(key)
}
