//go:build linux

package procfs

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/netlab/netlab/datapath/plan"
)

// FS reaches /proc/sys/net of the namespace that the calling thread is in.
//
// The sysctl trees of all namespaces hash into the same dentry chains of one procfs
// instance, so writes through the shared /proc get slower with every namespace. Writes
// through a detached instance, replaced now and then, do not.
type FS struct {
	FD   int // -1: none open
	uses int
}

const procfsUses = 256

// Root is a descriptor of the root of a procfs.
func (p *FS) Root() (int, error) {
	if p.FD >= 0 && p.uses < procfsUses {
		p.uses++
		return p.FD, nil
	}
	p.Close()
	fd, err := detachedProc()
	if err != nil {
		// Where mounting proc is forbidden (some containers), the shared one is used.
		if fd, err = unix.Open("/proc", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0); err != nil {
			return -1, fmt.Errorf("open /proc: %w", err)
		}
	}
	p.FD, p.uses = fd, 1
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

// Close releases the procfs. The next use mounts another.
func (p *FS) Close() {
	if p.FD >= 0 {
		unix.Close(p.FD)
	}
	p.FD, p.uses = -1, 0
}

// Set writes one sysctl of the calling thread's namespace.
func (p *FS) Set(s plan.Sysctl) error {
	fd, err := p.Open(s.Key, unix.O_WRONLY)
	if err == nil {
		defer unix.Close(fd)
		_, err = unix.Write(fd, []byte(s.Value))
	}
	if err != nil {
		return fmt.Errorf("sysctl -w %s=%s: %w", s.Key, s.Value, err)
	}
	return nil
}

// Get reads one sysctl of the calling thread's namespace; missing ones are "".
func (p *FS) Get(key string) (string, error) {
	root, err := p.Root()
	if err != nil {
		return "", err
	}
	return read(root, sysctlPath(key))
}

// GetAll is Get for sysctls of one folder, which is looked up once.
func (p *FS) GetAll(folder string, names []string) ([]string, error) {
	values := make([]string, len(names))
	fd, err := p.Open(folder, unix.O_PATH|unix.O_DIRECTORY)
	if errors.Is(err, os.ErrNotExist) {
		return values, nil
	}
	if err != nil {
		return nil, fmt.Errorf("sysctl %s: %w", folder, err)
	}
	defer unix.Close(fd)
	for i, name := range names {
		if values[i], err = read(fd, name); err != nil {
			return nil, err
		}
	}
	return values, nil
}

func read(folder int, path string) (string, error) {
	fd, err := unix.Openat(folder, path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if errors.Is(err, os.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read %s: %w", path, err)
	}
	defer unix.Close(fd)
	buf := make([]byte, 256)
	n, err := unix.Read(fd, buf)
	if err != nil {
		return "", fmt.Errorf("read %s: %w", path, err)
	}
	return strings.Join(strings.Fields(string(buf[:n])), " "), nil
}

func (p *FS) Open(key string, flags int) (int, error) {
	root, err := p.Root()
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

// Read returns a whole file below /proc.
func (p *FS) Read(path string) (string, error) {
	root, err := p.Root()
	if err != nil {
		return "", err
	}
	fd, err := unix.Openat(root, path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return "", err
	}
	f := os.NewFile(uintptr(fd), path)
	defer f.Close()
	b, err := io.ReadAll(f)
	return string(b), err
}
