//go:build linux

package cell

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// visible are the folders of the machine that a program sees: those with programs,
// libraries and their settings.
var visible = []string{"bin", "sbin", "lib", "lib32", "lib64", "libx32", "usr", "etc", "opt", "nix", "gnu"}

// secrets are what these hold that is for nobody else.
var secrets = []string{"/etc/shadow", "/etc/shadow-", "/etc/gshadow", "/etc/gshadow-", "/etc/sudoers", "/etc/sudoers.d", "/etc/ssh", "/etc/ssl/private", "/etc/security/opasswd",
	"/etc/krb5.keytab", "/etc/wireguard", "/etc/NetworkManager/system-connections", "/etc/letsencrypt", "/etc/docker", "/etc/kubernetes"}

// kept are the folders of /var in which servers make their own: these are there, and empty.
var kept = []string{"lib", "log", "cache", "spool"}

// devices are those that hold nothing and reach nothing.
var devices = []string{"null", "zero", "full", "random", "urandom", "tty"}

// Wall gives the calling thread a mount namespace of its own with what programs in a cell
// see of that which it had, and of the files that are private to the pod already (see Files).
func Wall(own []string, owner int) error {
	if err := unix.Unshare(unix.CLONE_NEWNS); err != nil {
		return os.NewSyscallError("unshare", err)
	}
	const root = "/tmp" // until it is the root directory
	if err := tmpfs(root, owner); err != nil {
		return err
	}
	for _, name := range visible {
		if err := show("/"+name, root); err != nil {
			return err
		}
	}
	for _, path := range secrets {
		if err := hide(root + path); err != nil {
			return err
		}
	}
	for _, dir := range []string{"/root", "/home", "/mnt", "/media", "/var", "/proc", "/sys", "/dev", "/var/tmp", "/tmp"} {
		if err := makeAll(root+dir, owner); err != nil {
			return err
		}
	}
	if err := errors.Join(os.Chmod(root+"/tmp", 0o777|os.ModeSticky), os.Chmod(root+"/var/tmp", 0o777|os.ModeSticky)); err != nil {
		return err
	}
	for _, dir := range kept {
		if err := empty(root, "/var/"+dir, owner); err != nil {
			return err
		}
	}
	_, _ = os.Symlink("/run", root+"/var/run"), os.Symlink("/run/lock", root+"/var/lock")
	if err := bind("/run", root+"/run", true); err != nil {
		return err
	}
	for _, path := range own {
		if err := lend(path, root, owner); err != nil {
			return err
		}
	}
	if err := errors.Join(ofKernel(root), furnish(root+"/dev", owner)); err != nil {
		return err
	}
	return turnTo(root)
}

// ofKernel mounts /sys and /proc below a root.
func ofKernel(root string) error {
	// Of this network namespace; some containers refuse it, and programs then have none.
	_ = unix.Mount("sysfs", root+"/sys", "sysfs", unix.MS_RDONLY|unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "")
	// Only so that the program may mount its own over it, as the kernel demands.
	return os.NewSyscallError("bind /proc", unix.Mount("/proc", root+"/proc", "", unix.MS_BIND, ""))
}

// show makes a folder of the machine visible, read-only.
func show(path, root string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := mirror(path, root+path, info.Mode()); err != nil || info.Mode().Type() == fs.ModeSymlink {
		return err
	}
	return protect(root + path)
}

// protect makes read-only what is mounted at a path, and below it.
func protect(path string) error {
	attr := unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY | unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV}
	if err := unix.MountSetattr(unix.AT_FDCWD, path, unix.AT_RECURSIVE, &attr); err != nil {
		return fmt.Errorf("make %s read-only: %w", path, err)
	}
	return nil
}

// lend makes what is private to the pod visible, to be written.
func lend(path, root string, owner int) error {
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	if _, err := os.Lstat(root + path); err == nil { // in a folder that is shown
		return bindOver(path, root+path)
	}
	if err := makeAll(root+filepath.Dir(path), owner); err != nil {
		return err
	}
	return bind(path, root+path, info.IsDir())
}

// hide leaves nothing of a file or folder but its name.
func hide(path string) error {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil
	case info.IsDir():
		err = unix.Mount("tmpfs", path, "tmpfs", unix.MS_RDONLY|unix.MS_NOSUID|unix.MS_NODEV, "size=4k,mode=755")
	default:
		err = unix.Mount(os.DevNull, path, "", unix.MS_BIND, "")
	}
	if err != nil {
		return fmt.Errorf("hide %s: %w", path, err)
	}
	return nil
}

// empty makes the folders of a folder anew, without anything in them.
func empty(root, dir string, owner int) error {
	if err := makeAll(root+dir, owner); err != nil {
		return err
	}
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if e.IsDir() {
			if err := makeAll(filepath.Join(root, dir, e.Name()), owner); err != nil {
				return err
			}
		}
	}
	return nil
}

// furnish fills /dev.
func furnish(dev string, owner int) error {
	for _, name := range devices {
		if err := bind("/dev/"+name, filepath.Join(dev, name), false); err != nil {
			return err
		}
	}
	for _, link := range []string{"fd /proc/self/fd", "stdin /proc/self/fd/0", "stdout /proc/self/fd/1", "stderr /proc/self/fd/2", "ptmx pts/ptmx"} {
		name, target, _ := strings.Cut(link, " ")
		if err := os.Symlink(target, filepath.Join(dev, name)); err != nil {
			return err
		}
	}
	for _, dir := range []string{"pts", "shm"} {
		if err := makeAll(filepath.Join(dev, dir), owner); err != nil {
			return err
		}
	}
	return os.Chmod(dev+"/shm", 0o777|os.ModeSticky)
}
